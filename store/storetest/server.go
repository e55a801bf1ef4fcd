package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// A Server keeps the data of an engine under test, in a process that the test may stop.
type Server interface {
	Addr() string
	Kill() error
	Start() error
	Pause() error
	Resume() error
}

// RunServer tests an engine while its server crashes, stalls, and loses replies. connect opens a handle on the same data,
// which it prepares, through any address. kept says whether a restart leaves the lineage as it is.
func RunServer(t *testing.T, server Server, kept bool, connect func(t *testing.T, addr string) store.Engine) {
	t.Run("LostReply", func(t *testing.T) { testLostReply(t, server, connect) })
	t.Run("Stall", func(t *testing.T) { testStall(t, server, connect(t, server.Addr())) })
	t.Run("Crash", func(t *testing.T) {
		e := connect(t, server.Addr())
		for round := range 2 {
			testCrash(t, server, e, round, kept)
		}
	})
}

// testLostReply: the request arrives and the reply does not. That is an error, and the swap is not repeated.
func testLostReply(t *testing.T, server Server, connect func(t *testing.T, addr string) store.Engine) {
	proxy, err := servers.StartProxy(server.Addr())
	wantErr(t, "proxy", err, nil)
	defer proxy.Close()
	direct, e := connect(t, server.Addr()), connect(t, proxy.Addr())
	Put(t, e, "a", "1")
	proxy.Mute(true)
	done := make(chan error)
	go func() {
		_, err := e.Swap(t.Context(), nil, Entry("a", "2"))
		done <- err
	}()
	for value := ""; value != "2"; value, _ = Get(t, direct, "a") {
		time.Sleep(time.Millisecond)
	}
	Put(t, direct, "a", "later")
	proxy.Mute(false)
	proxy.Cut()
	if err := <-done; err == nil {
		t.Error("Swap without a reply: no error")
	}
	if value, _ := Get(t, direct, "a"); value != "later" {
		t.Errorf("found %q: the swap was repeated", value)
	}
	untilRead(t, e, "a")
	Put(t, e, "a", "3")
}

// untilRead reads an entry as soon as the server can be reached.
func untilRead(t *testing.T, e store.Engine, name string) (string, store.Evidence) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if a, err := e.Read(t.Context(), []string{name}, store.Page{}); err == nil {
			return string(a.Named[0].Value), a.Evidence
		}
	}
	t.Fatal("no answer for a minute")
	panic("unreachable")
}

// testStall: calls end with their context while the server does not answer, and work again after.
func testStall(t *testing.T, server Server, e store.Engine) {
	Put(t, e, "a", "1")
	wantErr(t, "Pause", server.Pause(), nil)
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	for _, ctx := range []context.Context{soon, cancelled} {
		_, swapErr := e.Swap(ctx, nil, Entry("a", "2"))
		_, readErr := e.Read(ctx, []string{"a"}, store.Page{})
		wantErr(t, "Swap", swapErr, ctx.Err())
		wantErr(t, "Read", readErr, ctx.Err())
	}
	wantErr(t, "Resume", server.Resume(), nil)
	Put(t, e, "a", "3")
}

// testCrash kills the server under swaps: nothing is lost that was acknowledged, the position does not fall, nor does the
// lineage change where it is kept, and handles go on by themselves.
func testCrash(t *testing.T, server Server, e store.Engine, round int, kept bool) {
	const players, least = 8, 20
	Put(t, e, "meta", "m")
	_, before := Get(t, e, "meta")
	var acknowledged [players]int
	var positions [players]uint64
	var ending, running sync.WaitGroup
	running.Add(players)
	for i := range players {
		ending.Go(func() {
			for n := 1; ; n++ {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a client may wait for the server
				a, err := e.Swap(ctx, Entry("meta", "m"), Entry(fmt.Sprint(round, "/", i), fmt.Sprint(n)))
				cancel()
				if err == nil && !a.Swapped {
					err = errors.New("not swapped")
				}
				if err != nil {
					if n <= least {
						t.Errorf("before the crash: %v", err)
						running.Done()
					}
					return
				}
				if acknowledged[i], positions[i] = n, a.Position; n == least {
					running.Done()
				}
			}
		})
	}
	running.Wait()
	wantErr(t, "Kill", server.Kill(), nil)
	ending.Wait()
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := e.Read(soon, []string{"a"}, store.Page{}); err == nil {
		t.Error("Read without a server works")
	}
	wantErr(t, "Start", server.Start(), nil)
	for i, n := range acknowledged {
		value, after := untilRead(t, e, fmt.Sprint(round, "/", i))
		found := 0
		if fmt.Sscan(value, &found); found < n || found > n+1 || kept != (after.Lineage == before.Lineage) || after.Position != 0 && after.Position < positions[i] {
			t.Errorf("after the crash: %s and %+v; %d was acknowledged at position %d, the lineage was %s", value, after, n, positions[i], before.Lineage)
		}
	}
	if swapped := Put(t, e, "meta", "m"); swapped.Position <= positions[0] {
		t.Errorf("position %d after the crash, %d before", swapped.Position, positions[0])
	}
}
