// Package document is an engine on anything that holds one document, and replaces it if it is the
// version that was read.
package document

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/backoff"
	"github.com/randflake/randflake/lease/internal/stored"
	"github.com/randflake/randflake/lease/internal/swap"
)

// A Backend holds the document. The engine adds to its errors where the document is, what failed,
// and that the context ended.
type Backend interface {
	// Check returns an error that wraps lease.ErrUnsafe where Put ignores tags. It is called
	// until it returns nil.
	Check(ctx context.Context) error

	// Get gets the document. It returns an error that wraps lease.ErrNoSpace if there is none.
	Get(ctx context.Context) (Document, error)

	// Put replaces the content if the document still has the tag, or creates it if the tag is empty.
	// It returns ErrChanged if nothing was changed and the caller should read again. An error that
	// wraps lease.ErrStore says that nothing was changed. After another one the outcome is unknown. It
	// must not send the content twice.
	Put(ctx context.Context, content []byte, tag string) (Document, error)

	// String says where the document is.
	String() string
}

// ErrChanged says that another process changed the document first.
var ErrChanged = errors.New("another process changed it first")

// A Document is one version of the document.
type Document struct {
	Content []byte    // may be missing after Put
	Tag     string    // of this version, such as an ETag; empty in a proxy's answer, which counts as failed
	Lineage string    // what the backend knows of it
	Made    time.Time // when this version was put, or zero if the backend does not know
	Date    time.Time // of the response, by the server's clock
}

// An Engine keeps entries in a document. It implements [lease.Engine].
type Engine struct {
	backend         Backend
	maxBytes        int                      // to which the content may grow
	lastSeen        atomic.Pointer[snapshot] // so that a Swap after a Read is one request
	checked, closed atomic.Bool
}

var _ lease.Engine = (*Engine)(nil)

// New returns an engine on a backend. It adds no entry if the content could then grow to more bytes
// than maxBytes, so that there is room to change those that it has.
func New(b Backend, maxBytes int) *Engine {
	return &Engine{backend: b, maxBytes: maxBytes}
}

// A content is that of the document, as JSON.
type content struct {
	Lineage  string            `json:"lineage"`
	Position uint64            `json:"position"`
	Written  time.Time         `json:"written"` // by the server's clock, shortly before the put
	Entries  map[string][]byte `json:"entries"`

	// Swap is random: a server may say that it put what is there already (RFC 9110, 13.1.1).
	Swap string `json:"swap"`

	others []byte // keys that this program does not know: see stored.Others
}

// A snapshot is what was seen of the document. It is never changed.
type snapshot struct {
	content content
	doc     Document
	seen    time.Time // by wallClock
}

// wallClock returns the time without the monotonic reading, which stands still while a machine sleeps.
func wallClock() time.Time { return time.Now().Round(0) }

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	snap, err := e.load(ctx)
	if err != nil {
		return lease.Answer{}, err
	}
	return snap.answer(names), nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	snap, err := e.load(ctx)
	if err != nil {
		return nil, err
	}
	return snap.answer(swap.List(snap.content.Entries, prefix, after, limit)).Entries, nil
}

// Swap implements [lease.Engine]. The first try goes by what was seen last, if that is as expected.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (answer lease.Answer, err error) {
	if err := e.checkUsable(ctx); err != nil {
		return answer, swap.Unmade(err)
	}
	recent := e.recentlySeen()
	err = e.retryChanged(ctx, func() (err error) {
		answer, err = e.trySwap(ctx, recent, expect, put)
		recent = nil // or it would be tried again
		return err
	})
	return answer, err
}

// trySwap makes a swap in the document as it is in recent, or as it is now if recent is nil or not as
// expected. It returns ErrChanged if the document has changed meanwhile.
func (e *Engine) trySwap(ctx context.Context, recent *snapshot, expect, put []lease.Entry) (lease.Answer, error) {
	if recent != nil && swap.Matches(recent.answer(swap.Names(expect)).Entries, expect) {
		return e.replace(ctx, recent, put)
	}
	seen, err := e.load(ctx)
	if err != nil {
		return lease.Answer{}, swap.Unmade(err)
	}
	found := seen.answer(swap.Names(expect))
	if !swap.Matches(found.Entries, expect) {
		return found, nil
	}
	return e.replace(ctx, seen, put)
}

// retryChanged repeats try while it returns ErrChanged, with pauses. If the context ends first, the error
// says that, and that others were faster. As many processes are in each other's way, the pauses grow,
// but only to 16 times what a try takes: those that swap all the time would keep out one that pauses longer.
func (e *Engine) retryChanged(ctx context.Context, try func() error) error {
	const mostTries = 2 // that make the next pause longer
	for tries := 1; ; tries = min(tries+1, mostTries) {
		began := time.Now()
		err := try()
		if !errors.Is(err, ErrChanged) {
			return err
		}
		err = swap.Pause(ctx, backoff.Most(tries, time.Since(began)))
		if err != nil {
			return swap.Unmade(fmt.Errorf("%s: %w: %w", e, backoff.ErrBusy, err))
		}
	}
}

