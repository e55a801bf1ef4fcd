package counter

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/randflake/randflake/lease"
)

// A Strict is a handle whose numbers follow the order of calls over all processes: each number is
// larger than every number that was given before the call began. So each call waits for the space;
// concurrent callers share one compare-and-swap. A [Counter] may use the same counter, but then
// gives numbers of its run after larger ones were given.
//
// A Strict is safe for concurrent use, and has a goroutine only while a call of the space is under way.
type Strict struct {
	name     string
	counters *Counters
	settings settings

	mu      sync.Mutex
	waiting []*request // in the order in which callers came
	serving bool       // a goroutine runs serve
	closed  bool
	why     error  // why the last call of the space failed, or nil
	taken   uint64 // numbers that were taken from the space
	issued  uint64 // of the taken numbers, those that callers got
}

// A request is what one caller waits for.
type request struct {
	dst   []int64
	n     int // how many numbers of dst are filled
	err   error
	gone  bool          // the caller stopped waiting; a batch that is under way may still have it
	ready chan struct{} // closed when n and err are as they stay
}

// OpenStrict returns a strict handle on a counter. Its errors are those of Open. It takes no number.
func (cs *Counters) OpenStrict(ctx context.Context, name string, options ...Option) (*Strict, error) {
	set, err := cs.resolve(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return &Strict{name: name, counters: cs, settings: set}, nil
}

// check panics unless OpenStrict made s.
func (s *Strict) check() {
	if s == nil || s.counters == nil {
		panic("counter: no Strict, or the zero one: make one with OpenStrict")
	}
}

// Next returns the next number. Its errors are ErrClosed and those of lease.Space.TakeNumbers. If
// ctx ends while the space is asked, a number may be lost.
func (s *Strict) Next(ctx context.Context) (int64, error) {
	var one [1]int64
	_, err := s.Fill(ctx, one[:])
	return one[0], err
}

// Fill is Next for len(dst) numbers, in order. If n < len(dst), err says why. The first n numbers
// are good all the same.
func (s *Strict) Fill(ctx context.Context, dst []int64) (n int, err error) {
	s.check()
	if len(dst) == 0 {
		return 0, nil
	}
	if ctx.Err() != nil {
		return 0, fmt.Errorf("counter: %s: %w", s.name, context.Cause(ctx))
	}
	r := &request{dst: dst, ready: make(chan struct{})}
	if err := s.join(r); err != nil {
		return 0, err
	}
	select {
	case <-r.ready:
		return r.n, r.err
	case <-ctx.Done():
		return s.leave(ctx, r)
	}
}

// join puts a caller at the end of the list, and has the list served.
func (s *Strict) join(r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: %s", ErrClosed, s.name)
	}
	s.waiting = append(s.waiting, r)
	if !s.serving {
		s.serving = true
		go s.serve()
	}
	return nil
}

// leave takes a caller whose ctx has ended off the list. If a call of the space is already under
// way for the caller, the numbers are lost.
func (s *Strict) leave(ctx context.Context, r *request) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-r.ready: // just now
		return r.n, r.err
	default:
	}
	r.gone = true
	s.waiting = slices.DeleteFunc(s.waiting, func(other *request) bool { return other == r })
	return r.n, fmt.Errorf("counter: %s: stopped waiting: %w", s.name, context.Cause(ctx))
}

// serve serves all waiting callers by one call of the space, and again until no caller waits.
func (s *Strict) serve() {
	for {
		batch := s.gather()
		if len(batch) == 0 {
			return
		}
		var want int64
		for _, r := range batch {
			want += int64(len(r.dst) - r.n)
		}
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		got, err := s.counters.take(ctx, s.name, s.settings.period, want)
		cancel()
		s.mu.Lock()
		s.distribute(batch, got, err)
		s.mu.Unlock()
	}
}

// gather removes the waiting callers from the list and returns them. It yields the processor until
// a yield brings no new caller, which ends as each caller waits. Callers that were just served often
// come back at once: without the yield, the first of them would get a compare-and-swap for itself,
// and the others would wait for another one.
func (s *Strict) gather() (batch []*request) {
	before := 0 // how many waited before the yield
	for {
		runtime.Gosched()
		s.mu.Lock()
		if len(s.waiting) == before {
			batch = s.waiting
			s.waiting = nil
			s.serving = len(batch) > 0
			s.mu.Unlock()
			return batch
		}
		before = len(s.waiting)
		s.mu.Unlock()
	}
}

// distribute gives the numbers of a run to a batch of callers, in order. If there are too few, the
// remaining callers wait again, before all others: the next call of the space has numbers for them,
// or the reason why there are no more. It is called with mu held.
func (s *Strict) distribute(batch []*request, got lease.Run, err error) {
	s.taken += uint64(got.N)
	s.why = err
	var short []*request
	for _, r := range batch {
		if r.gone {
			continue
		}
		s.issued += uint64(r.take(&got))
		r.err = err
		if err == nil && r.n < len(r.dst) {
			short = append(short, r)
			continue
		}
		close(r.ready)
	}
	s.waiting = append(short, s.waiting...)
}

// take moves numbers from a run to dst, and returns how many.
func (r *request) take(from *lease.Run) (n int64) {
	n = min(from.N, int64(len(r.dst)-r.n))
	for range n {
		r.dst[r.n] = from.First
		r.n++
		from.First += from.Step
	}
	from.N -= n
	return n
}

// Close makes later calls return ErrClosed. Callers that already wait get their numbers.
func (s *Strict) Close() error {
	s.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
