// Package document is an engine on anything that holds one document, and replaces it if it is the
// version that was read.
package document

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/backoff"
	"github.com/randflake/randflake/lease/internal/entry"
	"github.com/randflake/randflake/lease/internal/swap"
)

// A Backend holds the document. The engine adds to its errors where the document is, what failed,
// and that the context ended.
type Backend interface {
	// Check returns an error that wraps lease.ErrUnsafe where Put ignores versions. It is called
	// until it returns nil.
	Check(ctx context.Context) error

	// Get gets the document. It returns an error that wraps lease.ErrNoSpace if there is none.
	Get(ctx context.Context) (Document, error)

	// Put replaces the content if the document still has the version, or creates it if the version
	// is empty. It returns ErrChanged if nothing was changed and the caller should read again. An
	// error that wraps lease.ErrStore says that nothing was changed. After another one the outcome
	// is unknown. It must not send the content twice.
	Put(ctx context.Context, content []byte, version string) (Document, error)

	// String says where the document is.
	String() string
}

// ErrChanged says that others changed the document first.
var ErrChanged = backoff.ErrBusy

// Refused reports whether a status of HTTP says that a server changed nothing, as it may not, or
// doesn't know how to. A timeout may be a proxy's.
func Refused(status int) bool {
	switch status {
	case http.StatusRequestTimeout:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return status/100 == 4
}

// A Document is one version of the document.
type Document struct {
	Content []byte    // may be missing after Put
	Version string    // empty if the answer can't be the server's, but a proxy's: then it counts as failed
	Lineage string    // what the backend knows of it
	Made    time.Time // when this version was put, or zero if the backend does not know
	Date    time.Time // of the response, by the server's clock
}

// CopyAge is how much younger than its content a document must be to be a copy. We assume that no
// server accepts a Put so long after it was sent.
const CopyAge = 20 * time.Minute

// An Engine keeps entries in a document. It implements [lease.Engine].
type Engine struct {
	backend         Backend
	most            int                     // bytes to which the content may grow
	last            atomic.Pointer[version] // that was seen, so that a Swap after a Read is one request
	checked, closed atomic.Bool
}

var _ lease.Engine = (*Engine)(nil)

// New returns an engine on a backend. It adds no entry if the content could then grow to more bytes
// than most, so that there is room to change those that it has.
func New(b Backend, most int) *Engine {
	return &Engine{backend: b, most: most}
}

// A state is the content, as JSON.
type state struct {
	Lineage  string            `json:"lineage"`
	Position uint64            `json:"position"`
	Written  time.Time         `json:"written"` // by the server's clock, shortly before
	Swap     string            `json:"swap"`    // random: a server may say that it put what is there already (RFC 9110, 13.1.1)
	Entries  map[string][]byte `json:"entries"`
}

// A version is what was seen of the document. It is never changed.
type version struct {
	state
	Document
	seen time.Time
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	v, err := e.load(ctx)
	if err != nil {
		return lease.Answer{}, err
	}
	return v.answer(names), nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	v, err := e.load(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v.Entries)) {
		if strings.HasPrefix(name, prefix) && name > after {
			names = append(names, name)
		}
	}
	return v.answer(names[:min(limit, len(names))]).Entries, nil
}

// Swap implements [lease.Engine]. It compares with the version that was seen last. If that or the
// document differs, it looks again.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (a lease.Answer, err error) {
	if err := e.checkUsable(ctx); err != nil {
		return a, swap.Unmade(err)
	}
	v := e.recent()
	if v != nil && !swap.Matches(v.answer(swap.Names(expect)).Entries, expect) {
		v = nil
	}
	err = e.repeat(ctx, func() error {
		a, err = e.swapIn(ctx, v, expect, put)
		v = nil
		return err
	})
	return a, err
}

// swapIn makes a swap in version v of the document, or in the present one if v is nil.
func (e *Engine) swapIn(ctx context.Context, v *version, expect, put []lease.Entry) (lease.Answer, error) {
	if v == nil {
		var err error
		v, err = e.load(ctx)
		if err != nil {
			return lease.Answer{}, swap.Unmade(err)
		}
	}
	found := v.answer(swap.Names(expect))
	if !swap.Matches(found.Entries, expect) {
		return found, nil
	}
	return e.replace(ctx, v, put)
}

// repeat tries again after a pause if others were faster. If the context ends first, the error says
// both. The processes of all spaces are in each other's way, so the pause grows, but only to 16
// times what a try takes: those that swap all the time would keep out one that pauses longer.
func (e *Engine) repeat(ctx context.Context, try func() error) error {
	const mostTries = 2 // that make the next pause longer
	for tries := 1; ; tries++ {
		began := time.Now()
		err := try()
		if !errors.Is(err, ErrChanged) {
			return err
		}
		if err := swap.Pause(ctx, backoff.Most(min(tries, mostTries), time.Since(began))); err != nil {
			return swap.Unmade(fmt.Errorf("%s: %w: %w", e, ErrChanged, err))
		}
	}
}

