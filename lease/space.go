package lease

// Why no second of a node has two users, in ten sentences.
//
//  1. Time is cut into windows of W seconds, and for each window K the space has one number: how many nodes were taken.
//  2. A lease is the run of nodes by which one compare-and-swap raised that number, for the seconds of K and no others.
//  3. The number of a window only grows, so two leases of K share no node, whatever clocks do, and leases of two windows
//     share no second.
//  4. Old numbers are not removed but merged with their neighbours into the highest of them (see numbers), so they also only
//     grow, in bounded space.
//  5. A lease is used only after the engine has acknowledged it as durable; when the outcome is unknown it is never used.
//  6. Every swap also expects the meta entry unchanged, so no take that was decided before a loss of data was noted can
//     take effect after that.
//  7. A loss shows by another lineage, by a position or a number below the one that this handle's last swap made durable, or by
//     an older meta entry; where the lineage stays, a process that took nothing of what was lost can't tell, and a person must
//     report it.
//  8. No lease is granted more than Ahead windows beyond the clock of the process that takes it, and two clocks differ by MaxSkew
//     at most; so whoever notes the loss raises low, which never falls, above every window that a forgotten lease can be of.
//  9. Below low nothing is granted, so what was forgotten stays the property of those who have it.
// 10. Outside of this are the six cases of "When IDs can repeat" in docs/leases.md, such as a loss that nobody notices or
//     reports, and a copy of a process that the machine does not announce.

import (
	"bytes"
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"regexp"
	"sync"
	"time"

	"github.com/randflake/randflake"
)

// Limits are fixed when a space is created.
type Limits struct {
	Nodes   uint32        // of the layout: 131,072 for Randflake, 1,024 for Snowflake; every node number is below
	Window  time.Duration // whole seconds, 60 by default
	Ahead   int64         // how many windows beyond the present one a process may take, 1 to 32; 5 by default
	MaxSkew time.Duration // the most by which two clocks of the space may differ, those of processes or servers; 1 min by default
}

const maxAhead = 32 // fits into steps beside the windows before

func (l Limits) check() (Limits, error) {
	l.Nodes, l.Ahead = cmp.Or(l.Nodes, randflake.MaxNode+1), cmp.Or(l.Ahead, 5)
	l.Window, l.MaxSkew = cmp.Or(l.Window, time.Minute), cmp.Or(l.MaxSkew, time.Minute)
	switch {
	case l.Nodes > randflake.MaxNode+1:
		return l, fmt.Errorf("%w: %d nodes: want 1 to %d", ErrInvalid, l.Nodes, randflake.MaxNode+1)
	case l.Window < time.Second || l.Window > 24*time.Hour || l.Window%time.Second != 0:
		return l, fmt.Errorf("%w: window of %v: want whole seconds, 1s to 24h", ErrInvalid, l.Window)
	case l.Ahead < 1 || l.Ahead > maxAhead:
		return l, fmt.Errorf("%w: %d windows ahead: want 1 to %d", ErrInvalid, l.Ahead, maxAhead)
	case l.MaxSkew < 0 || l.MaxSkew > 24*time.Hour || l.MaxSkew%time.Second != 0:
		return l, fmt.Errorf("%w: max skew of %v: want whole seconds, up to 24h", ErrInvalid, l.MaxSkew)
	}
	return l, nil
}

// meta is the entry that every swap expects. It changes only when data was lost.
type meta struct {
	Format int `json:"format"`
	Limits
	Check string `json:"check,omitempty"` // of the secret

	ID      string `json:"id"`      // random, new with each loss: within one ID all else only grows
	Losses  int    `json:"losses"`  // how often the floor was set
	Low     int64  `json:"low"`     // no window before it is granted
	Lineage string `json:"lineage"` // of the data
	Why     string `json:"why,omitempty"`
}

const format = 1

// noted is the lineage of a space where a process has seen a loss but could not set the floor, as the clocks differ.
const noted = "lost"

// A Space is a handle on a space of an engine. It is safe for concurrent use.
type Space struct {
	engine Engine
	name   string
	now    func() time.Time
	pause  func(context.Context, time.Duration) error
	rules  rules

	mu   sync.Mutex
	seen knowledge
}

