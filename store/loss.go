package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

func (s *Space) sighting() sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// adopt makes v, which shows no loss, the newest sighting, unless there is a newer one by now. Positions before the newest
// floor don't count.
func (s *Space) adopt(v *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, e := s.seen.meta, v.evidence
	switch {
	case old == nil || old.Incarnation != v.Meta.Incarnation || old.LossID != v.Meta.LossID && old.Losses < v.Meta.Losses:
		s.seen.meta, s.seen.value = v.Meta, v.value
		s.seen.lineage, s.seen.position = e.Lineage, e.Position
		s.know(v)
		return
	case old.LossID != v.Meta.LossID:
		return
	}
	if old.Changes < v.Meta.Changes {
		s.seen.meta, s.seen.value = v.Meta, v.value
	}
	if s.seen.lineage != e.Lineage && !e.Kept {
		s.seen.position = 0
	}
	s.seen.lineage, s.seen.position = e.Lineage, max(s.seen.position, e.Position)
	s.know(v)
}

// know remembers the newest second of the items of v, which the next floor must cover. It is called with mu held.
func (s *Space) know(v *View) {
	for _, items := range [...][]Item{v.Items, v.Page} {
		for _, item := range items {
			if !s.seen.barred().Has(item.Second) {
				s.seen.known = max(s.seen.known, item.Second)
			}
		}
	}
}

// noteItems remembers the newest second of items.
func (s *Space) noteItems(items []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.barred().Has(s.seen.newest) {
		s.seen.newest = 0
	}
	for _, item := range items {
		if !s.seen.barred().Has(item.Second) {
			s.seen.newest = max(s.seen.newest, item.Second)
		}
	}
}

// noteClock remembers what the server's clock said.
func (s *Space) noteClock(e Evidence) {
	if e.Time.IsZero() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.server, s.seen.at = e.Time, time.Now()
}

func (v *sighting) barred() *Interval {
	if v.meta == nil {
		return nil
	}
	return v.meta.Barred
}

// lossIn says how an answer shows that data was lost, or returns "". before is the newest sighting at the time of the
// request.
//
// A floor set by another process also covers the losses that this handle saw: the handle doesn't know that floor, so it
// was set after the loss. This holds only if no other floor is missing, and not for evidence in the space itself.
func (s *Space) lossIn(before sighting, v *View, e Evidence, swapped bool) string {
	if v.Meta == nil {
		return "the space is gone"
	}
	if v.Meta.Lineage == noticed {
		return "a process noticed it whose clock is wrong"
	}
	copied := v.Meta.Lineage != e.Lineage && !s.settings.trustRecovery
	if copied && v.Now >= v.Meta.Failover {
		return fmt.Sprintf("the data is another copy, %q in place of %q", e.Lineage, v.Meta.Lineage)
	}
	if loss := lossSince(before, v, e, swapped); loss != "" || !copied {
		return loss
	}
	return plannedFailover
}

// plannedFailover is no loss: the data is the copy that PlanFailover has announced.
const plannedFailover = "failover, as planned"

// lossSince says how an answer shows that data was lost since the sighting before, or returns "".
func lossSince(before sighting, v *View, e Evidence, swapped bool) string {
	if before.meta == nil {
		return ""
	}
	if v.Meta.Incarnation != before.meta.Incarnation {
		if v.Meta.Predecessor == before.meta.Incarnation {
			return tooLow(before, v)
		}
		return "another space is in its place"
	}
	if v.Meta.LossID != before.meta.LossID {
		return floorIn(before, v)
	}
	if v.Meta.Changes < before.meta.Changes {
		return "the space's own entry went back in time"
	}
	if v.Meta.Changes == before.meta.Changes && !bytes.Equal(v.value, before.value) {
		return "the space's own entry is of another history"
	}
	lowest := before.position
	if swapped {
		lowest++ // or the swap was made on an older copy that is now as far
	}
	if kept := e.Lineage == before.lineage || e.Kept; kept && e.Position != 0 && e.Position < lowest {
		return fmt.Sprintf("the engine went back from position %d to %d", before.position, e.Position)
	}
	return ""
}

// floorIn says what is wrong with the floor in v, which another process has set, or returns "".
func floorIn(before sighting, v *View) string {
	if v.Meta.Losses <= before.meta.Losses {
		return "a floor that was set is gone"
	}
	return tooLow(before, v)
}

// tooLow says that a floor does not cover what this handle knew before, or returns "". A second that lies ahead of the
// clock counts for nothing: a clock was fast then.
func tooLow(before sighting, v *View) string {
	m := v.Meta
	if m.Floor < before.known+m.Limits().TTL() && before.known <= v.Now+m.MaxSkew && !m.Barred.Has(before.known) {
		return fmt.Sprintf("the floor at %s was set by a process that did not know of changes at %s", stamp(m.Floor), stamp(before.known))
	}
	return ""
}

