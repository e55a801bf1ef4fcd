package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// A View is what one answer says of a space.
type View struct {
	// Now is the current Unix second, by the server's clock if it has one.
	Now int64

	Meta  *Meta  // read-only
	Items []Item // the named items, in that order; Body is nil if an item does not exist
	Page  []Item // the page, ordered by name

	value    []byte // of Meta
	loss     string
	evidence Evidence
	swapped  bool // v is of a Swap that took effect
	clockErr error
	offset   time.Duration
}

// Clock returns an error that wraps ErrClock if Now is obviously wrong, so that nothing may be granted by it: it lies
// before this code was written, or the clocks of server and process are too far apart.
func (v *View) Clock() error { return v.clockErr }

// ClockOffset returns how far the server's clock was ahead of this process's when the answer came, and whether the engine has
// a clock.
func (v *View) ClockOffset() (offset time.Duration, known bool) {
	return v.offset, !v.evidence.Time.IsZero()
}

// Find returns the named item.
func (v *View) Find(name string) Item {
	i := slices.IndexFunc(v.Items, func(item Item) bool { return item.Name == name })
	if i < 0 {
		return Item{Name: name}
	}
	return v.Items[i]
}

// Loss says how the answer shows that data was lost, or returns "". The next call that is to grant something sets the floor.
func (v *View) Loss() string {
	if v.loss == plannedFailover {
		return ""
	}
	return v.loss
}

// A Change is a change of a space that a protocol derives from a View.
type Change struct {
	Expect []Item // items of the View that must be unchanged
	Put    []Item // at least one, unless Body is not nil; those whose Body is nil are removed
	Body   []byte // the protocol's new Meta.Body, or nil to leave it
	Keys   Keys   // of the caller's secret, to whose first key the space is bound if it is bound to none; see View.CheckSecret

	ended   []Ended // the new Meta.Ended, or nil to leave it
	addKeys bool    // all Keys are to be those of the space
	claims  []Entry // the claims of the new keys, as the engine has them; nil if it has none
}

// Look reads the named items and a page. It changes nothing, even if it finds that data was lost.
func (s *Space) Look(ctx context.Context, names []string, page Page) (*View, error) {
	v, loss, err := s.read(ctx, names, page)
	if err == nil && v.Meta == nil {
		err = s.noStore()
	}
	if err != nil {
		return nil, err
	}
	if loss == "" || s.sighting().meta == nil { // evidence in the space itself is still there on the next read
		s.adopt(v)
	}
	return v, nil
}

// Read reads the named items and a page. If data was lost, it sets the floor first.
func (s *Space) Read(ctx context.Context, names []string, page Page) (*View, error) {
	for range tries {
		v, loss, err := s.read(ctx, names, page)
		if err != nil {
			return nil, err
		}
		if loss == "" {
			s.adopt(v)
			return v, nil
		}
		if err := s.coverLoss(ctx, loss, v); err != nil {
			return nil, err
		}
	}
	return nil, s.contended()
}

// tries is the maximum number of retries after a lost race. An engine that works needs a few.
const tries = 100

func (s *Space) contended() error {
	return fmt.Errorf("store: %s: changed each time that it was looked at: does the engine keep its word?", s)
}

// Assume returns a View of the space as this handle last saw it, with these items and the current time estimated from
// the last time of the server. It makes no request: a Swap fails if the assumption is wrong.
func (s *Space) Assume(items ...Item) *View {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Evidence{}
	if !s.seen.server.IsZero() {
		e.Time = s.seen.server.Add(time.Since(s.seen.at))
	}
	v := &View{Meta: s.seen.meta, value: s.seen.value, Items: items}
	s.setClock(v, e)
	return v
}

// Opened returns a View with the items of the space as Open read them, for the first change through a handle, and whether
// these are all. Like the View of Assume it may be outdated, so a change must expect every item that it depends on,
// including absent ones. Opened returns nil after any other call of the engine, and after more than a second.
func (s *Space) Opened() (v *View, all bool) {
	read := s.opened.Swap(nil)
	if read == nil {
		return nil, false
	}
	v = s.Assume(read.Page...)
	if age := v.Now - read.Now; age < 0 || age > 1 { // or a clock jumped
		return nil, false
	}
	return v, len(read.Page) < MaxPage-1
}