// replace puts entries if the document is still as in snap, and otherwise returns ErrChanged.
func (e *Engine) replace(ctx context.Context, snap *snapshot, put []lease.Entry) (lease.Answer, error) {
	next := content{
		Lineage:  snap.content.Lineage,
		Position: snap.content.Position + 1,
		Written:  snap.doc.Date,
		Swap:     rand.Text(),
		Entries:  maps.Clone(snap.content.Entries),
		others:   snap.content.others,
	}
	for _, p := range put {
		next.Entries[p.Name] = append([]byte{}, p.Value...) // not nil, which would be no entry
	}
	if err := e.checkRoom(snap.content, next); err != nil {
		return lease.Answer{}, err
	}
	doc, err := e.put(ctx, next, snap.doc.Tag)
	if err != nil {
		return lease.Answer{}, swap.Unsent(err)
	}
	after := &snapshot{next, doc, wallClock()}
	e.lastSeen.Store(after)
	answer := after.answer(nil)
	answer.Swapped = true
	return answer, nil
}

// recentlySeen returns lastSeen, unless that was long ago.
func (e *Engine) recentlySeen() *snapshot {
	if snap := e.lastSeen.Load(); snap != nil && wallClock().Sub(snap.seen).Abs() < time.Minute {
		return snap
	}
	return nil
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	return e.retryChanged(ctx, func() error {
		_, err := e.load(ctx)
		if errors.Is(err, lease.ErrNoSpace) {
			first := content{Lineage: rand.Text(), Entries: map[string][]byte{}}
			_, err = e.put(ctx, first, "")
		}
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
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.checked.Load() {
		return nil
	}
	err := e.backend.Check(ctx)
	e.checked.Store(err == nil)
	return e.explain(ctx, "trial", err)
}

func (e *Engine) load(ctx context.Context) (*snapshot, error) {
	if err := e.checkUsable(ctx); err != nil {
		return nil, err
	}
	doc, err := e.backend.Get(ctx)
	if err := e.checkAnswer(ctx, "read", doc, err); err != nil {
		return nil, err
	}
	found, err := decode(doc.Content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: it has other content: nothing was changed: %w", e, lease.ErrCorrupt, err)
	}
	snap := &snapshot{found, doc, wallClock()}
	snap.markCopy()
	e.lastSeen.Store(snap)
	return snap, nil
}

// decode returns the content in a text. It must have what Prepare puts there.
func decode(text []byte) (c content, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, err
	}
	if c.Lineage == "" || c.Entries == nil {
		return c, errors.New("want a lineage and entries")
	}
	c.others, err = stored.Others(c, text)
	return c, err
}

// CopyAge tells copies: a document put more than CopyAge after its content was written is a copy that a
// person made. We assume that no server accepts a Put so long after the engine has decided to send it. If
// one does, as when the machine was suspended just before that, a loss of data is noted in vain.
const CopyAge = 20 * time.Minute

// markCopy gives a copy a lineage of its own: the random text of Prepare, which has 26 characters, and
// when the copy was made. The next swap stores it.
func (snap *snapshot) markCopy() {
	isCopy := !snap.content.Written.IsZero() && snap.doc.Made.Sub(snap.content.Written) > CopyAge
	if isCopy {
		snap.content.Lineage = fmt.Sprintf("%.26s-%d", snap.content.Lineage, snap.doc.Made.Unix())
	}
}

func (e *Engine) put(ctx context.Context, next content, tag string) (Document, error) {
	text, _ := stored.Encode(next, next.others) // can't fail on such fields
	doc, err := e.backend.Put(ctx, text, tag)
	return doc, e.checkAnswer(ctx, "write", doc, err)
}

// checkAnswer returns what is wrong with an answer of the backend, or nil.
func (e *Engine) checkAnswer(ctx context.Context, what string, doc Document, err error) error {
	if err == nil && doc.Tag == "" {
		err = errors.New("an answer without a version: is there a proxy before the server?")
	}
	return e.explain(ctx, what, err)
}

// explain says of a backend's error where it was and what failed. If the context ended, the error wraps that too.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", e, what, swap.Explain(err, swap.Ended(ctx)))
}

// answer has copies of the values, because a snapshot must not change.
func (snap *snapshot) answer(names []string) lease.Answer {
	answer := lease.Answer{Lineage: snap.content.Lineage + snap.doc.Lineage, Position: snap.content.Position}
	if !snap.doc.Date.IsZero() {
		// Dates are cut to seconds, and some servers write a new one once a second: so this is off
		// by a second at most.
		answer.Time = snap.doc.Date.Add(time.Second)
	}
	for _, name := range names {
		answer.Entries = append(answer.Entries, lease.Entry{Name: name, Value: bytes.Clone(snap.content.Entries[name])})
	}
	return answer
}
