package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// A scene is a space with a secret of its own, and the processes that make IDs before and after something happens to it.
type scene struct {
	secret randflake.Secret
	config lease.Config
	gate   sync.RWMutex // held while nothing may be asked of the store

	old, new []*process
	from     time.Time // when the new ones could start
}

const (
	each    = 3 // processes before, and as many after
	counted = 9 // numbers that a counter gave before the move
)

func newScene(name string) *scene {
	secret := randflake.NewSecret()
	return &scene{
		secret: secret,
		config: lease.Config{Name: name, Limits: limits, Check: secret.CheckValue(), New: true},
	}
}

// gated is an engine of processes.
type gated struct {
	lease.Engine
	gate *sync.RWMutex
}

func (g gated) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Engine.Read(ctx, names...)
}

func (g gated) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Engine.Swap(ctx, expect, put)
}

// open returns a handle of a process.
func (s *scene) open(ctx context.Context, e *engine.Engine) (*lease.Space, error) {
	connected, _, err := url.Engine(ctx, e.URL)
	if err != nil {
		return nil, err
	}
	space, err := lease.Open(ctx, gated{connected, &s.gate}, s.config)
	if err != nil {
		return nil, errors.Join(err, connected.Close())
	}
	return space, nil
}

// create makes the space.
func (s *scene) create(ctx context.Context, e *engine.Engine) (*lease.Space, error) {
	connected, _, err := url.Engine(ctx, e.URL)
	if err != nil {
		return nil, err
	}
	space, err := lease.Create(ctx, connected, s.config)
	if err != nil {
		return nil, errors.Join(err, connected.Close())
	}
	return space, nil
}

// start makes the space, and starts the old processes.
func (s *scene) start(ctx context.Context, e *engine.Engine) error {
	space, err := s.create(ctx, e)
	if err != nil {
		return err
	}
	defer space.Close()
	if err := space.CreateCounter(ctx, lease.Counter{Name: "n", Start: 1}); err != nil {
		return err
	}
	if _, err := space.TakeNumbers(ctx, "n", lease.Period{}, counted); err != nil {
		return err
	}
	s.old, err = s.beginOn(ctx, e)
	return err
}

// beginOn starts processes on the space in an engine.
func (s *scene) beginOn(ctx context.Context, e *engine.Engine) ([]*process, error) {
	open := func() (*lease.Space, error) { return s.open(ctx, e) }
	return beginAll(ctx, each, s.secret, open)
}

// goOn starts the new processes, and returns a window after the floor.
func (s *scene) goOn(ctx context.Context, e *engine.Engine) (err error) {
	s.from = time.Now()
	s.new, err = s.beginOn(ctx, e)
	if err != nil {
		return err
	}
	info, err := s.new[0].space.Info(ctx)
	if err != nil {
		return err
	}
	return wait(ctx, time.Until(info.Low.Add(limits.Window)))
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// move moves the space once its processes have lived three windows, and runs the move again whenever it is killed.
func (s *scene) move(ctx context.Context, from, to *engine.Engine, r *result) {
	defer s.finish(r)
	r.err = s.start(ctx, from)
	if r.err == nil {
		r.err = wait(ctx, 3*limits.Window)
	}
	if r.err != nil {
		return
	}
	k := &killer{killed: map[string]bool{}}
	r.err = errKilled
	for errors.Is(r.err, errKilled) {
		k.again()
		r.err = s.tryMove(ctx, from, to, k)
	}
	r.kills = len(k.killed)
	if r.err == nil {
		r.err = s.goOn(ctx, to)
	}
}

// tryMove is a process that moves the space, and may be killed.
func (s *scene) tryMove(ctx context.Context, from, to *engine.Engine, k *killer) error {
	before, _, err := url.Engine(ctx, from.URL)
	if err != nil {
		return err
	}
	defer before.Close()
	after, _, err := url.Engine(ctx, to.URL)
	if err != nil {
		return err
	}
	defer after.Close()
	old, err := lease.Open(ctx, killable{before, "old", k}, s.config)
	if err != nil {
		return err
	}
	if _, err = lease.Move(ctx, old, killable{after, "new", k}, s.config); err != nil {
		return err
	}

	space, err := lease.Open(ctx, after, s.config)
	if err != nil {
		return err
	}
	run, err := space.TakeNumbers(ctx, "n", lease.Period{}, 1)
	if err == nil && run.First != counted+1 {
		err = fmt.Errorf("the counter goes on at %d: want %d", run.First, counted+1)
	}
	return err
}

// makeAgain wipes a store with many spaces, and makes each of them again by hand, while their processes go on.
func makeAgain(ctx context.Context, name string, e *engine.Engine) []result {
	scenes := make([]*scene, runs)
	results := make([]result, runs)
	for i := range runs {
		scenes[i] = newScene(fmt.Sprint("again-", i))
		results[i].what = name
		results[i].err = scenes[i].start(ctx, e)
	}
	err := wait(ctx, 3*limits.Window)
	for _, s := range scenes {
		s.gate.Lock()
	}
	err = errors.Join(err, e.Wipe())
	for i, s := range scenes {
		s.config.New = false
		space, failed := s.create(ctx, e)
		if failed == nil {
			failed = space.Close()
		}
		results[i].err = errors.Join(results[i].err, err, failed)
	}
	for _, s := range scenes {
		s.gate.Unlock()
	}

	var all sync.WaitGroup
	for i, s := range scenes {
		all.Go(func() {
			defer s.finish(&results[i])
			if results[i].err == nil {
				results[i].err = s.goOn(ctx, e)
			}
		})
	}
	all.Wait()
	return results
}

// finish ends all processes, and compares what they made.
func (s *scene) finish(r *result) {
	made := map[randflake.ID]bool{}
	for _, p := range append(s.old, s.new...) {
		if p == nil {
			continue
		}
		r.err = errors.Join(r.err, p.end())
		for _, id := range p.ids {
			if made[id] {
				r.equal++
			}
			made[id] = true
			r.ids++
		}
	}
	if r.err != nil {
		return
	}
	r.err = s.measure(r)
}

// measure notes when the new processes began to make IDs, and until when the old ones did.
func (s *scene) measure(r *result) error {
	var began time.Time
	for _, p := range s.new {
		if p.first.IsZero() {
			return errors.New("a new process made no ID")
		}
		if p.first.After(began) {
			began = p.first
		}
	}
	r.first = began.Sub(s.from)
	for i, p := range s.old {
		if p.last.Before(s.from) {
			return errors.New("an old process made no ID when the new ones began")
		}
		r.refused += p.refused
		if left := p.ended.Sub(began); i == 0 || left < r.left {
			r.left = left
		}
	}
	return nil
}
