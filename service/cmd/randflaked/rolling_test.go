package main

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/internal/test/require"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/config"
)

// A balancer sends calls to the replicas that say that they are ready, as an orchestrator does.
type balancer struct {
	mu     sync.Mutex
	all    []string // URLs
	ready  []string
	rounds int            // of asking all
	calls  int            // so far
	busy   map[string]int // calls under way, by URL
}

// watch asks the replicas, until ctx ends.
func (b *balancer) watch(ctx context.Context) {
	asking := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		b.mu.Lock()
		all := b.all
		b.mu.Unlock()
		var ready []string
		for _, url := range all {
			a, err := asking.Get(url + "/readyz")
			if err != nil {
				continue
			}
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				ready = append(ready, url)
			}
		}
		b.mu.Lock()
		b.ready = ready
		b.rounds++
		b.mu.Unlock()
	}
}

func (b *balancer) add(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(slices.Clone(b.all), url) // a clone, as watch ranges over b.all unlocked
}

// send makes a call of the next replica.
func (b *balancer) send(call func(url string)) {
	b.mu.Lock()
	b.calls++
	url := b.ready[b.calls%len(b.ready)]
	b.busy[url]++
	b.mu.Unlock()
	call(url)
	b.mu.Lock()
	b.busy[url]--
	b.mu.Unlock()
}

// A tally counts the calls of a protocol. A call that fails without a code of the service was cut.
type tally struct{ answered, refused, cut atomic.Int64 }

// keepCalling makes calls one after another until ctx ends.
func (b *balancer) keepCalling(ctx context.Context, t *testing.T, n *tally, call func(url string) error) {
	for ctx.Err() == nil {
		var err error
		b.send(func(url string) { err = call(url) })
		switch {
		case ctx.Err() != nil:
		case err == nil:
			n.answered.Add(1)
		case connect.IsWireError(err):
			n.refused.Add(1)
		default:
			n.cut.Add(1)
			t.Log(err)
		}
	}
}

// leave stands in for the pause after SIGTERM: it returns once the balancer has asked all replicas again
// and the calls sent to url are over. That takes longer on a busy machine than any pause.
func (b *balancer) leave(t *testing.T, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.rounds + 2 // the round that is under way may have asked before
	for {
		inUse := b.busy[url] > 0 && !slices.Contains(b.ready, url)
		if b.rounds >= asked && !inUse {
			break
		}
		b.mu.Unlock()
		time.Sleep(time.Millisecond)
		b.mu.Lock()
	}
	require.That(t, !slices.Contains(b.ready, url), "%s says that it is ready after SIGTERM", url)
}

// TestRolling: while three replicas are replaced one by one, each call over HTTP/1.1, HTTP/2 and
// gRPC is answered, or refused with a code.
func TestRolling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	read := func() (*config.Config, error) { return demo(dir, "localhost:0") }
	asking := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var replicas []*process
	var urls []string
	b := &balancer{busy: map[string]int{}}
	for range 3 {
		var p *process
		p = start(t, read, asking, func(l *limits) {
			l.wait = func(time.Duration) { b.leave(t, p.url) }
		})
		replicas = append(replicas, p)
		urls = append(urls, p.url)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.all, b.ready = urls, urls
	var running sync.WaitGroup
	running.Go(func() { b.watch(ctx) })
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	plain2 := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	plain1 := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}
	defer plain2.CloseIdleConnections()
	defer plain1.CloseIdleConnections()
	var tallies [3]tally
	for i, protocol := range []struct {
		client *http.Client
		option connect.ClientOption
	}{
		{plain1, connect.WithProtoJSON()},
		{plain2, connect.WithProtoJSON()},
		{plain2, connect.WithGRPC()},
	} {
		for range 4 {
			running.Go(func() {
				b.keepCalling(ctx, t, &tallies[i], func(url string) error {
					c := randflakev1connect.NewIDServiceClient(protocol.client, url, protocol.option)
					_, err := c.Mint(ctx, &api.MintRequest{Space: "demo"})
					return err
				})
			})
		}
	}
	for _, old := range replicas {
		b.add(start(t, read, asking).url)
		old.stop <- syscall.SIGTERM
		must(t, <-old.ended)
		var before [3]int64
		for i := range before {
			before[i] = tallies[i].answered.Load()
		}
		for i := range before { // some calls after each
			for tallies[i].answered.Load() < before[i]+10 {
				time.Sleep(time.Millisecond)
			}
		}
	}
	cancel()
	running.Wait()
	for i := range tallies {
		answered, refused, cut := tallies[i].answered.Load(), tallies[i].refused.Load(), tallies[i].cut.Load()
		require.That(t, cut == 0 && answered != 0, "protocol %d: %d calls answered, %d refused, %d cut", i, answered, refused, cut)
	}
}
