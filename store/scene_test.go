package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// What the scenes have: leases of a minute, clocks that may differ by six seconds.
const maxTTL, maxSkew = 60, 6

// A scene is the state of the data, of the processes and of the time.
type scene struct {
	*set
	now     int64
	step    int // counts moves
	data    *storetest.Memory
	backup  *storetest.Snapshot
	lineage int

	metaRead  *store.Meta // which has metaValue
	metaValue string

	players [4]*player
	image   *player // of a process
	taken   int64   // when
	late    []storetest.Call
	newest  int // counts answers

	uses   []use
	blind  []blindness
	ahead  bool  // whether a clock that is ahead got nodes
	robbed int64 // when it got some that another process held
	lost   int   // the move that lost data last

	given   []int64 // numbers, in order
	doubled []int64 // numbers that were left to a process when it was copied
	top     int64   // the highest number that was ever taken
	writer  int     // the process that knows the newest state of the counter, or 0

	then    func() // becomes between after a failover
	between func() // is called once, before one of the next calls of the engine
	calls   int    // that come before it
	wrong   string
}

// A player is a process: its handles, and what its keeper and its generator would do. The generator makes IDs all the time.
type player struct {
	scene    *scene
	id       int
	off      int64 // of its clock
	memory   *memory
	shared   bool   // memory is that of the scene that this one was copied from
	text     string // of memory, or ""
	newest   int    // the newest answer that it got
	lineage  string // of the data then
	position uint64
	fault    string
	stale    bool // it is a copy with the clock of its image
	asks     bool // its handle is one of a service
	tenancy
}

// A memory is what is left of a process in an image of its machine, beside the tenancy.
type memory struct {
	space   *store.Space
	leases  lease.Source
	relaxed *counter.Counter
	strict  *counter.Strict
}

