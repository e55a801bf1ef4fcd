// Package enginetest has the suites of engines whose server, or whose process, the test kills.
// Package leasetest has the suite that every engine must pass, and is for engines of others too;
// this package starts programs.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// A Server keeps the data of an engine under test, in a process that the test may stop.
type Server interface {
	Addr() string
	Kill() error
	Start() error
	Pause() error
	Resume() error
}

// RunServer tests an engine while its server crashes, stalls, and loses replies. connect opens a
// handle on the same data, which it prepares, through any address. kept says whether a restart
// leaves the incarnation as it is.
func RunServer(t *testing.T, server Server, kept bool, connect func(t *testing.T, addr string) lease.Engine) {
	t.Run("LostReply", func(t *testing.T) { testLostReply(t, server, connect) })
	t.Run("Stall", func(t *testing.T) { testStall(t, server, connect(t, server.Addr())) })
	t.Run("Crash", func(t *testing.T) {
		e := connect(t, server.Addr())
		for round := range 2 {
			testCrash(t, server, e, round, kept)
		}
	})
}

// testLostReply: the request arrives and the reply does not. That is an error, and the swap is not
// repeated.
func testLostReply(t *testing.T, server Server, connect func(t *testing.T, addr string) lease.Engine) {
	proxy, err := servers.StartProxy(server.Addr())
	require.NoError(t, err)
	defer proxy.Close()
	direct, e := connect(t, server.Addr()), connect(t, proxy.Addr())
	leasetest.Put(t, e, "a", "1")
	proxy.Mute(true)
	done := make(chan error)
	go func() {
		_, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "2"))
		done <- err
	}()
	for value := ""; value != "2"; value, _ = leasetest.Get(t, direct, "a") {
		time.Sleep(time.Millisecond)
	}
	leasetest.Put(t, direct, "a", "later")
	proxy.Mute(false)
	proxy.Cut()
	if err := <-done; err == nil || errors.Is(err, lease.ErrStore) {
		t.Errorf("Swap without a reply: error %v, want one that leaves open whether it was made", err)
	}
	value, _ := leasetest.Get(t, direct, "a")
	require.That(t, value == "later", "found %q: the swap was repeated", value)
	UntilRead(t, e, "a")
	leasetest.Put(t, e, "a", "3")
}

// UntilRead reads an entry as soon as the server can be reached.
func UntilRead(t testing.TB, e lease.Engine, name string) (string, lease.Answer) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		a, err := e.Read(ctx, name)
		cancel()
		if err == nil {
			return string(a.Entries[0].Value), a
		}
	}
	t.Fatal("no answer for a minute")
	panic("unreachable")
}

// untilUnsent swaps without a server: once the handle has noticed that its connections are gone, it
// says that nothing was changed.
func untilUnsent(t *testing.T, e lease.Engine) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err = e.Swap(ctx, leasetest.Entry("meta", "m"), leasetest.Entry("meta", "m"))
		cancel()
		if errors.Is(err, lease.ErrStore) {
			return
		}
	}
	t.Errorf("Swap without a server: error %v, want ErrStore", err)
}

// testStall: calls end with their context while the server does not answer, and work again after.
func testStall(t *testing.T, server Server, e lease.Engine) {
	leasetest.Put(t, e, "a", "1")
	require.NoError(t, server.Pause())
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	cancelled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	for _, ctx := range []context.Context{soon, cancelled} {
		_, swapErr := e.Swap(ctx, nil, leasetest.Entry("a", "2"))
		_, readErr := e.Read(ctx, "a")
		require.ErrorIs(t, swapErr, ctx.Err(), "Swap")
		require.ErrorIs(t, readErr, ctx.Err(), "Read")
	}
	require.NoError(t, server.Resume())
	leasetest.Put(t, e, "a", "3")
}

// testCrash kills the server under swaps: nothing is lost that was acknowledged, the position does
// not fall, nor does the lineage change, nor the incarnation where it is kept, and handles go on by themselves.
func testCrash(t *testing.T, server Server, e lease.Engine, round int, kept bool) {
	leasetest.Put(t, e, "meta", "m")
	_, before := leasetest.Get(t, e, "meta")
	var players [8]player
	var playing, gone sync.WaitGroup
	playing.Add(len(players))
	for i := range players {
		gone.Go(func() { players[i].play(t, e, fmt.Sprint(round, "/", i), sync.OnceFunc(playing.Done)) })
	}
	playing.Wait()
	require.NoError(t, server.Kill())
	gone.Wait()
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := e.Read(soon, "a"); err == nil {
		t.Error("Read without a server works")
	}
	untilUnsent(t, e)
	require.NoError(t, server.Start())
	for i, p := range players {
		value, after := UntilRead(t, e, fmt.Sprint(round, "/", i))
		found := 0
		fmt.Sscan(value, &found)
		same := after.Lineage == before.Lineage && kept == (after.Incarnation == before.Incarnation)
		if found < p.acknowledged || found > p.acknowledged+1 || !same || after.Position < p.position {
			t.Errorf("after the crash: %s and %+v; acknowledged was %+v, before it was %+v", value, after, p, before)
		}
	}
	swapped := leasetest.Put(t, e, "meta", "m")
	require.That(t, swapped.Position > players[0].position,
		"position %d after the crash, %d before", swapped.Position, players[0].position)
}

