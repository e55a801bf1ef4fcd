// Package store holds the durable state of the protocols that lease nodes and count numbers, on any [Engine]: a
// directory, SQLite, etcd, Redis, PostgreSQL, MariaDB or your own.
//
// An engine only compares and sets entries. This package adds what every protocol needs: spaces with limits, the
// current time by the server's clock, and the handling of lost data. A [Space] is a handle on one space. It compares
// each answer of the engine with what it saw before and with what is recorded in the space. If the data may have gone
// back in time, it first sets the floor of the space, durably. Nothing is granted that starts before the floor, so every
// forgotten grant has ended by then.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// A Space is a handle on a space of an engine. It is safe for concurrent use, and any number of processes may have
// handles on the same space.
type Space struct {
	engine   Engine
	settings settings
	closed   atomic.Bool
	opened   atomic.Pointer[View] // for Opened
	covering chan struct{}        // holds one token while a goroutine sets the floor

	mu   sync.Mutex
	seen sighting
}

// A sighting is the newest state of the space that this handle has seen.
type sighting struct {
	meta     *Meta
	value    []byte // of meta, as the engine has it
	lineage  string
	position uint64
	newest   int64     // the newest second of any item
	known    int64     // the same of items that were there with meta or before it, so that only a later floor must cover them
	server   time.Time // the server's clock, if it has one,
	at       time.Time // when the process's clock showed this
}

// Open opens the space that [WithSpace] names, or "default". If the engine has no such space it returns ErrNoStore, or
// creates the space if [OrCreate] is given. Close closes the engine too; if Open fails, the engine stays open.
func Open(ctx context.Context, engine Engine, options ...Option) (*Space, error) {
	s, err := newSpace(engine, options)
	if err != nil {
		return nil, err
	}
	if s.settings.newSecret || s.settings.from != nil || (s.settings.limitsGiven || len(s.settings.check) > 0) && !s.settings.orCreate {
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

// lookAround reads the first page of items. Their seconds reveal a slow clock, and if the page has all items of the
// space, the first change needs no further read.
func (s *Space) lookAround(ctx context.Context) error {
	v, err := s.Look(ctx, nil, Page{Limit: MaxPage})
	if err != nil {
		return err
	}
	if s.lossIn(sighting{}, v, v.evidence, false) == "" {
		s.opened.Store(v)
	}
	return nil
}

// Create makes a new space on engine. If the space exists, the error wraps fs.ErrExist.
//
// A new space can't know what an earlier space granted for the same secret. So its floor is MaxTTL + MaxSkew from now,
// eleven minutes with the default limits, and nothing is granted that starts before that. The limits must be at least
// as wide as those of every earlier space of the secret, because they bound how far its leases reach. If the secret is
// new, [ForNewSecret] avoids the wait.
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
	if set.through != nil {
		engine = set.through(engine)
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
	from := s.settings.from
	unfinished := false
	if from != nil {
		old, err := from.toMove(ctx)
		if err != nil {
			return err
		}
		s.settings.check, unfinished = old.Check, old.Moved != ""
	}
	own := s.claims(s.settings.check)
	first, err := s.engine.Read(ctx, append([]string{s.name(metaName)}, names(own)...), s.page(Page{Limit: 1}))
	if err != nil {
		return s.failed("create", err)
	}
	claims := first.Named[1:]
	switch {
	case first.Named[0].Value != nil:
		return fmt.Errorf("store: create: %s: %w: a space is never replaced: open it, or take another name", s, fs.ErrExist)
	case len(first.Page) > 0 && from != nil && !unfinished:
		return fmt.Errorf("store: create: %s: %w: entries of an earlier space are there: move to another name", s, ErrCorrupt)
	case len(first.Page) > 0 && s.settings.newSecret:
		return fmt.Errorf("store: create: %s: %w: entries of an earlier space are there, so the secret is not new to it: take another name, or leave ForNewSecret out", s, ErrCorrupt)
	}
	if claim, err := s.checkClaims(claims); err != nil {
		gone, failed := s.gone(ctx, claim)
		if !gone || s.settings.newSecret || s.settings.orCreate {
			return fmt.Errorf("store: create: %s: %w", s, cmp.Or(failed, err))
		}
	}
	m := &Meta{Format: Format, Incarnation: newToken(), Lineage: first.Lineage, Check: s.settings.check, Changes: 1}
	m.setLimits(s.settings.limits)
	switch {
	case from != nil:
		if m, err = s.take(ctx, from); err != nil {
			return err
		}
		m.Lineage, m.Check = first.Lineage, s.settings.check
	case !s.settings.newSecret:
		newest, err := s.newest(ctx, nil)
		if err != nil {
			return err
		}
		if err := s.raiseFloor(m, newest, s.present(first.Evidence).Unix()); err != nil {
			return fmt.Errorf("store: create: %s: %w; or take another name", s, err)
		}
	}
	value := m.encode()
	expect, put := append([]Entry{{Name: s.name(metaName)}}, claims...), append([]Entry{{s.name(metaName), value}}, own...)
	answer, err := s.engine.Swap(ctx, expect, put)
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

// String returns the name of the space and where its engine is, without passwords.
func (s *Space) String() string {
	if s.engine == nil {
		return "space that was not opened"
	}
	return fmt.Sprintf("space %q in %s", s.settings.space, s.engine)
}

// Info reads the Meta of the space.
func (s *Space) Info(ctx context.Context) (Meta, error) {
	v, err := s.Look(ctx, nil, Page{})
	if err != nil {
		return Meta{}, err
	}
	return *v.Meta, nil
}

// Close makes later calls fail with an error that wraps fs.ErrClosed, and closes the engine.
func (s *Space) Close() error {
	if s.closed.Swap(true) || s.engine == nil {
		return nil
	}
	return s.engine.Close()
}

func (s *Space) usable(ctx context.Context) error {
	if s.engine == nil {
		return fmt.Errorf("store: space was not opened: want one from Open or Create: %w", fs.ErrClosed)
	}
	if s.closed.Load() {
		return fmt.Errorf("store: %s: store %w", s, fs.ErrClosed)
	}
	return ctx.Err()
}

func (s *Space) failed(what string, err error) error {
	return fmt.Errorf("store: %s: space %q: %w", what, s.settings.space, err)
}

func (s *Space) noStore() error {
	return fmt.Errorf("%w: %s", ErrNoStore, s)
}

func (s *Space) corrupt(err error) error {
	if errors.Is(err, ErrFormat) {
		return fmt.Errorf("%w: %s", err, s)
	}
	return fmt.Errorf("%w: %s: %w: nothing was changed: create another store, not as one for a new secret", ErrCorrupt, s, err)
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
