package store

import (
	"fmt"
	"time"
)

// Clone returns a handle that has seen what s has seen, as in a copy of its process, on another engine and clock.
func (s *Space) Clone(engine Engine, clock func() time.Time) *Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Space{engine: engine, settings: s.settings, covering: make(chan struct{}, 1), seen: s.seen}
	c.settings.clock = clock
	return c
}

// Seen returns what s has seen, as text.
func (s *Space) Seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%s %s %d %d", s.seen.value, s.seen.lineage, s.seen.position, s.seen.newest)
}
