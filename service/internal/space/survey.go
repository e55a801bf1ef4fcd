package space

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

// A Survey is the state of a space when its store was asked.
type Survey struct {
	At     time.Time
	Err    error // why the rest is not known, or nil
	Where  string
	Losses uint64 // how often data was lost, or may have been
	Limits lease.Limits

	Nodes   int // that there are
	Leased  int // of them
	Holders int

	Counters []counter.Info // those of the configuration that were used
}

const (
	surveyAge  = 5 * time.Second // how old one is when another is made
	surveyTime = 10 * time.Second
)

// Survey returns a survey that is a few seconds old at most, or an older one, or nil if there is none, if ctx ends
// before the store answers. Concurrent callers share one request to the store.
func (s *Space) Survey(ctx context.Context) *Survey {
	if last := s.survey.Load(); last != nil && time.Since(last.At) < surveyAge {
		return last
	}
	done := s.surveys.DoChan("", func() (any, error) {
		asking, cancel := context.WithTimeout(context.Background(), surveyTime)
		defer cancel()
		s.survey.Store(s.ask(asking))
		return nil, nil
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	return s.survey.Load()
}

// Outdate makes the next call of Survey ask the store.
func (s *Space) Outdate() {
	if last := s.survey.Load(); last != nil {
		old := *last
		old.At = time.Time{}
		s.survey.Store(&old)
	}
}

// ask makes a Survey.
func (s *Space) ask(ctx context.Context) *Survey {
	v := &Survey{At: time.Now()}
	state, err := s.State()
	if err != nil || state.Store == nil {
		v.Err = err
		return v
	}
	v.Where = state.Store.String()
	meta, err := state.Store.Info(ctx)
	if err == nil {
		v.Losses = meta.Losses
		v.Limits, err = state.Leases.Limits(ctx)
	}
	if err == nil {
		err = s.countNodes(ctx, v, state.Leases)
	}
	for _, name := range state.Counters.Names() {
		if err != nil {
			break
		}
		var info counter.Info
		if info, err = state.Counters.Get(ctx, name); err == nil {
			v.Counters = append(v.Counters, info)
		} else if errors.Is(err, counter.ErrNoCounter) {
			err = nil
		}
	}
	v.Err = err
	return v
}

func (s *Space) countNodes(ctx context.Context, v *Survey, leases lease.Source) error {
	held, err := Held(ctx, leases)
	for _, r := range held {
		v.Leased += r.Nodes()
	}
	v.Holders = len(held)
	v.Nodes = randflake.MaxNode + 1
	if layout, _ := s.Layout(); layout != nil {
		v.Nodes = int(min(layout.Workers(), randflake.MaxNode+1))
	} else if s.Kind == "ulid" {
		v.Nodes = 0
	}
	return err
}

// Held returns the leases that are held now, in the order of their nodes.
func Held(ctx context.Context, leases lease.Source) (held []lease.Record, err error) {
	records, err := leases.List(ctx)
	now := time.Now().Unix()
	for _, r := range records {
		if r.Owner != (lease.Token{}) && r.HighWater >= now {
			held = append(held, r)
		}
	}
	return held, err
}