// Swap makes the change in one atomic and durable step if Meta and the expected items are as in view. Then done is true,
// and found is the space after the change, without items. Otherwise nothing changes, and found is the present state with
// the expected items. If data was lost, Swap sets the floor; if the change was made nevertheless, on what is left of the
// data, Swap returns ErrUnknownOutcome.
//
// After an error the outcome is unknown, and Swap does not try again.
func (s *Space) Swap(ctx context.Context, view *View, change Change) (done bool, found *View, err error) {
	if err := s.usable(ctx); err != nil {
		return false, nil, err
	}
	if view.Now > farthest { // no item could be read again
		return false, nil, view.clockErr
	}
	meta, metaValue := view.Meta, view.value
	if meta.Moved != "" {
		return false, nil, s.moved(meta)
	}
	expect := []Entry{{s.name(metaName), view.value}}
	put := make([]Entry, 0, len(change.Put)+1)
	keys := meta.Check
	switch {
	case change.addKeys:
		keys = change.Keys
	case len(keys) == 0: // holders without a secret may use the first key while another one makes IDs already
		keys = change.Keys[:min(1, len(change.Keys))]
	}
	own := s.claims(keys[len(meta.Check):])
	if len(own) > 0 || change.Body != nil || change.ended != nil {
		meta = meta.next()
		if len(own) > 0 {
			meta.Check = keys
			for i, claim := range own {
				expected := Entry{Name: claim.Name}
				if change.claims != nil {
					expected = change.claims[i]
				}
				expect, put = append(expect, expected), append(put, claim)
			}
		}
		if change.Body != nil {
			meta.Body = change.Body
		}
		if change.ended != nil {
			meta.Ended = change.ended
		}
		metaValue = meta.encode()
		put = append(put, Entry{s.name(metaName), metaValue})
	}
	for _, item := range change.Expect {
		expect = append(expect, Entry{s.name(item.Name), item.bytes(meta.Format)})
	}
	for _, item := range change.Put {
		put = append(put, Entry{s.name(item.Name), item.encode(meta.Format)})
	}
	s.opened.Store(nil)
	before := s.sighting()
	answer, err := s.engine.Swap(ctx, expect, put)
	if err != nil {
		return false, nil, s.failed("swap", err)
	}
	if len(own) > 0 && !answer.Swapped {
		found := slices.Clone(answer.Named[1 : 1+len(own)])
		if _, err := s.checkClaims(found); err != nil {
			return false, nil, fmt.Errorf("%s: %w", s, err)
		}
		if !slices.EqualFunc(found, expect[1:1+len(own)], func(a, b Entry) bool { return bytes.Equal(a.Value, b.Value) }) {
			change.claims = found
			return s.Swap(ctx, view, change)
		}
		answer.Named = slices.Delete(answer.Named, 1, 1+len(own))
	}
	if answer.Swapped { // then these are the entries, also where the engine doesn't say so
		answer.Named = []Entry{{s.name(metaName), metaValue}}
	}
	v, loss, err := s.inspect(before, answer)
	if err == nil && answer.Swapped {
		s.noteItems(change.Put)
	}
	switch {
	case err != nil:
		return false, nil, err
	case loss == "":
		seen := *v
		if answer.Swapped {
			seen.Items = change.Put
		}
		s.adopt(&seen)
		return answer.Swapped, v, nil
	}
	if err := s.coverLoss(ctx, loss, v); err != nil {
		if answer.Swapped { // no error that says that nothing was done
			err = fmt.Errorf("%w: %v", ErrUnknownOutcome, err)
		}
		return false, nil, err
	}
	if answer.Swapped {
		return false, nil, fmt.Errorf("%w: %s: %s", ErrUnknownOutcome, s, loss)
	}
	names := make([]string, len(change.Expect))
	for i, item := range change.Expect {
		names[i] = item.Name
	}
	v, err = s.Read(ctx, names, Page{})
	return false, v, err
}

