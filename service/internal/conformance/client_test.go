package conformance

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/client"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/server"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/store"
)

// start starts a replica of a service whose space "demo" is on the data, with what wrap makes of its handler.
func start(t *testing.T, data *leasetest.Memory, clock func() time.Time, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	return startOn(t, "memory", func(ctx context.Context, _ string, options ...store.Option) (*store.Space, error) {
		return store.Open(ctx, data.Connect(), append(options, store.WithClock(clock))...)
	}, nil, wrap)
}

// startOn starts a replica whose space "demo" is at a place, and has counters.
func startOn(t *testing.T, place string, open space.Opener, counters []counter.Info, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	s := server.New(open, slog.New(slog.DiscardHandler))
	c := &config.Config{Spaces: []config.Space{{Name: "demo", Kind: "randflake", Store: place, Limits: config.Limits{Rate: 1e6}}}}
	for _, i := range counters {
		c.Counters = append(c.Counters, config.Counter{Name: i.Name, Space: "demo", Start: &i.Start, Stride: &i.Stride, End: &i.End, Rate: i.Rate})
	}
	if err := s.Configure(c, server.Files{TLS: new(tls.Config), Audit: io.Discard}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for s.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	listening := httptest.NewServer(wrap(s.Handler()))
	t.Cleanup(listening.Close)
	return listening
}

func asIs(h http.Handler) http.Handler { return h }

func newData(t *testing.T, limits store.Limits, clock func() time.Time) *leasetest.Memory {
	t.Helper()
	data := leasetest.NewMemory()
	space, err := store.Create(t.Context(), data.Connect(), store.WithLimits(limits), store.ForNewSecret(), store.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	return data
}

func open(t *testing.T, clock func() time.Time, addresses ...string) *client.Leases {
	t.Helper()
	leases, err := client.New("demo", addresses, client.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

// losing loses the answer to each procedure's first call with a body, once it was carried out, and counts them.
func losing(procedure string, lost *atomic.Int64) func(http.Handler) http.Handler {
	var seen atomic.Pointer[string]
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			last := seen.Swap(new(string(body)))
			if strings.HasSuffix(r.URL.Path, procedure) && (last == nil || *last != string(body)) {
				h.ServeHTTP(httptest.NewRecorder(), r)
				lost.Add(1)
				panic(http.ErrAbortHandler)
			}
			h.ServeHTTP(w, r)
		})
	}
}

// TestLostAnswers: a thousand acquisitions whose first answer is lost make a thousand leases, and a renewal whose first
// answer is lost is made once. The other replica gives the second answer.
func TestLostAnswers(t *testing.T) {
	for procedure, wanted := range map[string]int{"/Acquire": 1000, "/Renew": 100} {
		t.Run(procedure[1:], func(t *testing.T) {
			var lost atomic.Int64
			data := newData(t, store.DefaultLimits(), time.Now)
			unsafe, safe := start(t, data, time.Now, losing(procedure, &lost)).URL, start(t, data, time.Now, asIs).URL
			var history leasetest.History
			for range wanted {
				leases := open(t, time.Now, unsafe, safe) // begins with the one that loses answers
				r, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if procedure == "/Renew" {
					renewal := lease.Renewal{TTL: 5 * time.Minute, Token: lease.NewToken(time.Now())}
					version := r.Version
					if r, err = leases.Renew(t.Context(), r, renewal); err != nil || r.Version != version+1 || r.Change != renewal.Token {
						t.Fatalf("renewed %+v, error %v, want one version more", r, err)
					}
				}
				history.Granted(r)
			}
			all, err := open(t, time.Now, safe).List(t.Context())
			if err != nil || len(all) != wanted || history.Len() != wanted || lost.Load() != int64(wanted) || history.Check() != nil {
				t.Errorf("%d ranges, %d leases, %d answers lost, %v, error %v, want %d each", len(all), history.Len(), lost.Load(), history.Check(), err, wanted)
			}
		})
	}
}

// TestFailover: calls go on when a replica is gone, all of them, and all fail, in time, when all are.
func TestFailover(t *testing.T) {
	data := newData(t, store.DefaultLimits(), time.Now)
	one, two := start(t, data, time.Now, asIs), start(t, data, time.Now, asIs)
	leases := open(t, time.Now, one.URL, two.URL)
	r, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	for what, do := range map[string]func() error{
		"limits": func() error { _, err := leases.Limits(t.Context()); return err },
		"renew": func() (err error) {
			r, err = leases.Renew(t.Context(), r, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(time.Now())})
			return err
		},
		"lookup": func() error { _, err := leases.Lookup(t.Context(), r); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s after a replica has gone: %v", what, err)
		}
	}
	again := open(t, time.Now, one.URL, two.URL)
	if err := again.Release(t.Context(), r, time.Now()); err != nil {
		t.Errorf("release where the first replica can't be reached: %v", err)
	}
	two.Close()
	if _, err := leases.Lookup(t.Context(), r); err == nil || strings.Contains(err.Error(), r.Owner.String()) {
		t.Errorf("lookup without any replica: error %v", err)
	}
}

// TestReplicaWithWrongClock: a first lease is granted although the clock of the first replica is a day off, either way.
func TestReplicaWithWrongClock(t *testing.T) {
	for _, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		data := newData(t, store.DefaultLimits(), time.Now)
		wrong := start(t, data, func() time.Time { return time.Now().Add(off) }, asIs)
		leases := open(t, time.Now, wrong.URL, start(t, data, time.Now, asIs).URL)
		if _, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute}); err != nil {
			t.Errorf("%v off: %v", off, err)
		}
		if _, err := open(t, time.Now, wrong.URL).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute}); !errors.Is(err, store.ErrClock) || !errors.Is(err, lease.ErrInvalidRequest) {
			t.Errorf("%v off, alone: error %v, want ErrClock and ErrInvalidRequest", off, err)
		}
	}
}