// A player counts up in an entry of its own until the server is gone.
type player struct {
	acknowledged int    // the last number
	position     uint64 // that came with it
}

// play calls playing after some swaps, so that the server is killed under load, or when a swap fails before that.
func (p *player) play(t *testing.T, e lease.Engine, entry string, playing func()) {
	const least = 20
	defer playing()
	for n := 1; ; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a client may wait for its server
		a, err := e.Swap(ctx, leasetest.Entry("meta", "m"), leasetest.Entry(entry, fmt.Sprint(n)))
		cancel()
		if err != nil || !a.Swapped {
			require.That(t, n > least, "before the crash: swap %d: %+v, %v", n, a, err)
			return
		}
		p.acknowledged = n
		p.position = a.Position
		if n == least {
			playing()
		}
	}
}

const killedEnv = "RANDFLAKE_ENGINETEST_KILLED"

// Main is the TestMain of an engine without a server. In a process that [RunKilled] started it raises a
// counter until the process is killed.
func Main[E lease.Engine](m *testing.M, connect func(where string) (E, error)) {
	if where := os.Getenv(killedEnv); where != "" {
		fmt.Fprintln(os.Stderr, raise(connect(where)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// raise raises the counter until an error, and prints each number that was acknowledged.
func raise[E lease.Engine](e E, err error) error {
	number, text := 0, "" // what the counter is, and its entry
	for err == nil {
		time.Sleep(time.Millisecond) // who waits for a lock seldom looks, and must find it free
		var a lease.Answer
		a, err = e.Swap(context.Background(), leasetest.Entry("counter", text), leasetest.Entry("counter", fmt.Sprint(number+1)))
		switch {
		case a.Swapped:
			number++
			fmt.Println(number)
		case err == nil: // another process has raised it
			fmt.Sscan(string(a.Entries[0].Value), &number)
		}
		text = fmt.Sprint(number)
	}
	return err
}

// RunKilled has two processes on one store at any time, each killed at some moment. e is a handle
// on it that has put one entry.
func RunKilled(t *testing.T, e lease.Engine, where string) {
	const processes = 16
	var outputs []string
	end := func() {}
	for i := range processes {
		name := filepath.Join(t.TempDir(), "output")
		output, err := os.Create(name)
		require.NoError(t, err)
		defer output.Close()
		outputs = append(outputs, name)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killedEnv+"="+where)
		cmd.Stdout = output
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Skip("tests can't start themselves here: ", err)
		}
		for text := []byte(nil); len(text) == 0; time.Sleep(time.Millisecond) { // until it has made a number
			text, _ = os.ReadFile(name)
		}
		time.Sleep(time.Duration(5*i) * time.Millisecond)
		end()
		end = func() { cmd.Process.Kill(); cmd.Wait() }
	}
	end()
	seen := map[string]bool{}
	for _, name := range outputs {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for number := range strings.Lines(string(text)) {
			require.That(t, !seen[number], "%s was acknowledged twice", number)
			seen[number] = true
		}
	}
	value, found := leasetest.Get(t, e, "counter")
	number := 0
	fmt.Sscan(value, &number)
	isPossible := len(seen) <= number && number <= len(seen)+processes
	require.That(t, isPossible && found.Position == uint64(number+1),
		"the counter is at %d, position %d, after %d numbers", number, found.Position, len(seen))
}

// RunThousand has a thousand handles, with an engine of their own each, take a node of the same
// window of a new space at once, and logs how long that takes.
func RunThousand(t *testing.T, connect func() lease.Engine) {
	first, err := lease.Create(t.Context(), connect(), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	spaces := []*lease.Space{first}
	for len(spaces) < 1000 {
		space, err := lease.Open(t.Context(), connect(), lease.Config{})
		require.NoError(t, err)
		spaces = append(spaces, space)
	}
	began := time.Now()
	window := first.Limits().WindowOf(began) + 1
	var nodes sync.Map
	var wg sync.WaitGroup
	for _, space := range spaces {
		wg.Go(func() {
			defer space.Close()
			leases, err := space.Take(t.Context(), window, window, 1)
			if err != nil {
				t.Error(err)
				return
			}
			_, twice := nodes.LoadOrStore(leases[0].FirstNode, true)
			require.That(t, !twice, "%+v twice", leases[0])
		})
	}
	wg.Wait()
	t.Logf("%v for %d leases", time.Since(began), len(spaces))
}
