package client

import "time"

// SetClock tells the age of IDs by another clock, whose monotonic part may stand still.
func (s *IDs[I]) SetClock(now func() time.Time) { s.settings.now = now }