// replace puts entries if the document is still version v, and otherwise returns ErrChanged.
func (e *Engine) replace(ctx context.Context, v *version, put []lease.Entry) (lease.Answer, error) {
	next := state{
		Lineage:  v.state.Lineage,
		Position: v.Position + 1,
		Written:  v.Date,
		Swap:     rand.Text(),
		Entries:  maps.Clone(v.Entries),
	}
	for _, p := range put {
		next.Entries[p.Name] = append([]byte{}, p.Value...)
	}
	if err := e.checkRoom(v.state, next); err != nil {
		return lease.Answer{}, err
	}
	d, err := e.put(ctx, next, v.Version)
	if err != nil {
		return lease.Answer{}, swap.Unsent(err)
	}
	after := &version{next, d, time.Now().Round(0)}
	e.last.Store(after)
	a := after.answer(nil)
	a.Swapped = true
	return a, nil
}

// checkRoom returns an error if next has further entries, with which the content could grow too
// large.
func (e *Engine) checkRoom(before, next state) error {
	if len(next.Entries) <= len(before.Entries) {
		return nil
	}
	spaces, size := before.grown()
	_, after := next.grown()
	if after <= max(size, e.most) {
		return nil
	}
	return fmt.Errorf("%w: %s: full: its %d spaces, with their counters, can grow to %d of %d bytes: "+
		"keep further ones in another store",
		lease.ErrStore, e, spaces, size, e.most)
}

// grown returns how many spaces the content has, and how many bytes when all have aged. A space
// counts with all its entries from the first one on, with which a move announces it.
func (s *state) grown() (spaces, size int) {
	seen := map[string]bool{}
	for name, value := range s.Entries {
		space, record, _ := strings.Cut(name, "/")
		if !seen[space] {
			seen[space] = true
			size += sizeOf(space+"/"+entry.Meta, entry.MaxMeta) + sizeOf(space+"/"+entry.Leases, entry.MaxLeases)
		}
		if record != entry.Meta && record != entry.Leases {
			size += sizeOf(name, len(value)+entry.Growth)
		}
	}
	return len(seen), size
}

// sizeOf returns how many bytes an entry is in the content.
func sizeOf(name string, value int) int {
	return len(name) + base64.StdEncoding.EncodedLen(value) + len(`"":"",`)
}

// recent returns what was seen last, unless that was long ago by the wall clock, which goes on
// while a machine sleeps.
func (e *Engine) recent() *version {
	if v := e.last.Load(); v != nil && time.Now().Round(0).Sub(v.seen).Abs() < time.Minute {
		return v
	}
	return nil
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	return e.repeat(ctx, func() error {
		_, err := e.load(ctx)
		if !errors.Is(err, lease.ErrNoSpace) {
			return err
		}
		first := state{Lineage: rand.Text(), Entries: map[string][]byte{}}
		_, err = e.put(ctx, first, "")
		return err
	})
}

// Close implements [lease.Engine].
func (e *Engine) Close() error {
	e.closed.Store(true)
	return nil
}

// String says where the document is.
func (e *Engine) String() string { return e.backend.String() }

func (e *Engine) checkUsable(ctx context.Context) error {
	if e.closed.Load() {
		return fmt.Errorf("%s: %w", e, fs.ErrClosed)
	}
	if ctx.Err() != nil || e.checked.Load() {
		return ctx.Err()
	}
	err := e.backend.Check(ctx)
	e.checked.Store(err == nil)
	return e.failed(ctx, "trial", err)
}

func (e *Engine) load(ctx context.Context) (*version, error) {
	if err := e.checkUsable(ctx); err != nil {
		return nil, err
	}
	d, err := e.backend.Get(ctx)
	if err := e.answered(ctx, "read", d, err); err != nil {
		return nil, err
	}
	v := &version{Document: d, seen: time.Now().Round(0)}
	err = json.Unmarshal(d.Content, &v.state)
	if err != nil || v.state.Lineage == "" || v.Entries == nil {
		return nil, fmt.Errorf("%s: %w: it has other content: nothing was changed: %v", e, lease.ErrCorrupt, err)
	}
	if !v.Written.IsZero() && d.Made.Sub(v.Written) > CopyAge {
		v.state.Lineage = fmt.Sprintf("%.26s-%d", v.state.Lineage, d.Made.Unix())
	}
	e.last.Store(v)
	return v, nil
}

func (e *Engine) put(ctx context.Context, s state, version string) (Document, error) {
	content, _ := json.Marshal(s) // can't fail on such fields
	d, err := e.backend.Put(ctx, content, version)
	return d, e.answered(ctx, "write", d, err)
}

func (e *Engine) answered(ctx context.Context, what string, d Document, err error) error {
	if err == nil && d.Version == "" {
		err = errors.New("an answer without a version: is there a proxy before the server?")
	}
	return e.failed(ctx, what, err)
}

// failed says of a backend's error where it was and what failed. If the context ended, the error
// wraps that too.
func (e *Engine) failed(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	ended := swap.Ended(ctx)
	if ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return fmt.Errorf("%s: %s: %w", e, what, err)
}

// answer has copies of the values, because the cached version must not change.
func (v *version) answer(names []string) lease.Answer {
	a := lease.Answer{Lineage: v.state.Lineage + v.Document.Lineage, Position: v.Position}
	if !v.Date.IsZero() {
		// Dates are cut to seconds, and some servers write a new one once a second: so this is off
		// by a second at most.
		a.Time = v.Date.Add(time.Second)
	}
	for _, name := range names {
		a.Entries = append(a.Entries, lease.Entry{Name: name, Value: bytes.Clone(v.Entries[name])})
	}
	return a
}
