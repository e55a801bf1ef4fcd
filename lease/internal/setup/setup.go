// Package setup has what stores share when they are opened and created: their options, and what a new
// store begins with.
package setup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// An Option changes what Open or Create of a store does.
type Option func(*Options) error

// Options are what all Option values of a call come to.
type Options struct {
	Rules     *lease.Rules     // nil for the default
	Clock     func() time.Time // nil for the store's own
	NewSecret bool
	OrCreate  bool
}

// WithRules sets the limits of a new store.
func WithRules(rules lease.Rules) Option {
	return func(o *Options) error {
		o.Rules = &rules
		return rules.Check()
	}
}

// WithClock makes the store take its time from clock.
func WithClock(clock func() time.Time) Option {
	return func(o *Options) error {
		if clock == nil {
			return errors.New("nil clock")
		}
		o.Clock = clock
		return nil
	}
}

// ForNewSecret is the caller's word that the secret has never made an ID with a lease of any other store.
func ForNewSecret() Option {
	return func(o *Options) error {
		o.NewSecret = true
		return nil
	}
}

// OrCreate makes Open create a store where there is none.
func OrCreate() Option {
	return func(o *Options) error {
		o.OrCreate = true
		return nil
	}
}

// ForOpen gathers the options of a call of Open.
func ForOpen(opts []Option) (Options, error) {
	o, err := gather(opts)
	if err == nil && (o.NewSecret || o.Rules != nil && !o.OrCreate) {
		err = errors.New("open: WithRules and ForNewSecret are for a new store: a store keeps what it was created with")
	}
	return o, err
}

// ForCreate gathers the options of a call of Create.
func ForCreate(opts []Option) (Options, error) { return gather(opts) }

func gather(opts []Option) (o Options, err error) {
	for _, opt := range opts {
		if opt == nil {
			return o, errors.New("nil option")
		}
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Meta is what a store knows beside its records.
type Meta struct {
	Incarnation [16]byte // random; tells one store from another, later one in the same place
	Rules       lease.Rules
	NotBefore   int64 // no lease starts before this Unix second; 0 for no bound
}

// New returns the Meta of a store that is created at now.
func (o Options) New(now int64) (Meta, error) {
	m := Meta{Rules: lease.DefaultRules()}
	rand.Read(m.Incarnation[:]) // never fails, by its contract
	if o.Rules != nil {
		m.Rules = *o.Rules
	}
	if o.NewSecret {
		return m, nil
	}
	var err error
	m.NotBefore, err = Floor(m.Rules, now)
	return m, err
}

// Floor returns the first second that may be granted after a loss of data that was noticed at
// now. It fails when the clock can't be right, for then nothing is known of the leases that were
// granted.
func Floor(rules lease.Rules, now int64) (int64, error) {
	if now < randflake.Epoch {
		return 0, fmt.Errorf("clock says %s, before the format's epoch: set it right", time.Unix(now, 0).UTC().Format(time.RFC3339))
	}
	notBefore := rules.NotBefore(now)
	if notBefore > randflake.MaxTimestamp {
		return 0, fmt.Errorf("no lease before %s: %w", time.Unix(notBefore, 0).UTC().Format(time.RFC3339), randflake.ErrEndOfLife)
	}
	return notBefore, nil
}

// CheckURL refuses a store's URL that has an @ after the host. A password with an unescaped /, ? or # makes
// one, and whoever takes the URL apart would show a part of the password as a path or a
// parameter. The error shows nothing of the URL.
func CheckURL(url string) error {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		rest = url
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && strings.Contains(rest[i:], "@") {
		return errors.New("URL has an @ after the host: write the special characters of a password as %2F for /, %3F for ?, %23 for #, %40 for @, as elsewhere in the URL")
	}
	return nil
}
