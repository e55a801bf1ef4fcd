package store

import (
	"fmt"
	"time"
)

// Limits are fixed when a space is created. They say how far ahead a grant may reach and how far clocks may differ.
type Limits struct {
	// MaxTTL is the longest time that a grant may last.
	MaxTTL time.Duration

	// MaxSkew is the largest difference between two clocks that both count as right.
	MaxSkew time.Duration
}

// DefaultLimits allow grants of ten minutes and clocks that differ by a minute. Longer grants survive longer outages of
// the engine, but also lengthen the wait after a loss of its data.
func DefaultLimits() Limits { return Limits{MaxTTL: 10 * time.Minute, MaxSkew: time.Minute} }

// Check returns an error that wraps ErrInvalidOption unless both limits are whole seconds and MaxTTL is at least 1 s.
func (l Limits) Check() error {
	if l.MaxTTL < time.Second || l.MaxTTL%time.Second != 0 {
		return fmt.Errorf("%w: max TTL %v: want whole seconds, at least 1s", ErrInvalidOption, l.MaxTTL)
	}
	if l.MaxSkew < 0 || l.MaxSkew%time.Second != 0 {
		return fmt.Errorf("%w: max skew %v: want whole seconds, at least 0s", ErrInvalidOption, l.MaxSkew)
	}
	return nil
}

// TTL returns MaxTTL in seconds.
func (l Limits) TTL() int64 { return int64(l.MaxTTL / time.Second) }

// Skew returns MaxSkew in seconds.
func (l Limits) Skew() int64 { return int64(l.MaxSkew / time.Second) }

// reach is the distance from the present to a floor that is set now. Every earlier grant has ended by then, because no
// grant reaches further ahead than MaxTTL.
func (l Limits) reach() int64 { return l.TTL() + l.Skew() }

// wider returns the wider of each of the limits.
func (l Limits) wider(other Limits) Limits {
	return Limits{MaxTTL: max(l.MaxTTL, other.MaxTTL), MaxSkew: max(l.MaxSkew, other.MaxSkew)}
}
