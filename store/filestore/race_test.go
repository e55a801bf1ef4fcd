package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/randflake/randflake/store"
)

// A stage lets one of several players at a time do one file operation, in an order that a seed
// determines. Some players are stalled for long, some are killed.
type stage struct {
	disk   *disk
	rng    *rand.Rand
	waits  []chan bool // for each player: true to go on, false if it is killed
	asking chan int    // players that wait, or -1-i when i is done
}

type stageFiles struct {
	diskFiles
	stage *stage
	who   int
	dead  *bool
}

func (s stageFiles) turn() error {
	if !*s.dead {
		s.stage.asking <- s.who
		*s.dead = !<-s.stage.waits[s.who]
	}
	if *s.dead {
		return errDown
	}
	return nil
}

func (s stageFiles) list(path string) ([]fs.DirEntry, error) {
	if err := s.turn(); err != nil {
		return nil, err
	}
	return s.diskFiles.list(path)
}

func (s stageFiles) read(path string, limit int) ([]byte, error) {
	if err := s.turn(); err != nil {
		return nil, err
	}
	return s.diskFiles.read(path, limit)
}

func (s stageFiles) write(path string, content []byte) error {
	if err := s.turn(); err != nil {
		return err
	}
	return s.diskFiles.write(path, content)
}

func (s stageFiles) link(from, to string) error {
	if err := s.turn(); err != nil {
		return err
	}
	return s.diskFiles.link(from, to)
}

func (s stageFiles) remove(path string) error {
	if err := s.turn(); err != nil {
		return err
	}
	return s.diskFiles.remove(path)
}

func (s stageFiles) syncDir(path string) error {
	if err := s.turn(); err != nil {
		return err
	}
	return s.diskFiles.syncDir(path)
}

// run plays one order, and returns what went wrong.
func (s *stage) run(t *testing.T, players int) error {
	if err := s.disk.open().Prepare(t.Context()); err != nil {
		return err
	}
	l := newLog()
	s.asking = make(chan int)
	errs := make([]error, players)
	for i := range players {
		s.waits = append(s.waits, make(chan bool))
		go func() {
			for range 3 { // lives
				e := s.disk.openBy(stageFiles{diskFiles{s.disk, 0}, s, i, new(bool)})
				last := store.Entry{Name: "counter"}
				for range 14 {
					errs[i] = errors.Join(errs[i], l.raise(t, e, &last))
					if last.Value == nil || i%2 == 0 {
						errs[i] = errors.Join(errs[i], l.look(t, e, &last))
					}
				}
			}
			s.asking <- -1 - i
		}()
	}
	s.direct(players)
	if len(l.mine) < 20 {
		errs = append(errs, fmt.Errorf("only %d numbers", len(l.mine)))
	}
	return errors.Join(append(errs, l.check(t, s.disk.open()))...)
}

// direct lets the players go on, one operation at a time, until all are done.
func (s *stage) direct(players int) {
	ready, left := map[int]bool{}, players
	favourite, favour := 0, 0
	for left > 0 {
		for len(ready) < left {
			if who := <-s.asking; who >= 0 {
				ready[who] = true
			} else {
				left--
			}
		}
		if left == 0 {
			return
		}
		if favour--; favour <= 0 || !ready[favourite] {
			favour = 1 + s.rng.IntN(1<<s.rng.IntN(9))
			for favourite = s.rng.IntN(players); !ready[favourite]; {
				favourite = (favourite + 1) % players
			}
		}
		delete(ready, favourite)
		s.waits[favourite] <- s.rng.IntN(300) > 0
	}
}