// knowledge is what a handle knows to be durable: the space as of the newest swap that it made, with what others had
// written by then. A later answer that shows less shows a loss.
type knowledge struct {
	meta     *meta
	raw      []byte // of meta
	position uint64
	newest   int64             // window that was seen taken: a floor that another process sets must be later
	values   map[string][]byte // of entries
}

// A Config says which space it is, and for Create what it is like. The zero value is the space "default", for any IDs.
type Config struct {
	Name   string           // 1 to 40 bytes of a-z, 0-9, "-", "_" and "."; "default" if empty
	Clock  func() time.Time // the process's; nil for the system's
	Limits Limits           // for Create: a zero value stands for the default

	// Check is the check value of the secret whose IDs the leases are for, for Create: other secrets are refused. Zero for none.
	Check [8]byte

	// New says that nothing was ever leased for these IDs, so that leases begin at once. Otherwise Create lets no lease begin
	// before all have ended that an earlier space of these limits can have granted.
	New bool
}

var spaceName = regexp.MustCompile(`^[a-z0-9._-]{1,40}$`)

// openTimeout bounds Open and Create, as some engines wait for their server for as long as they may.
const openTimeout = 10 * time.Second

// Open returns a handle on a space of an engine. It returns ErrNoSpace if there is none. It takes ten seconds at most.
func Open(ctx context.Context, engine Engine, config Config) (*Space, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	v, err := s.read(ctx, leasesEntry)
	switch {
	case err != nil:
		return nil, err
	case v.meta == nil:
		return nil, fmt.Errorf("%w: %s: make it first", ErrNoSpace, s)
	}
	s.seen.meta = v.meta // for its limits; nothing else of it is known to be durable
	return s, nil
}

// Create makes a space and returns a handle on it. It returns ErrExists if there is one. It takes ten seconds at most.
func Create(ctx context.Context, engine Engine, config Config) (*Space, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	limits, err := config.Limits.check()
	if err != nil {
		return nil, err
	}
	if err := engine.Prepare(ctx); err != nil {
		return nil, s.failed("prepare", err)
	}
	v, err := s.read(ctx, leasesEntry)
	if err != nil {
		return nil, err
	}
	if v.meta != nil {
		return nil, fmt.Errorf("%w: %s: a space is never replaced: open it, or take another name", ErrExists, s)
	}
	m := &meta{Format: format, Limits: limits, ID: cryptorand.Text(), Lineage: v.Lineage}
	if config.Check != [8]byte{} {
		m.Check = hex.EncodeToString(config.Check[:])
	}
	if err := v.clockError(m); err != nil {
		return nil, err
	}
	if !config.New {
		m.Low, m.Why = s.rules.floor(m, v), "created for IDs that were in use"
	}
	if done, err := s.putMeta(ctx, v, m); err != nil || !done {
		return nil, cmp.Or(err, fmt.Errorf("%w: %s: another process was faster: open it", ErrExists, s))
	}
	return s, nil
}

func newSpace(engine Engine, config Config) (*Space, error) {
	s := &Space{engine: engine, name: cmp.Or(config.Name, "default"), now: config.Clock, pause: sleep, rules: theRules}
	if s.now == nil {
		s.now = time.Now
	}
	if !spaceName.MatchString(s.name) {
		return nil, fmt.Errorf("%w: space %q: want a name of 1 to 40 of a-z, 0-9, dash, underscore and dot", ErrInvalid, s.name)
	}
	return s, nil
}

// CheckSecret returns ErrSecret if the space is for IDs of another secret than that of the check value.
func (s *Space) CheckSecret(check [8]byte) error {
	m := s.ask("").seen.meta
	if own := hex.EncodeToString(check[:]); m.Check != "" && m.Check != own {
		return fmt.Errorf("%w: %s: its check value is %s, that of the secret is %s: is it the secret of another environment?", ErrSecret, s, m.Check, own)
	}
	return nil
}

// Close closes the engine.
func (s *Space) Close() error { return s.engine.Close() }

// Info is what people want to know of a space.
type Info struct {
	Limits
	Check  string    // value of the secret, in hexadecimal, or ""
	Losses int       // how often a loss of data was noted
	Low    time.Time // before which no lease begins, and
	Why    string    // why
	Taken  uint32    // how many nodes of the present window are taken
	Time   time.Time // by the server's clock, or zero if it has none
}

