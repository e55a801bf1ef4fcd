package numbers

import (
	"crypto/cipher"
	"fmt"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/internal/hidden"
)

// An Option changes a Format or a Series.
type Option struct{ set func(*settings) error }

type settings struct {
	period Periods
	zone   *time.Location
	block  cipher.Block // encrypts the numbers, or nil

	// Of a Series:
	clock   coarse.Source    // of seconds
	config  counter.Config   // of its counter
	counter []counter.Option // of its handle
}

// WithPeriods makes numbers begin at 1 again with each p, instead of each time the date in the
// pattern changes. Texts must tell the period, by the field {period} or by the date:
// {date:20060102} with Year counts through the year, and prints the day. For a Week the date must
// show the day, for a Quarter or a FiscalYear the month.
func WithPeriods(p Periods) Option {
	return Option{func(s *settings) error {
		if !p.valid() {
			return fmt.Errorf("%w: %v: "+
				"want Forever, Year, FiscalYear(time.April) or such, Quarter, Month, Week or Day",
				errInvalidOption, p)
		}
		s.period = p
		return nil
	}}
}

// WithLocation makes days begin at midnight in zone instead of UTC. The zone can't be time.Local,
// which may be another one on another machine.
func WithLocation(zone *time.Location) Option {
	return Option{func(s *settings) error {
		switch {
		case zone == nil:
			return fmt.Errorf("%w: location is nil: leave WithLocation out for UTC", errInvalidOption)
		case zone.String() == time.Local.String():
			return fmt.Errorf("%w: location is time.Local: want one of time.LoadLocation", errInvalidOption)
		}
		s.zone = zone
		return nil
	}}
}

// Encrypted encrypts the numbers in texts, as the package documentation describes. The key is
// derived from secret for this package alone; name and period are the tweak. The width of the number
// must leave room for a million numbers.
func Encrypted(secret randflake.Secret) Option {
	return Option{func(s *settings) error {
		if secret.IsZero() {
			return fmt.Errorf("%w: secret is not set", errInvalidOption)
		}
		s.block = hidden.AES(hidden.Key(secret.Derive("numbers FF1-AES-128", 1)))
		return nil
	}}
}

// WithCounter makes a Series open its counter with options such as counter.WithRunLength, and
// create the counter with the start and step of config. Each period begins at the start. The end is
// the largest number that the width has room for.
func WithCounter(config counter.Config, options ...counter.Option) Option {
	return Option{func(s *settings) error {
		s.config = config
		s.counter = append(s.counter, options...)
		return nil
	}}
}

// WithClock makes a Series ask clock for the time instead of the system, for tests and simulations.
// The clock must be safe for concurrent use.
func WithClock(clock func() time.Time) Option {
	return Option{func(s *settings) error {
		if clock == nil {
			return fmt.Errorf("%w: clock is nil", errInvalidOption)
		}
		s.clock.Injected = clock
		return nil
	}}
}