func newScene(t *testing.T, set *set) *scene {
	s := &scene{set: set, now: noon.Unix(), data: storetest.NewMemory()}
	limits := store.Limits{MaxTTL: maxTTL * time.Second, MaxSkew: maxSkew * time.Second}
	clock := store.WithClock(func() time.Time { return time.Unix(s.now, 0) })
	space, err := store.Create(t.Context(), s.data.Connect(), store.ForNewSecret(), store.WithLimits(limits), clock)
	first := s.data.Snapshot()
	s.backup = &first
	if err == nil && set.counts {
		_, err = counter.On(space).Create(t.Context(), set.counter(), counter.WithRate(set.rate), counter.WithEnd(cmp.Or(set.end, math.MaxInt64)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if first := s.data.Snapshot(); !set.anew {
		s.backup = &first
	}
	return s
}

// copy returns a scene of its own that goes on from s.
func (s *scene) copy() *scene {
	c := *s
	c.data = storetest.NewMemory()
	c.data.Restore(s.data.Snapshot())
	c.uses, c.late, c.blind = slices.Clone(s.uses), slices.Clone(s.late), slices.Clone(s.blind)
	c.given = slices.Clone(s.given)
	for i, p := range s.players {
		c.players[i] = c.copied(p)
	}
	c.image = c.copied(s.image)
	return &c
}

// copied returns a copy of a process for this scene. Its memory is copied when it wakes.
func (s *scene) copied(p *player) *player {
	if p == nil {
		return nil
	}
	q := *p
	q.scene, q.shared = s, true
	return &q
}

func (p *player) wake() *player {
	if p.shared && p.memory != nil {
		c := copier{p.engine(), p.clock, map[unsafe.Pointer]reflect.Value{}}
		m := new(memory)
		c.copy(reflect.ValueOf(m).Elem(), reflect.ValueOf(p.memory).Elem())
		p.memory = m
	}
	p.shared, p.text = false, ""
	return p
}

func (p *player) clock() time.Time { return time.Unix(p.scene.now+p.off, 0) }

var errTimeout = errors.New("timeout")

// engine returns the process's connection.
func (p *player) engine() store.Engine {
	engine := p.scene.data.Connect()
	if p.scene.bug != "" {
		engine = storetest.Plant(engine, p.scene.bug)
	}
	return storetest.Intercept(engine, func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		s := p.scene
		if s.between != nil {
			if s.calls--; s.calls < 0 {
				between := s.between
				s.between = nil
				between()
			}
		}
		fault := p.fault
		switch {
		case fault == "be cut off":
			return store.Answer{}, errTimeout
		case c.Swap:
			p.fault = ""
		default:
			fault = ""
		}
		if fault == "delay" {
			s.late = append(s.late, c)
			return store.Answer{}, errTimeout
		}
		a, err := c.On(ctx, e)
		if fault == "fail over" {
			s.between, s.calls, a.Lineage = s.then, 0, "elsewhere"
		} else if fault != "" {
			s.noteTaken(c, a, nil)
			return store.Answer{}, errTimeout
		}
		s.noteTaken(c, a, p)
		s.newest++
		now, _ := s.data.Connect().Read(ctx, nil, store.Page{})
		p.newest, p.lineage, p.position = s.newest, now.Lineage, now.Position
		return a, err
	})
}

// with plays a move of process i, if there is one.
func (s *scene) with(i int, do func(*player)) bool {
	if s.players[i] == nil {
		return false
	}
	p := s.players[i].wake()
	before, newest, told := s.meta(), p.newest, s.lost > 0 && (s.tells(p) || s.olderRecord(p))
	do(p)
	p.fault = ""
	if p.newest > newest && s.lost > 0 {
		s.hear(p, told, before)
	}
	return true
}

// open starts process i.
func (s *scene) open(i int, off int64) bool {
	if s.players[i] != nil {
		return false
	}
	s.newest++
	p := &player{scene: s, id: s.newest, off: off, tenancy: tenancy{lost: true, repeats: math.MaxInt64}}
	options := []store.Option{store.WithClock(p.clock)}
	if s.trusting {
		options = append(options, store.TrustRecovery())
	}
	space, err := store.Open(context.Background(), p.engine(), options...)
	if err != nil {
		panic(err) // nothing that a scene does makes this fail
	}
	p.memory = &memory{space: space, leases: lease.On(space)}
	s.players[i] = p
	return true
}

// resume starts the image as process i, with a clock that is off.
func (s *scene) resume(i int, off int64) bool {
	if s.image == nil || s.players[i] != nil || s.now-s.taken > 2*maxTTL {
		return false
	}
	p := s.copied(s.image)
	s.newest++
	p.id, p.off, p.stale = s.newest, s.image.off+off, off != 0
	s.players[i] = p
	return true
}

// meta returns the meta entry of the data.
func (s *scene) meta() *store.Meta {
	a, _ := s.data.Connect().Read(context.Background(), []string{"default/meta"}, store.Page{})
	if value := string(a.Named[0].Value); s.metaValue != value {
		m, err := store.DecodeMeta(a.Named[0].Value)
		if err != nil {
			panic(err)
		}
		s.metaRead, s.metaValue = m, value
	}
	return s.metaRead
}

// restore puts the backup in the place of the data, as a copy of it, or as files that were put back.
func (s *scene) restore(copied bool) bool {
	b, now := *s.backup, s.data.Snapshot()
	old := storetest.NewMemory()
	old.Restore(b)
	if m, err := store.DecodeMeta(entriesOf(old, "default/meta")[0].Value); err != nil || m.Failover > s.now {
		return false // who plans a failover promises not to
	}
	if copied {
		s.lineage++
		b.Lineage = fmt.Sprint("copy ", s.lineage)
	} else if b.Lineage == now.Lineage && b.Position >= now.Position {
		return false
	}
	s.data.Restore(b)
	s.loses(!copied)
	return true
}

// putBack puts older entries whose names begin with begin in the place of newer ones. No evidence changes.
func (s *scene) putBack(begin string) bool {
	older := storetest.NewMemory()
	older.Restore(*s.backup)
	changed := false
	for _, e := range entriesOf(older, begin) {
		if i := slices.IndexFunc(entriesOf(s.data, e.Name), func(f store.Entry) bool { return f.Name == e.Name && string(f.Value) != string(e.Value) }); i >= 0 {
			s.data.Connect().Swap(context.Background(), nil, []store.Entry{e})
			changed = true
		}
	}
	if changed {
		s.loses(true)
	}
	return changed
}

// play returns the scene after a move, or nil if there was nothing to do.
func (s *scene) play(m move) *scene {
	n := s.copy()
	n.step++
	if !m.do(n) {
		return nil
	}
	for _, p := range n.players {
		if p != nil {
			n.use(p, n.now+p.off, n.now+p.off)
		}
	}
	return n
}

// pass lets time pass, while generators make IDs in each second.
func (s *scene) pass(d int64) {
	for _, p := range s.players {
		if p != nil {
			s.use(p, s.now+p.off+1, s.now+p.off+d)
		}
	}
	s.now += d
}

// deliver makes the calls take effect that were delayed.
func (s *scene) deliver() bool {
	defer func() { s.late = nil }()
	for _, c := range s.late {
		a, _ := c.On(context.Background(), s.data.Connect())
		s.noteTaken(c, a, nil)
	}
	return len(s.late) > 0
}

// text describes the scene: the same for two of which the same can be played on.
func (s *scene) text() string {
	var b strings.Builder
	backup := storetest.NewMemory()
	backup.Restore(*s.backup)
	fmt.Fprintln(&b, contents(s.data), contents(backup), s.backup.Lineage == s.data.Snapshot().Lineage)
	for _, p := range append(s.players[:], s.image) {
		if p == nil {
			fmt.Fprintln(&b, "nobody")
			continue
		}
		if p.text == "" {
			var b strings.Builder
			describe(&b, reflect.ValueOf(p.memory).Elem(), map[unsafe.Pointer]bool{})
			p.text = b.String()
		}
		seen, now := p.memory.space.Sighting(), s.data.Snapshot()
		fmt.Fprintf(&b, "id%d %d %s %s %v %d %d", p.id, p.off, p.describe(), p.text, p.newest == s.newest, seen.Newest, seen.Known)
		if meta, err := json.Marshal(seen.Meta); err == nil {
			fmt.Fprintf(&b, "%s %v %d\n", meta, seen.Lineage == now.Lineage, int64(seen.Position-now.Position))
		}
	}
	fmt.Fprintln(&b, s.late, s.taken, s.given, s.doubled, s.top, fmt.Sprint("id", s.writer), s.ahead, s.robbed)
	s.describeUses(&b)
	return canonical(b.String(), s.now)
}

// canonical replaces seconds by how far they are from now, and tokens and processes by numbers.
func canonical(text string, now int64) string {
	var b strings.Builder
	known := map[string]int{}
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end]|32 >= 'a' && text[end]|32 <= 'z') {
			end++
		}
		word := text[i:end]
		switch {
		case word == "":
			end++
			b.WriteByte(text[i])
		case len(word) == 10 && word[:2] == "17":
			second, _ := strconv.ParseInt(word, 10, 64)
			fmt.Fprint(&b, max(second-now, -10*maxTTL))
		case len(word) == 16 || len(word) == 32 || word[:min(2, len(word))] == "id":
			if known[word] == 0 {
				known[word] = len(known) + 1
			}
			fmt.Fprint(&b, "token", known[word])
		default:
			b.WriteString(word)
		}
		i = end
	}
	return b.String()
}

// entriesOf returns the entries whose names begin with begin, but for receipts, which are told by what they do.
func entriesOf(data *storetest.Memory, begin string) []store.Entry {
	a, _ := data.Connect().Read(context.Background(), nil, store.Page{From: begin, To: begin + "~", Limit: store.MaxPage})
	return slices.DeleteFunc(a.Page, func(e store.Entry) bool {
		return strings.HasPrefix(e.Name, "default/a/") || strings.HasPrefix(e.Name, "default/b/")
	})
}

// contents returns the entries as text.
func contents(data *storetest.Memory) string {
	var b strings.Builder
	for _, e := range entriesOf(data, "default/") {
		fmt.Fprintf(&b, "%s %s\n", e.Name, e.Value)
	}
	return b.String()
}