// Info reads the space. Its clock error is that of Take.
func (s *Space) Info(ctx context.Context) (Info, error) {
	v, err := s.read(ctx, leasesEntry)
	switch {
	case err != nil:
		return Info{}, err
	case v.meta == nil:
		return Info{}, fmt.Errorf("%w: %s", ErrNoSpace, s)
	}
	m := v.meta
	info := Info{Limits: m.Limits, Check: m.Check, Losses: m.Losses, Low: m.start(m.Low), Why: m.Why, Time: v.Time}
	taken, err := decodeNumbers(v.value)
	if err != nil {
		return info, err
	}
	info.Taken = taken.at(m.WindowOf(v.to))
	return info, v.clockError(m)
}

// Limits returns the limits of the space.
func (s *Space) Limits() Limits { return s.ask("").seen.meta.Limits }

// String says where the space is.
func (s *Space) String() string { return fmt.Sprintf("space %q in %s", s.name, s.engine) }

// ReportLoss says that data was lost where the engine can't show it: an older backup is back under the same lineage. From
// now on nothing is granted before the floor.
func (s *Space) ReportLoss(ctx context.Context, why string) error {
	for {
		v, err := s.read(ctx, leasesEntry)
		if err != nil {
			return err
		}
		if err := s.setFloor(ctx, v.id(), why); !errors.Is(err, errAgain) {
			return err
		}
	}
}

// A view is an answer about the space and one entry of it.
type view struct {
	Answer
	meta  *meta // nil if there is no space
	raw   []byte
	name  string
	value []byte // of the entry
	from  time.Time
	to    time.Time // by the process's clock, between which the answer was made
	seen  knowledge // before the question
	known []byte    // value of the entry in it
}

// update changes one entry of the space by compare-and-swap. It is all that leases and counters have in common. decide returns
// the new value for what it is shown. wentBack says whether a value is older than another one that was stored under its name.
func (s *Space) update(ctx context.Context, name string, wentBack func(m *meta, was, is []byte) bool, decide func(*view) ([]byte, error)) error {
	var v *view
	for try := 0; ; try++ {
		if v == nil {
			var err error
			if v, err = s.read(ctx, name); err != nil {
				return err
			}
		}
		if loss := s.rules.loss(v, wentBack); loss != "" {
			if err := s.cover(ctx, v, loss); err != nil {
				return err
			}
			v = nil
			continue
		}
		value, err := decide(v)
		if err != nil {
			return err
		}
		begun := time.Now()
		after, err := s.swap(ctx, v, Entry{name, value})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if !after.Swapped {
			if v = after; try == 0 {
				continue // at once, by what is there now
			}
			// Many want the same entry: the longer it took, the more they are. After the pause it reads again, because the entry has
			// probably changed.
			if err := s.pause(ctx, mathrand.N(min(max(time.Since(begun), 5*time.Millisecond)<<min(2*try, 12), 8*time.Second))); err != nil {
				return fmt.Errorf("lease: %s: changed each time that it was looked at: %w", s, err)
			}
			v = nil
			continue
		}
		if loss := s.rules.loss(after, wentBack); loss != "" { // the swap was made on what is left of the data
			return cmp.Or(s.cover(ctx, after, loss), fmt.Errorf("%w: data was lost meanwhile: %s", ErrUnknown, loss))
		}
		s.adopt(after, wentBack)
		return nil
	}
}

func (s *Space) read(ctx context.Context, name string) (*view, error) {
	v := s.ask(name)
	var err error
	if v.Answer, err = s.engine.Read(ctx, s.entry(metaEntry), s.entry(name)); err != nil {
		return nil, s.failed("read", err)
	}
	return v, v.open(s)
}

// swap puts an entry if it and the space are as in v, and returns what is there then.
func (s *Space) swap(ctx context.Context, v *view, put Entry) (*view, error) {
	after := s.ask(v.name)
	expect := []Entry{{s.entry(metaEntry), v.raw}, {s.entry(v.name), v.value}}
	name := put.Name
	put.Name = s.entry(name)
	var err error
	if after.Answer, err = s.engine.Swap(ctx, expect, []Entry{put}); err != nil {
		return nil, s.failed("swap", err)
	}
	if after.Swapped {
		if after.Entries = expect; name == metaEntry {
			expect[0] = put
		} else {
			expect[1] = put
		}
	}
	return after, after.open(s)
}

