package lease

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/vmgen"
	"github.com/randflake/randflake/lease/internal/backoff"
	"github.com/randflake/randflake/lease/internal/plan"
)

// A loop takes leases for one keeper, and gives them to the generator.
//
//   - takeFirst takes the leases with which Keep makes the generator: first.go.
//   - start adds what takeFirst took beyond that, and makes the first step. Both are still in the
//     goroutine of Keep.
//   - run makes the further steps, in a goroutine of its own, until close.
//   - step takes the windows that are wanted now, by takeWanted, and says how long to wait for the
//     next step: wanted.go.
//
// The plan says which windows are wanted, and when. Three words are kept apart:
//
//   - A take fails if it does not bring a lease of each window that it asks for.
//   - A window is put off if the source says by a WaitError until when to wait for it.
//   - A caller is refused if the generator has no ID for it.
type loop struct {
	settings settings // by the options of Keep
	source   Source
	queue    handover.Queue[randflake.Lease] // the generator's
	wake     chan struct{}                   // has one element if wakeUp was called: see pauseFor
	stop     context.CancelFunc              // ends run
	running  sync.WaitGroup                  // for run

	limits Limits // of the source

	// Only one goroutine uses these: at first that of Keep, and then that of run.
	plan       *plan.Plan
	machine    vmgen.Generation // as noticeCopy has last seen it
	pauseLimit time.Duration    // see backOff; 0 if the last step had no error

	mu     sync.Mutex
	status Status // the one goroutine that uses plan changes it, and reads it without mu
}

// How long backOff pauses after a step with an error: up to firstLimit, then to twice as much each
// time. shortestPause also holds where a lease is about to end.
const (
	shortestPause = time.Second / 10
	firstLimit    = time.Second
	longestLimit  = 30 * time.Second
)

// wakeDelay is how long a pause lasts before a refused caller can end it. So refusals cause at most
// one step a second.
const wakeDelay = time.Second

// A take is urgent if the leases end in less than urgentBelow. Urgent takes and pauses are short, so
// that the next take begins within five seconds. A take that is not urgent ends while there is time
// for an urgent pause and an urgent take.
const (
	urgentBelow = 30 * time.Second
	urgentPause = 2 * time.Second
	urgentTake  = 3 * time.Second
	longestTake = urgentBelow - urgentPause - urgentTake
)

// errLate: when a step ended, the window that was present then had not been asked for. Those that the
// step asked for were over by then, or the clock was set back meanwhile.
var errLate = errors.New("lease: windows ended while nodes of them were taken: " +
	"this process was paused, its clock was set, or the store is slower than windows are long")

func newLoop(source Source, s settings) *loop {
	if s.clock == nil {
		s.clock = time.Now // in this copy of s alone
	}
	limits := source.Limits()
	return &loop{
		source:   source,
		settings: s,
		wake:     make(chan struct{}, 1),
		limits:   limits,
		plan:     plan.New(limits.Window, limits.Ahead, max(s.outage, limits.afterLoss()), s.clock()),
		machine:  vmgen.Now(),
	}
}

func (l *loop) now() time.Time { return l.settings.clock() }

// start gives the generator the leases that takeFirst took, and goes on in the background. leases[0]
// is in the generator already, as it was made with that. The others are added to queue.
func (l *loop) start(ctx context.Context, queue handover.Queue[randflake.Lease], leases []randflake.Lease) {
	l.queue = queue
	l.noteLease(leases[0]) // of the present window, or of the next one
	for _, lease := range leases[1:] {
		l.add(lease)
	}
	pause := l.step(ctx) // with the ctx of Keep
	background, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.running.Go(func() { l.run(background, pause) })
}

func (l *loop) close() {
	l.stop()
	l.running.Wait()
}

// wakeUp shortens the pause, as a caller was refused. It returns at once and is safe for concurrent use.
func (l *loop) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) run(ctx context.Context, pause time.Duration) {
	for l.pauseFor(ctx, pause) {
		pause = l.step(ctx)
	}
}

// pauseFor waits for the pause. After wakeDelay it also ends when a caller is refused. It returns
// false once the loop is closed.
func (l *loop) pauseFor(ctx context.Context, pause time.Duration) bool {
	unwakeable := min(pause, wakeDelay)
	if backoff.Sleep(ctx, unwakeable) != nil {
		return false
	}
	select {
	case <-time.After(pause - unwakeable):
	case <-l.wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// step takes the windows that are wanted now, reports, and returns for how long there is nothing to do.
func (l *loop) step(ctx context.Context) (pause time.Duration) {
	err := l.takeWanted(ctx)
	now := l.now()

	// takeWanted asked for the window that was present when it began. The clock may have moved since
	// then, to a window that was not asked for.
	if err == nil && !l.plan.HasOutcome(l.limits.WindowOf(now)) {
		err = errLate
	}

	// A window that was put off is no error of the step, but it is reported.
	l.report(now, cmp.Or(err, l.plan.Missing(now)))
	if err != nil {
		return l.backOff(now)
	}
	l.pauseLimit = 0
	return l.plan.Next(now).Sub(now)
}

// backOff returns the pause after a step with an error. It doubles the limit, and takes a random time
// of between half of that and all of it. It ends before the leases do, and without a lease before the
// next window, but it lasts for at least shortestPause.
func (l *loop) backOff(now time.Time) time.Duration {
	longest := longestLimit
	if l.isUrgent() {
		longest = urgentPause
	}
	l.pauseLimit = min(max(2*l.pauseLimit, firstLimit), longest)
	pause := l.pauseLimit/2 + rand.N(l.pauseLimit/2+1)

	left := l.plan.Deadline(now).Sub(now)
	return min(pause, max(left, shortestPause))
}

// isUrgent reports whether the leases end in less than urgentBelow, or have ended. Before the first step has
// reported until when there are leases, it returns false, so that the first takes may last for longestTake.
func (l *loop) isUrgent() bool {
	return !l.status.End.IsZero() && l.plan.Left(l.now()) < urgentBelow
}
