package client

import "time"

// Batches returns how many batches are kept.
func (s *IDs[I]) Batches() int { return len(s.ready) }

// SetClock tells the age of IDs by another clock, whose monotonic part may stand still.
func (s *IDs[I]) SetClock(now func() time.Time) { s.settings.now = now }
