package coarse

import "time"

// A Source is where a generator has the time from: a clock of the process, or an injected one.
type Source struct {
	Clock    *Clock           // whose unit the source counts in
	Injected func() time.Time // asked in place of Clock, on every call, if it is not nil
}

// SourceOf returns a source that goes by c, or in a testing/synctest bubble by the bubble's time.
func SourceOf(c *Clock) Source { return Source{Clock: c, Injected: OfBubble()} }

// Now returns the time, and whether it was read during the call. If not it may be late: see Clock.
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