func orders(t *testing.T, bug string, count int) error {
	for seed := range count {
		s := &stage{disk: newDisk(), rng: rand.New(rand.NewPCG(uint64(seed), 7))}
		s.disk.bug = bug
		if err := s.run(t, 2+seed%3); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// TestOrders has engines race where locks do nothing.
func TestOrders(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long where the processor is emulated")
	}
	if err := orders(t, "", 400); err != nil {
		t.Error(err)
	}
}

// TestOrdersFindBugs is the negative control of TestOrders.
func TestOrdersFindBugs(t *testing.T) {
	for _, bug := range []string{linkReplaces, listReversed} {
		err := orders(t, bug, 1500)
		if err == nil {
			t.Errorf("%s: not found", bug)
		}
		t.Logf("%s: %.200v", bug, err)
	}
}

// stalling runs a function before its first link to a numbered file, and dies after it if told so.
type stalling struct {
	diskFiles
	meanwhile func()
	die       bool
}

func (s *stalling) link(from, to string) error {
	if s.meanwhile != nil && to != diskDir+"/"+markerName {
		s.meanwhile()
		s.meanwhile = nil
		if err := s.diskFiles.link(from, to); err != nil || !s.die {
			return err
		}
		s.boot = -1
		return errDown
	}
	return s.diskFiles.link(from, to)
}

// TestStalledWriter: a writer that takes a number anew after it was removed does not count, nor
// does what it leaves behind when it is killed; handles that lag just as much read past it.
func TestStalledWriter(t *testing.T) {
	for _, die := range []bool{false, true} {
		d := newDisk()
		fast := d.open()
		if err := fast.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		l := newLog()
		first := store.Entry{Name: "counter"}
		if err := l.raise(t, fast, &first); err != nil {
			t.Fatal(err)
		}
		files := &stalling{diskFiles: diskFiles{d, 0}, die: die}
		slow, lagging := d.openBy(files), d.open()
		for _, e := range []*Engine{slow, lagging} {
			if _, err := e.Read(context.Background(), nil, store.Page{}); err != nil {
				t.Fatal(err)
			}
		}
		bogus := diskDir + "/" + numbered(slow.state.Number+1)
		files.meanwhile = func() {
			last := first
			for range 12 {
				if err := l.raise(t, fast, &last); err != nil {
					t.Error(err)
				}
			}
			if d.visible[bogus] != nil {
				t.Error("the number was not removed: the test shows nothing")
			}
		}
		last := first
		if err := l.raise(t, slow, &last); err != nil {
			t.Error(err)
		}
		if left := d.visible[bogus] != nil; left != die {
			t.Errorf("killed %v, and the bogus file is there: %v", die, left)
		}
		again := first
		if err := errors.Join(l.look(t, lagging, &again), l.raise(t, lagging, &again), l.check(t, lagging), l.check(t, d.open())); err != nil {
			t.Error(err)
		}
		if len(l.mine) != 14 {
			t.Errorf("%d numbers, want 14", len(l.mine))
		}
		for range 8 {
			l.raise(t, fast, &again)
		}
		if d.visible[bogus] != nil {
			t.Error("the bogus file was never removed")
		}
	}
}

// TestBogusTwin: a writer's number counts only if the very file that it follows is there, and not what another
// stalled writer has left in its place, though that puts the same.
func TestBogusTwin(t *testing.T) {
	d := newDisk()
	fast := d.open()
	if err := fast.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	entry := func(value string) []store.Entry { return []store.Entry{{Name: "a", Value: []byte(value)}} }
	ready, resume, died := make(chan bool), make(chan bool), make(chan error)
	first := d.openBy(&stalling{diskFiles: diskFiles{d, 0}, die: true, meanwhile: func() { close(ready); <-resume }})
	go func() {
		_, err := first.Swap(context.Background(), nil, entry("1"))
		died <- err
	}()
	<-ready
	swap(t, fast, "a", "1")
	number := fast.state.Number + 1
	second := d.openBy(&stalling{diskFiles: diskFiles{d, 0}, meanwhile: func() {
		for range 12 {
			swap(t, fast, "a", "2")
		}
		close(resume)
		if err := <-died; !errors.Is(err, errDown) || d.visible[diskDir+"/"+numbered(number)] == nil {
			t.Errorf("error %v: want a bogus file", err)
		}
	}})
	if answer, err := second.Swap(t.Context(), entry("1"), entry("3")); err != nil || answer.Swapped {
		t.Errorf("Swap: swapped %v, %v, though another value was put since", answer.Swapped, err)
	}
	if value := d.open().mustGet(t, "a"); string(value) != "2" {
		t.Errorf("found %q, want 2", value)
	}
}

func (e *Engine) mustGet(t *testing.T, name string) []byte {
	answer, err := e.Read(t.Context(), []string{name}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Named[0].Value
}

// slowList has the first list of files show none that was made after file last.
type slowList struct {
	diskFiles
	last string
}

func (s *slowList) list(path string) ([]fs.DirEntry, error) {
	entries, err := s.diskFiles.list(path)
	if s.last != "" {
		entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() > s.last })
		s.last = ""
	}
	return entries, err
}

// TestSlowList: a bogus snapshot is not taken for the newest file where a list is of no one moment.
func TestSlowList(t *testing.T) {
	d := newDisk()
	fast := d.open()
	if err := fast.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	swap(t, fast, "a", "old")
	stalled := d.openBy(&stalling{diskFiles: diskFiles{d, 0}, die: true, meanwhile: func() {
		for range 12 {
			swap(t, fast, "a", "new")
		}
	}})
	stalled.often = 0
	if _, err := stalled.Swap(t.Context(), nil, []store.Entry{{Name: "a", Value: []byte("bogus")}}); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	bogus := numbered(3)
	if f, err := fast.read(3); err != nil || f.Base != 3 {
		t.Fatalf("file 3 is no bogus snapshot: %v, %v", f, err)
	}
	if value := d.openBy(&slowList{diskFiles{d, 0}, bogus}).mustGet(t, "a"); string(value) != "new" {
		t.Errorf("found %q, want what is new", value)
	}
}