// open decodes the answer.
func (v *view) open(s *Space) error {
	v.to = s.now()
	v.raw, v.value = v.Entries[0].Value, v.Entries[1].Value
	if v.raw == nil {
		return nil
	}
	if bytes.Equal(v.raw, v.seen.raw) {
		v.meta = v.seen.meta
		return nil
	}
	v.meta = new(meta)
	err := json.Unmarshal(v.raw, v.meta)
	if err == nil && v.meta.Format != format {
		err = fmt.Errorf("its format is %d, and this program knows %d", v.meta.Format, format)
	}
	if err == nil {
		var limits Limits
		if limits, err = v.meta.Limits.check(); err == nil && limits != v.meta.Limits {
			err = errors.New("a limit is missing")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, s, err)
	}
	if before := v.seen.meta; before != nil && (before.Limits != v.meta.Limits || before.Check != v.meta.Check) { // its windows may be others
		return fmt.Errorf("%w: %s was made anew, with other limits or for another secret: start this program again", ErrNoSpace, s)
	}
	return nil
}

// clockError returns an error that wraps ErrClock unless the clocks of process and server can both be right.
func (v *view) clockError(m *meta) error {
	switch off := v.Time.Sub(v.from); {
	case v.from.Unix() < randflake.Epoch:
		return fmt.Errorf("%w: this machine's says %s", ErrClock, v.from.UTC().Format(time.RFC3339))
	case !v.Time.IsZero() && (off < -m.MaxSkew || v.Time.Sub(v.to) > m.MaxSkew):
		return fmt.Errorf("%w: the server's is %v ahead of this machine's: want at most %v between them: set the wrong one right", ErrClock, off.Round(time.Second), m.MaxSkew)
	}
	return nil
}

// rules are the decisions on which uniqueness rests, so that the explorer can replace one by a wrong one.
type rules struct {
	loss  func(v *view, wentBack func(m *meta, was, is []byte) bool) string
	floor func(m *meta, v *view) int64
	raise func(low, floor int64) int64
	last  func(m *meta, v *view) int64       // that may be taken
	room  func(m *meta, taken uint32) uint32 // nodes that are left in a window
	merge func(a, b uint32) uint32           // the number of two steps that become one,
	steps int                                // as there are more than this
	lease func(m *meta, window int64, first, n uint32) randflake.Lease
	mine  func(err error) bool // whether a take took effect
}

var theRules = rules{
	loss: lossIn, floor: floor, last: lastWindow, lease: leaseOf, steps: maxSteps,
	raise: func(low, floor int64) int64 { return max(low, floor) },
	room:  func(m *meta, taken uint32) uint32 { return m.Nodes - min(taken, m.Nodes) },
	merge: func(a, b uint32) uint32 { return max(a, b) },
	mine:  func(err error) bool { return err == nil },
}

// lossIn says how an answer shows that data was lost, or returns "".
//
// If the ID changed, another process has noted a loss. That is fine if its floor is above every window that this handle saw taken.
func lossIn(v *view, wentBack func(m *meta, was, is []byte) bool) string {
	before, m, least := v.seen.meta, v.meta, v.seen.position
	if v.Swapped {
		least++ // or the swap was made on an older copy, and brought it to the same position
	}
	switch {
	case m == nil:
		return "the space is gone"
	case m.Lineage != v.Lineage:
		return fmt.Sprintf("the data is another copy, %q in place of %q", v.Lineage, m.Lineage)
	case m.ID != before.ID:
		if m.Losses > before.Losses && (m.Low > v.seen.newest || v.seen.newest > reach(m, v)) { // the second case: this process's clock was fast
			return ""
		}
		return "the space is older than the last loss, or was made anew"
	case v.Position != 0 && v.Position < least:
		return fmt.Sprintf("the data went back from position %d to %d", v.seen.position, v.Position)
	case older(m, v.known, v.value, wentBack):
		return v.name + " went back"
	}
	return ""
}

