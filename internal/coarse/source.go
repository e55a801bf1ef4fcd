package coarse

import "time"

// A Source tells a generator the time: that of a clock of the process, or of an injected one. It
// counts in the unit of Clock.
type Source struct {
	Clock    *Clock
	Injected func() time.Time // if not nil, asked in place of Clock, on every call
}

// SourceOf returns a source that goes by c, or in a testing/synctest bubble by the bubble's time.
func SourceOf(c *Clock) Source { return Source{Clock: c, Injected: OfBubble()} }

// Now returns the time, and whether it is fresh: read during the call. Otherwise it may be late, see
// Clock.
func (s *Source) Now() (now int64, fresh bool) {
	if s.Injected == nil {
		return s.Clock.Now(), false
	}
	return s.Read(), true
}

// Read reads the time.
func (s *Source) Read() int64 {
	if s.Injected == nil {
		return s.Clock.Read()
	}
	return s.Clock.units(s.Injected())
}

// Time reads the time, to the nanosecond.
func (s *Source) Time() time.Time {
	if s.Injected == nil {
		return time.Now()
	}
	return s.Injected()
}