// ReportLoss sets the floor for a loss of data that the engine does not show: an operator has restored a backup, or a
// protocol has seen a record that is newer than the stored one. Forgotten grants may still be in use, so from now on
// nothing is granted that starts before the floor, MaxTTL and MaxSkew from now, and no older lease is renewed. The reason
// is for error messages.
func (s *Space) ReportLoss(ctx context.Context, reason string) error {
	return s.coverLoss(ctx, reason, nil)
}

// coverLoss sets the floor for the loss that found shows, unless another process has set it; if found is nil, it sets the
// floor for the given reason.
func (s *Space) coverLoss(ctx context.Context, reason string, found *View) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	select {
	case s.covering <- struct{}{}:
		defer func() { <-s.covering }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for range tries {
		v, loss, err := s.read(ctx, nil, Page{})
		if err != nil {
			return err
		}
		if loss == "" && (reason == plannedFailover || found != nil && !hidden(found, v)) {
			s.adopt(v)
			return nil
		}
		done, err := s.setFloor(ctx, v, cmp.Or(loss, reason))
		if err != nil || done {
			return err
		}
	}
	return s.contended()
}

// hidden reports whether v can't show the loss again that found shows, as reads of the engine tell no position, or the swap
// that found is of raised it. But a floor that was set since would show.
func hidden(found, v *View) bool {
	again := found.swapped && found.evidence.Lineage == v.evidence.Lineage
	return found.Meta != nil && v.Meta != nil && v.Meta.LossID == found.Meta.LossID && (v.evidence.Position == 0 || again)
}

// setFloor sets the floor of the space that v shows, or makes the space anew if it is gone.
func (s *Space) setFloor(ctx context.Context, v *View, reason string) (done bool, err error) {
	if reason == plannedFailover {
		m := v.Meta.next()
		m.Lineage, m.Failover = v.evidence.Lineage, 0
		return s.putMeta(ctx, v.value, m)
	}
	m := s.mended(v)
	newest, err := s.newest(ctx, m.Barred)
	if err != nil {
		return false, err
	}
	if err := cmp.Or(v.Clock(), s.raiseFloor(m, newest, v.Now)); err != nil {
		s.leaveWord(ctx, v)
		return false, fmt.Errorf("%w: %s: %s", err, s, reason)
	}
	return s.putMeta(ctx, v.value, m)
}

// noticed replaces the lineage of a space if a process has noticed a loss of data but could not set the floor.
const noticed = "lost"

// leaveWord records the loss in the store, so that processes that never saw the lost data set the floor too.
func (s *Space) leaveWord(ctx context.Context, v *View) {
	if v.Meta == nil || v.Meta.Lineage == noticed {
		return
	}
	m := v.Meta.next()
	m.Lineage = noticed
	s.engine.Swap(ctx, []Entry{{s.name(metaName), v.value}}, []Entry{{s.name(metaName), m.encode()}})
}

// mended returns the Meta that replaces that of v when the floor is set. It covers everything that this handle has seen.
func (s *Space) mended(v *View) *Meta {
	before := s.sighting().meta
	var m *Meta
	if v.Meta == nil {
		m = before.next()
		m.Predecessor, m.Incarnation = m.Incarnation, newToken()
	} else if m = v.Meta.next(); before != nil && before.Incarnation != m.Incarnation {
		m.Predecessor = before.Incarnation
	}
	if before != nil {
		m.setLimits(m.Limits().wider(before.Limits()))
		if n := len(m.Check); n < len(before.Check) && slices.Equal(before.Check[:n], m.Check) { // added after the copy of the data was made
			m.Check = before.Check
		}
		m.Losses = max(m.Losses, before.Losses)
		m.Changes = max(m.Changes, before.Changes+1)
	}
	m.Losses++
	m.LossID, m.Lineage, m.Failover = newToken(), v.evidence.Lineage, 0
	return m
}

// putMeta replaces the meta entry, if it has the value before, by m, and makes the claim anew with it. The answer becomes the
// newest sighting, whatever was seen before.
func (s *Space) putMeta(ctx context.Context, before []byte, m *Meta) (done bool, err error) {
	value := m.encode()
	expect, put := []Entry{{s.name(metaName), before}}, []Entry{{s.name(metaName), value}}
	if own := s.claims(m.Check); len(own) > 0 {
		found, err := s.engine.Read(ctx, names(own), Page{})
		if err != nil {
			return false, s.failed("set the floor", err)
		}
		if _, err := s.checkClaims(found.Named); err != nil {
			return false, fmt.Errorf("%s: %w", s, err)
		}
		expect, put = append(expect, found.Named...), append(put, own...)
	}
	answer, err := s.engine.Swap(ctx, expect, put)
	if err != nil {
		return false, s.failed("set the floor", err)
	}
	if !answer.Swapped || answer.Lineage != m.Lineage {
		return false, nil
	}
	s.noteClock(answer.Evidence)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.meta, s.seen.value = m, value
	s.seen.lineage, s.seen.position = answer.Lineage, answer.Position
	return true, nil
}

