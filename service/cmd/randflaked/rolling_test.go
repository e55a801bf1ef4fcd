package main

import (
	"context"
	"net/http"
	"net/http/httptest"
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
	b.all = append(slices.Clone(b.all), url)
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

// leave waits for what the pause of a replica that ends is for: the balancer has asked it again, and
// the calls that it had sent before are over. That takes longer on a busy machine than any pause.
func (b *balancer) leave(t *testing.T, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.rounds + 2 // the round that is under way may have asked before
	for b.rounds < asked || b.busy[url] > 0 && !slices.Contains(b.ready, url) {
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
	var answered, refused, cut [3]atomic.Int64
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
				for ctx.Err() == nil {
					var err error
					b.send(func(url string) {
						c := randflakev1connect.NewIDServiceClient(protocol.client, url, protocol.option)
						_, err = c.Mint(ctx, &api.MintRequest{Space: "demo"})
					})
					switch {
					case ctx.Err() != nil:
					case err == nil:
						answered[i].Add(1)
					case connect.IsWireError(err):
						refused[i].Add(1)
					default:
						cut[i].Add(1)
						t.Logf("protocol %d: %v", i, err)
					}
				}
			})
		}
	}
	for _, old := range replicas {
		b.add(start(t, read, asking).url)
		old.stop <- syscall.SIGTERM
		must(t, <-old.ended)
		var before [3]int64
		for i := range before {
			before[i] = answered[i].Load()
		}
		for i := range before { // some calls after each
			for answered[i].Load() < before[i]+10 {
				time.Sleep(time.Millisecond)
			}
		}
	}
	cancel()
	running.Wait()
	for i := range cut {
		t.Logf("protocol %d: %d answered, %d refused, %d cut",
			i, answered[i].Load(), refused[i].Load(), cut[i].Load())
		require.That(t, cut[i].Load() == 0 && answered[i].Load() != 0,
			"protocol %d: %d calls were cut", i, cut[i].Load())
	}
}

// TestRetiring: an old connection ends with its next call.
func TestRetiring(t *testing.T) {
	handler := tended(http.NotFoundHandler())
	for age, closed := range map[time.Duration]bool{-time.Minute: false, time.Second: true} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		answer := httptest.NewRecorder()
		c := &connection{old: time.Now().Add(-age)}
		handler.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), connectionKey{}, c)))
		require.Equal(t, answer.Header().Get("Connection") == "close", closed, "old since %v: closed", age)
	}
}
