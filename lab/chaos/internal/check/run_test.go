package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var (
	ctx    = context.Background()
	secret = randflake.NewSecret()
	cipher = randflake.NewCipher(secret)
	noon   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	second = noon.Unix()
)

// A trial is a run that a test acts out, with journals of its own and a checker.
type trial struct {
	*testing.T
	dir     string
	clock   *storetest.Clock
	store   *storetest.Leases
	checker *Checker
	workers []*worker
}

type worker struct {
	lease.Source // whose calls are noted
	*journal.Writer
	stream *journal.Stream
	dir    string
	killed bool
}

func newTrial(t *testing.T) *trial {
	clock := storetest.NewClock(noon)
	return &trial{
		T:       t,
		dir:     t.TempDir(),
		clock:   clock,
		store:   storetest.NewLeases(store.DefaultLimits(), clock.Now),
		checker: New(Config{Secret: secret}),
	}
}

func (t *trial) worker(name string) *worker { return t.workerOn(name, t.store) }

func (t *trial) workerOn(name string, store lease.Source) *worker {
	t.Helper()
	dir := filepath.Join(t.dir, name)
	writer, err := journal.Create(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{journal.Store(store, writer), writer, writer.Stream(), dir, false}
	t.workers = append(t.workers, w)
	return w
}

func (t *trial) acquire(w *worker, nodes int) lease.Record {
	t.Helper()
	rec, err := w.Acquire(ctx, lease.Request{Nodes: nodes, TTL: time.Minute, Owner: lease.NewToken(t.clock.Now())})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// made has w make n IDs of one second and node, from a sequence number on.
func (t *trial) made(w *worker, second int64, node, sequence uint32, n int) {
	t.Helper()
	ids := make([]randflake.ID, n)
	for i := range ids {
		id, err := cipher.Compose(randflake.Fields{Time: time.Unix(second, 0), Node: node, Sequence: sequence + uint32(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id
	}
	if err := w.stream.Made(ids...); err != nil {
		t.Fatal(err)
	}
	w.stream.Written(n)
}

// result ends the run and returns what was found.
func (t *trial) result() Result {
	t.Helper()
	for _, w := range t.workers {
		if !w.killed {
			if err := w.Writer.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := t.checker.Read(w.dir, true); err != nil {
			t.Fatal(err)
		}
	}
	r, err := t.checker.Result()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantFaults checks which kinds of fault were found.
func (t *trial) wantFaults(r Result, want ...string) {
	t.Helper()
	var got []string
	if r.Duplicates > 0 {
		got = append(got, "duplicates")
	}
	if r.Outside > 0 {
		got = append(got, "outside")
	}
	if r.Overlap != "" {
		got = append(got, "overlap")
	}
	if r.Linearizable != Linearizable {
		got = append(got, string(r.Linearizable))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") || r.OK() != (len(want) == 0) {
		t.Errorf("found %q, want %q: %+v", got, want, r)
	}
}

// TestHonestRun is the control of all tests that plant a fault.
func TestHonestRun(t0 *testing.T) {
	t := newTrial(t0)
	a, b := t.worker("a"), t.worker("b")
	held := t.acquire(a, 2)
	other := t.acquire(b, 1)
	t.made(a, second, held.FirstNode, 0, 5000)
	t.made(a, second, held.LastNode, 0, 3000)
	t.made(b, second, other.FirstNode, 0, 100)
	t.clock.Advance(20 * time.Second)
	renewed, err := a.Renew(ctx, held, lease.Renewal{TTL: time.Minute, Token: lease.Token{1}})
	if err != nil {
		t.Fatal(err)
	}
	t.made(a, second+75, held.FirstNode, 7, 10)
	a.Refused(randflake.ErrExhausted)
	if err := a.Release(ctx, renewed, time.Unix(second+75, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Renew(ctx, renewed, lease.Renewal{TTL: time.Minute, Token: lease.Token{2}}); err == nil {
		t.Fatal("renewed a released lease")
	}
	if _, err := b.List(ctx); err != nil {
		t.Fatal(err)
	}
	b.killed = true
	c := t.worker("c")
	t.clock.Advance(80 * time.Second)
	next := t.acquire(c, 2)
	t.made(c, next.Start, next.FirstNode, 0, 1000)

	r := t.result()
	t.wantFaults(r)
	if r.Processes != 3 || r.Killed != 1 || r.Leases != 3 || r.Made != 9110 || r.Written != 9110 || r.Runs != 5 {
		t.Errorf("%+v, want 3 processes, 1 killed, 3 leases, 9110 IDs made and written, in 5 runs", r)
	}
	if r.Calls["acquire ok"] != 3 || r.Calls["renew ok"] != 1 || r.Calls["renew lost"] != 1 || r.Refusals["exhausted"] != 1 {
		t.Errorf("calls %v, refusals %v", r.Calls, r.Refusals)
	}
}

func TestLeasesThatOverlap(t0 *testing.T) {
	t := newTrial(t0)
	a := t.worker("a")
	b := t.workerOn("b", storetest.NewLeases(store.DefaultLimits(), t.clock.Now)) // knows nothing of a
	t.acquire(a, 1)
	t.acquire(b, 1)
	r := t.result()
	t.wantFaults(r, "overlap")
	if !strings.Contains(r.Overlap, "node 0") {
		t.Errorf("overlap %q, want node 0 named", r.Overlap)
	}
}

func TestReleasedLeasesDoNotOverlap(t0 *testing.T) {
	t := newTrial(t0)
	a := t.worker("a")
	for range 3 {
		held := t.acquire(a, randflake.MaxNode+1)
		if err := a.Release(ctx, held, time.Unix(held.Start+10, 0)); err != nil {
			t.Fatal(err)
		}
	}
	t.wantFaults(t.result())
}

func TestOwnerGrantedTwice(t0 *testing.T) {
	t := newTrial(t0)
	ask := lease.Request{Nodes: 1, TTL: time.Minute, Owner: lease.NewToken(t.clock.Now())}
	for _, name := range []string{"a", "b"} {
		if _, err := t.worker(name).Acquire(ctx, ask); err != nil {
			t.Fatal(err)
		}
	}
	r := t.result()
	t.wantFaults(r, "overlap")
	if !strings.Contains(r.Overlap, "to a and to b") {
		t.Errorf("overlap %q, want both processes named", r.Overlap)
	}
}

// TestKilledInACall has a process end within a call, whose effect the next one sees.
func TestKilledInACall(t0 *testing.T) {
	t := newTrial(t0)
	a, b := t.worker("a"), t.worker("b")
	a.killed = true
	applied := make(chan struct{})
	t.store.Inject(func(op storetest.Op) storetest.Fault {
		close(applied)
		return storetest.Fault{After: true, Hang: true}
	})
	dying, kill := context.WithCancel(ctx)
	defer kill()
	go a.Acquire(dying, lease.Request{Nodes: randflake.MaxNode + 1, TTL: time.Minute, Owner: lease.NewToken(t.clock.Now())})
	<-applied
	t.store.Inject(nil)
	for len(t.list()) == 0 {
		time.Sleep(time.Millisecond)
	}
	t.clock.Advance(time.Hour)
	held := t.acquire(b, randflake.MaxNode+1)
	if held.Version != 2 {
		t.Fatalf("b got %+v, want the range that a never knew it had", held)
	}
	t.made(b, held.Start, held.FirstNode, 0, 10)
	r := t.result()
	t.wantFaults(r)
	if r.Calls["acquire unknown"] != 1 || r.Killed != 1 {
		t.Errorf("%+v, want 1 process killed and its acquisition of unknown outcome", r)
	}
}

func (t *trial) list() []lease.Record {
	records, err := t.store.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestSegmentsAreDeletedUnlessKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		trial := newTrial(t)
		trial.checker = New(Config{Secret: secret, Keep: keep})
		a := trial.worker("a")
		held := trial.acquire(a, 1)
		trial.made(a, second, held.FirstNode, 0, 1)
		trial.wantFaults(trial.result())
		left, err := filepath.Glob(filepath.Join(a.dir, "ids-*"))
		if err != nil || (len(left) == 1) != keep {
			t.Errorf("keep %t: %q left, error %v", keep, left, err)
		}
	}
}

func TestResultTooEarly(t0 *testing.T) {
	t := newTrial(t0)
	a := t.worker("a")
	if err := t.checker.Read(a.dir, false); err != nil {
		t.Fatal(err)
	}
	if _, err := t.checker.Result(); err == nil {
		t.Error("Result: no error though a process is alive")
	}
}

func TestReturnWithoutItsCall(t0 *testing.T) {
	t := newTrial(t0)
	a := t.worker("a")
	t.acquire(a, 1)
	path := filepath.Join(a.dir, "events")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n") // without the start
	_, rest, _ = strings.Cut(rest, "\n")          // and without the call
	if err := os.WriteFile(path, []byte(rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := t.checker.Read(a.dir, true); err == nil {
		t.Error("Read: no error for a journal that lacks a line")
	}
}