// older reports whether a value is older than one that was seen.
func older(m *meta, seen, found []byte, wentBack func(m *meta, was, is []byte) bool) bool {
	return seen != nil && !bytes.Equal(seen, found) && wentBack(m, seen, found)
}

// floor returns the first window that may be granted after a loss: after every window that a clock that is right can have
// taken by now.
func floor(m *meta, v *view) int64 { return reach(m, v) + 1 }

// reach returns the last window that a process can have taken by now whose clock is right.
func reach(m *meta, v *view) int64 {
	present := v.to
	if v.Time.After(present) {
		present = v.Time
	}
	return m.WindowOf(present.Add(m.MaxSkew)) + m.Ahead
}

// cover sets the floor for a loss that v shows.
func (s *Space) cover(ctx context.Context, v *view, loss string) error {
	if err := s.setFloor(ctx, v.id(), loss); !errors.Is(err, errAgain) {
		return err
	}
	return nil
}

// id returns the ID of the space, or "" if there is none.
func (v *view) id() string {
	if v.meta == nil {
		return ""
	}
	return v.meta.ID
}

// setFloor sets the floor, unless the space has another ID by now: then errAgain says to look again whether there is a loss.
func (s *Space) setFloor(ctx context.Context, id, why string) error {
	v, err := s.read(ctx, leasesEntry)
	if err != nil {
		return err
	}
	if v.id() != id {
		return errAgain
	}
	m := *cmp.Or(v.meta, v.seen.meta)
	m.Why, m.Lineage = why, v.Lineage
	if err := v.clockError(&m); err != nil {
		if m.Lineage = noted; v.meta != nil && v.meta.Lineage != noted {
			s.putMeta(ctx, v, &m) // so that a process that saw nothing of this sets the floor too
		}
		return fmt.Errorf("%w: %s: %s", err, s, why)
	}
	m.ID, m.Losses = cryptorand.Text(), max(m.Losses, v.seen.meta.Losses)+1
	m.Low = s.rules.raise(max(m.Low, v.seen.meta.Low), s.rules.floor(&m, v))
	if done, err := s.putMeta(ctx, v, &m); err != nil || !done {
		return cmp.Or(err, errAgain)
	}
	return nil
}

// putMeta puts the meta entry if it is as in v. What this handle saw before counts no more then.
func (s *Space) putMeta(ctx context.Context, v *view, m *meta) (done bool, err error) {
	value, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	after, err := s.swap(ctx, v, Entry{metaEntry, value})
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if !after.Swapped || after.Lineage != m.Lineage {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = knowledge{meta: m, raw: value, position: after.Position, newest: m.Low - 1, values: map[string][]byte{}}
	return true, nil
}

// ask returns a view before the question, with what this handle knows by then.
func (s *Space) ask(name string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &view{name: name, from: s.now(), seen: s.seen, known: s.seen.values[name]}
}

// adopt remembers what a swap of this handle has made durable, unless a later one did so before.
func (s *Space) adopt(v *view, wentBack func(m *meta, was, is []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.meta.ID != v.meta.ID || s.seen.values == nil {
		if s.seen.meta.ID != v.meta.ID && s.seen.meta.Losses >= v.meta.Losses {
			return // the floor was set meanwhile
		}
		s.seen = knowledge{values: map[string][]byte{}}
	}
	s.seen.meta, s.seen.raw, s.seen.position = v.meta, v.raw, max(s.seen.position, v.Position)
	if old := s.seen.values[v.name]; bytes.Equal(old, v.known) || !older(v.meta, old, v.value, wentBack) {
		s.seen.values[v.name] = v.value
	}
	s.seen.newest = max(s.seen.newest, v.meta.Low-1)
	if v.name == leasesEntry {
		if all, err := decodeNumbers(v.value); err == nil {
			s.seen.newest = max(s.seen.newest, all.newest(reach(v.meta, v)+1))
		}
	}
}

const metaEntry, leasesEntry = "meta", "leases"

func (s *Space) entry(name string) string { return s.name + "/" + name }

func (s *Space) failed(what string, err error) error {
	return fmt.Errorf("lease: %s: %s: %w", what, s, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