// next returns a copy of m with the next version, to be changed.
func (m *Meta) next() *Meta {
	copied := *m
	copied.Changes++
	return &copied
}

// bytes returns the item as the engine has it.
func (i Item) bytes(format int) []byte {
	if i.value != nil || i.Body == nil {
		return i.value
	}
	return i.encode(format)
}

// read reads from the engine. If the answer shows that data was lost, loss says how. Meta is nil if the space is gone;
// a space that this handle has never seen is ErrNoStore.
func (s *Space) read(ctx context.Context, names []string, page Page) (v *View, loss string, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, "", err
	}
	full := make([]string, 0, len(names)+1)
	full = append(full, s.name(metaName))
	for _, name := range names {
		full = append(full, s.name(name))
	}
	s.opened.Store(nil)
	before := s.sighting()
	answer, err := s.engine.Read(ctx, full, s.page(page))
	if err != nil {
		return nil, "", s.failed("read", err)
	}
	return s.inspect(before, answer)
}

// inspect makes a View of an answer. before is the newest sighting at the time of the request.
func (s *Space) inspect(before sighting, answer Answer) (*View, string, error) {
	v := &View{evidence: answer.Evidence, swapped: answer.Swapped}
	if value := answer.Named[0].Value; value != nil {
		v.value = value
		if before.meta != nil && bytes.Equal(value, before.value) {
			v.Meta = before.meta
		} else {
			m, err := decodeMeta(value)
			if err != nil {
				return nil, "", s.corrupt(err)
			}
			v.Meta = m
		}
		if v.Meta.Moved != "" && !s.settings.forMove {
			return nil, "", s.moved(v.Meta)
		}
	}
	prefix := len(s.name(""))
	for _, entry := range answer.Named[1:] {
		item, err := decodeItem(entry.Name[prefix:], entry.Value)
		if err != nil {
			return nil, "", s.corrupt(err)
		}
		v.Items = append(v.Items, item)
	}
	for _, entry := range answer.Page {
		if entry.Name == s.name(metaName) {
			continue
		}
		item, err := decodeItem(entry.Name[prefix:], entry.Value)
		if err != nil {
			return nil, "", s.corrupt(err)
		}
		v.Page = append(v.Page, item)
	}
	if v.Meta == nil && before.meta == nil {
		return nil, "", s.noStore()
	}
	s.noteItems(v.Items)
	s.noteItems(v.Page)
	s.noteClock(answer.Evidence)
	s.setClock(v, answer.Evidence)
	v.loss = s.lossIn(before, v, answer.Evidence, answer.Swapped)
	return v, v.loss, nil
}

// setClock sets the current time of v.
func (s *Space) setClock(v *View, e Evidence) {
	now := s.present(e)
	v.Now, v.offset = now.Unix(), time.Until(e.Time)
	if v.Now < earliest || v.Now > farthest {
		v.clockErr = fmt.Errorf("%w: it says %s: set it right", ErrClock, stamp(v.Now))
		return
	}
	if v.Meta == nil || e.Time.IsZero() || s.settings.clock != nil {
		return
	}
	limits := v.Meta.Limits()
	if apart := v.offset.Abs(); apart > limits.MaxTTL+limits.MaxSkew {
		v.clockErr = fmt.Errorf("%w: the server's says %s, that of this machine is %v off: set the wrong one right", ErrClock, stamp(v.Now), apart.Round(time.Second))
	}
}

// present returns the current time by the clock that counts: the one of WithClock, the server's, or the system's.
func (s *Space) present(e Evidence) time.Time {
	switch {
	case s.settings.clock != nil:
		return s.settings.clock()
	case !e.Time.IsZero():
		return e.Time
	}
	return time.Now()
}

// stamp returns a Unix second as a time.
func stamp(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
