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

	"github.com/randflake/randflake/internal/testing/require"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/config"
)

// A balancer sends calls to the replicas that say that they are ready, as an orchestrator does.
type balancer struct {
	all, ready atomic.Pointer[[]string] // URLs
	calls      atomic.Int64
}

// watch asks the replicas, until ctx ends.
func (b *balancer) watch(ctx context.Context) {
	asking := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		var ready []string
		for _, url := range *b.all.Load() {
			a, err := asking.Get(url + "/readyz")
			if err != nil {
				continue
			}
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				ready = append(ready, url)
			}
		}
		b.ready.Store(&ready)
	}
}

func (b *balancer) pick() string {
	ready := *b.ready.Load()
	return ready[int(b.calls.Add(1))%len(ready)]
}

// TestRolling: while three replicas are replaced one by one, each call over HTTP/1.1, HTTP/2 and
// gRPC is answered, or refused with a code.
func TestRolling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	read := func() (*config.Config, error) { return demo(dir, "localhost:0") }
	asking := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var replicas []*process
	var urls []string
	for range 3 {
		p := start(t, read, asking)
		replicas = append(replicas, p)
		urls = append(urls, p.url)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := &balancer{}
	b.all.Store(&urls)
	b.ready.Store(&urls)
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
					c := randflakev1connect.NewIDServiceClient(protocol.client, b.pick(), protocol.option)
					_, err := c.Mint(ctx, &api.MintRequest{Space: "demo"})
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
		more := append(slices.Clone(*b.all.Load()), start(t, read, asking).url)
		b.all.Store(&more)
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
		if cut[i].Load() > 0 || answered[i].Load() == 0 {
			t.Errorf("protocol %d: %d calls were cut", i, cut[i].Load())
		}
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
