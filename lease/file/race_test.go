package file

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// files returns those of a life of a player.
func (s *stage) files(who int) diskFiles {
	dead := false
	return diskFiles{s.disk, 0, func() error {
		if !dead {
			s.asking <- who
			dead = !<-s.waits[who]
		}
		if dead {
			return errDown
		}
		return nil
	}}
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
				e := s.disk.openBy(s.files(i))
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
		s.waits[favourite] <- s.rng.IntN(900) > 0
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

// TestOrdersFindBug is the negative control of TestOrders.
func TestOrdersFindBug(t *testing.T) {
	if err := orders(t, linkReplaces, 1500); err == nil {
		t.Error("not found")
	}
}
