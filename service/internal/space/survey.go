package space

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// A Survey is the state of a space when its store was asked.
type Survey struct {
	lease.Usage
	At       time.Time
	Where    string
	Counters []counter.Info // those of the configuration that were used
}

// Survey returns a survey younger than an age, or an older one, or nil if there is none, if ctx ends before the store
// answers. Concurrent callers share one request to the store.
func (s *Space) Survey(ctx context.Context, age time.Duration) *Survey {
	if last := s.survey.Load(); last != nil && time.Since(last.At) < age {
		return last
	}
	done := s.surveys.DoChan("", func() (any, error) {
		asking, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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

// ask makes a Survey.
func (s *Space) ask(ctx context.Context) *Survey {
	v := &Survey{At: time.Now()}
	state, err := s.State()
	if usage := s.waiting.Load(); err != nil && usage != nil {
		v.Usage = *usage
		return v
	}
	if err != nil || state.Store == nil {
		v.Err = err
		return v
	}
	v.Where, v.Usage = state.Store.String(), s.usage(ctx, state.Store)
	for _, name := range state.Counters.Names() {
		if v.Err != nil {
			break
		}
		info, err := state.Counters.Get(ctx, name)
		if err == nil {
			v.Counters = append(v.Counters, info)
		} else if !errors.Is(err, counter.ErrNoCounter) {
			v.Err = err
		}
	}
	return v
}

// usage asks a store how the nodes of the space's layout are used.
func (s *Space) usage(ctx context.Context, in *store.Space) lease.Usage {
	below := uint32(0)
	if layout, _ := s.Layout(); layout != nil {
		below = uint32(min(layout.Workers(), randflake.MaxNode+1))
	}
	u := lease.UsageOf(ctx, in, below)
	if s.Kind == "ulid" {
		u.Nodes = lease.Counts{}
	}
	return u
}
