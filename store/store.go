// Package store keeps what must not be forgotten, for the protocols that lease nodes and count numbers,
// on any [Engine]: a directory, etcd, Redis, PostgreSQL, MariaDB or your own.
//
// An engine only compares and sets entries. What every protocol needs above that is here, once: spaces
// and their limits, the present by the server's clock, and what happens when data is lost. A [Space] is a
// handle on one space. It compares each answer with what it saw before and with what the space itself
// remembers; when the data may have gone back in time it sets the space's floor, durably, before anything
// else: nothing that starts before that second is granted, so that everything that was forgotten has ended.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// A Space is a handle on a space of an engine. It is safe for concurrent use, as are any number of
// handles in any number of processes.
type Space struct {
	engine   Engine
	settings settings
	closed   atomic.Bool
	opened   atomic.Pointer[View] // for Opened
	covering chan struct{}        // holds one token while a goroutine sets the floor

	mu   sync.Mutex
	seen sighting
}

// A sighting is what a handle remembers of the newest state that it saw.
type sighting struct {
	meta     *Meta
	value    []byte // of meta, as the engine has it
	lineage  string
	position uint64
	newest   int64     // the newest second of any item
	server   time.Time // the server's clock, if it has one,
	at       time.Time // when the process's clock showed this
}

// Open opens the space that options name on engine. It fails with ErrNoStore where there is none, unless
// told [OrCreate]. The store closes the engine when it is closed, and not when Open fails.
func Open(ctx context.Context, engine Engine, options ...Option) (*Space, error) {
	s, err := newSpace(engine, options)
	if err != nil {
		return nil, err
	}
	if s.settings.newSecret || (s.settings.limitsGiven || s.settings.check != CheckValue{}) && !s.settings.orCreate {
		return nil, fmt.Errorf("%w: open: WithLimits, ForSecret and ForNewSecret are for a new space: one that is there keeps what it was created with", ErrInvalidOption)
	}
	err = s.lookAround(ctx)
	if errors.Is(err, ErrNoStore) && s.settings.orCreate {
		if err = s.create(ctx); errors.Is(err, fs.ErrExist) {
			err = s.lookAround(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// lookAround reads the first page of items: their seconds are a witness against a slow clock, and if they are all that
// the space has, the first change needs no other read.
func (s *Space) lookAround(ctx context.Context) error {
	v, err := s.Look(ctx, nil, Page{Limit: MaxPage})
	if err != nil {
		return err
	}
	if complete := len(v.Page) < MaxPage-1; complete && s.lossIn(sighting{}, v, v.evidence) == "" {
		s.opened.Store(v)
	}
	return nil
}

// Create makes a new space on engine. It fails with an error that wraps fs.ErrExist where there is one.
//
// A new space can't know what an earlier one granted for the same secret, so nothing is granted in it
// that starts before its floor, MaxTTL and MaxSkew from now: eleven minutes with the default limits. The
// limits must be at least as wide as those of any space that the secret had before, since they say how
// far the leases of that one may reach. Where there was no earlier one, [ForNewSecret] drops that wait.
func Create(ctx context.Context, engine Engine, options ...Option) (*Space, error) {
	s, err := newSpace(engine, options)
	if err != nil {
		return nil, err
	}
	if s.settings.orCreate {
		return nil, fmt.Errorf("%w: create: OrCreate is for Open", ErrInvalidOption)
	}
	if err := s.create(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newSpace(engine Engine, options []Option) (*Space, error) {
	if engine == nil {
		return nil, errors.New("store: engine is nil")
	}
	set, err := newSettings(options)
	if err != nil {
		return nil, err
	}
	if set.combining {
		engine = combine(engine, 2)
	}
	return &Space{engine: engine, settings: set, covering: make(chan struct{}, 1)}, nil
}

func (s *Space) create(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.engine.Prepare(ctx); err != nil {
		return s.failed("create", err)
	}
	first, err := s.engine.Read(ctx, []string{s.name(metaName)}, s.page(Page{Limit: 1}))
	if err != nil {
		return s.failed("create", err)
	}
	switch {
	case first.Named[0].Value != nil:
		return fmt.Errorf("store: create: %s: %w: a space is never replaced: open it, or take another name", s, fs.ErrExist)
	case len(first.Page) > 0 && s.settings.newSecret:
		return fmt.Errorf("store: create: %s: %w: entries of an earlier space are there, so the secret is not new to it: take another name, or leave ForNewSecret out", s, ErrCorrupt)
	}
	m := &Meta{Format: metaFormat, Incarnation: newToken(), Lineage: first.Lineage, Check: s.settings.check, Changes: 1}
	m.setLimits(s.settings.limits)
	if !s.settings.newSecret {
		newest, err := s.newest(ctx, nil)
		if err != nil {
			return err
		}
		if err := s.raiseFloor(m, newest, s.present(first.Evidence)); err != nil {
			return fmt.Errorf("store: create: %s: %w; or take another name", s, err)
		}
	}
	value := m.encode()
	answer, err := s.engine.Swap(ctx, []Entry{{Name: s.name(metaName)}}, []Entry{{s.name(metaName), value}})
	switch {
	case err != nil:
		return s.failed("create", err)
	case !answer.Swapped:
		return fmt.Errorf("store: create: %s: %w: another process was faster", s, fs.ErrExist)
	}
	s.noteClock(answer.Evidence)
	s.adopt(&View{Meta: m, value: value, evidence: answer.Evidence})
	return nil
}

// Name returns the name of the space.
func (s *Space) Name() string { return s.settings.space }

// String says where the space is, without any password.
func (s *Space) String() string { return fmt.Sprintf("space %q in %s", s.settings.space, s.engine) }

// Info returns the Meta of the space as it is.
func (s *Space) Info(ctx context.Context) (Meta, error) {
	v, err := s.Look(ctx, nil, Page{})
	if err != nil {
		return Meta{}, err
	}
	return *v.Meta, nil
}

// Close makes later calls fail with an error that wraps fs.ErrClosed, and closes the engine.
func (s *Space) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.engine.Close()
}

func (s *Space) usable(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("store: %s: store %w", s, fs.ErrClosed)
	}
	return ctx.Err()
}

func (s *Space) failed(what string, err error) error {
	return fmt.Errorf("store: %s: space %q: %w", what, s.settings.space, err)
}

func (s *Space) noStore() error {
	return fmt.Errorf("%w: %s: randflake lease init makes one, as Create does", ErrNoStore, s)
}

func (s *Space) corrupt(err error) error {
	return fmt.Errorf("%w: %s: %w: nothing was changed: create another space, not as one for a new secret", ErrCorrupt, s, err)
}

// The entries of a space have its name before theirs.
const metaName = "meta"

func (s *Space) name(name string) string { return s.settings.space + "/" + name }

// page returns the page of the space's items, which are all but the meta entry, that page asks for.
func (s *Space) page(page Page) Page {
	if page.Limit == 0 {
		return page
	}
	to := s.settings.space + "0" // the byte after "/"
	if page.To != "" {
		to = s.name(page.To)
	}
	return Page{From: s.name(page.From), To: to, Limit: page.Limit}
}