// raiseFloor raises the floor of m so that every forgotten grant has ended by then. A slow clock must not set it too low.
// So the floor counts from the latest of the server's clock, the process's and the newest known second, and a clock that
// is behind that second is refused.
func (s *Space) raiseFloor(m *Meta, newest, present int64) error {
	if own := time.Now().Unix(); s.settings.clock == nil && own-present <= m.Limits().reach() {
		present = max(present, own)
	}
	if present < earliest || newest > present+m.MaxSkew {
		return fmt.Errorf("%w: it says %s, and something was granted at %s already: set it right; if it is right, a clock was ahead then: see randflake lease forgive-clock",
			ErrClock, stamp(present), stamp(newest))
	}
	m.Floor = max(m.Floor, max(present, newest)+m.Limits().reach())
	if m.Floor > farthest {
		return fmt.Errorf("%w: it says %s", ErrClock, stamp(present))
	}
	return nil
}

// PlanFailover says that within the window a complete copy of the data takes the place of the data: a replica that has every
// change, or the same files on another disk. The first change of lineage before until then sets no floor, provided that the
// copy was made after this call and that nothing else shows a loss of data. The caller promises that the copy lacks no change.
// A window below a second or above a day is ErrInvalidOption: an unplanned failover in that time counts as planned, too.
func (s *Space) PlanFailover(ctx context.Context, window time.Duration) (until time.Time, err error) {
	if window < time.Second || window > 24*time.Hour {
		return until, fmt.Errorf("%w: a window of %v for a failover: want 1s to 24h", ErrInvalidOption, window)
	}
	for range tries {
		v, err := s.Read(ctx, nil, Page{})
		if err != nil {
			return until, err
		}
		if err := v.Clock(); err != nil {
			return until, err
		}
		m := v.Meta.next()
		m.Lineage, m.Failover = v.evidence.Lineage, v.Now+int64(window/time.Second)
		if done, err := s.putMeta(ctx, v.value, m); err != nil || done {
			return time.Unix(m.Failover, 0).UTC(), err
		}
	}
	return until, s.contended()
}

// newest returns the newest second of all items, stored or seen, except barred seconds.
func (s *Space) newest(ctx context.Context, barred *Interval) (int64, error) {
	newest := s.sighting().newest
	if barred.Has(newest) {
		newest = 0
	}
	for item, err := range s.Items(ctx, "", "") {
		if err != nil {
			return 0, err
		}
		if !barred.Has(item.Second) {
			newest = max(newest, item.Second)
		}
	}
	return newest, nil
}

// ForgiveClock says that a clock was fast, that it first showed wrong times at from, and that the clock that the store
// uses is right now. Leases and floors that the fast clock has set, perhaps years ahead, no longer count. In exchange, the
// floor is set as after a loss of data, and the seconds from from to the newest one that the clock has set are never
// granted again, because what was granted there is not known.
func (s *Space) ForgiveClock(ctx context.Context, from time.Time) (barred Interval, err error) {
	for range tries {
		v, _, err := s.read(ctx, nil, Page{}) // a loss of data that shows gets its floor here
		if err != nil {
			return Interval{}, err
		}
		if err := v.Clock(); err != nil {
			return Interval{}, err
		}
		m := s.mended(v)
		newest, err := s.newest(ctx, nil)
		if err != nil {
			return Interval{}, err
		}
		floor := v.Now + m.Limits().reach()
		barred := Interval{From: from.Unix(), To: max(m.Floor, newest+m.Limits().reach()) + 1}
		if m.Barred != nil && m.Barred.To > v.Now {
			barred = Interval{From: min(barred.From, m.Barred.From), To: max(barred.To, m.Barred.To)}
		}
		if err := s.checkFrom(ctx, barred.From, floor, m.Barred); err != nil {
			return Interval{}, err
		}
		if barred.From >= barred.To {
			return Interval{}, fmt.Errorf("store: forgive clock: from %s: nothing was granted after that: the newest second is %s", stamp(barred.From), stamp(newest))
		}
		m.Floor, m.Barred = floor, &barred
		if done, err := s.putMeta(ctx, v.value, m); err != nil || done {
			return barred, err
		}
	}
	return Interval{}, s.contended()
}

// checkFrom returns an error unless from can be the first wrong time: everything that right clocks have granted ends before
// the floor, and each change after it that is left was made by a clock that was ahead by then. Earlier ones may be gone.
func (s *Space) checkFrom(ctx context.Context, from, floor int64, barred *Interval) error {
	first := int64(farthest)
	for item, err := range s.Items(ctx, "", "") {
		if err != nil {
			return err
		}
		if item.Second > floor && !barred.Has(item.Second) {
			first = min(first, item.Second)
		}
	}
	if from > floor && from <= first {
		return nil
	}
	advice := "no change that is left was made by a clock that was further ahead: wait until then"
	if first < farthest {
		advice = "a clock that was further ahead made a change at " + stamp(first) + ": take the first wrong time that it showed, which is no later"
	}
	return fmt.Errorf("store: forgive clock: from %s: want a time after %s, when everything that right clocks have granted is over; %s", stamp(from), stamp(floor), advice)
}
