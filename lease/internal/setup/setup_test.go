package setup_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// noon is 2026-01-01 12:00:00 UTC.
const noon = 1767268800

var rules = lease.Rules{MaxTTL: 100 * time.Second, MaxSkew: 10 * time.Second}

func clock() time.Time { return time.Unix(noon, 0) }

func TestOptions(t *testing.T) {
	o, err := setup.ForCreate([]setup.Option{setup.WithRules(rules), setup.WithClock(clock), setup.ForNewSecret(), setup.OrCreate()})
	if err != nil {
		t.Fatal(err)
	}
	if o.Rules == nil || *o.Rules != rules || o.Clock == nil || o.Clock().Unix() != noon || !o.NewSecret || !o.OrCreate {
		t.Errorf("all options come to %+v", o)
	}
	o, err = setup.ForOpen(nil)
	if err != nil || o.Rules != nil || o.Clock != nil || o.NewSecret || o.OrCreate {
		t.Errorf("no options come to %+v, %v", o, err)
	}
}

func TestBadOptions(t *testing.T) {
	for name, option := range map[string]setup.Option{
		"nil":       nil,
		"nil clock": setup.WithClock(nil),
		"no rules":  setup.WithRules(lease.Rules{}),
	} {
		for _, gather := range []func([]setup.Option) (setup.Options, error){setup.ForOpen, setup.ForCreate} {
			if _, err := gather([]setup.Option{setup.OrCreate(), option}); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
}

// What only a new store can heed is refused where there is none to be made.
func TestOptionsForANewStore(t *testing.T) {
	for name, tt := range map[string]struct {
		options []setup.Option
		ok      bool
	}{
		"clock":                 {[]setup.Option{setup.WithClock(clock)}, true},
		"rules":                 {[]setup.Option{setup.WithRules(rules)}, false},
		"rules or create":       {[]setup.Option{setup.WithRules(rules), setup.OrCreate()}, true},
		"new secret":            {[]setup.Option{setup.ForNewSecret()}, false},
		"new secret, or create": {[]setup.Option{setup.ForNewSecret(), setup.OrCreate()}, false},
	} {
		if _, err := setup.ForOpen(tt.options); (err == nil) != tt.ok {
			t.Errorf("%s: error %v, want none: %v", name, err, tt.ok)
		}
	}
}

func TestNew(t *testing.T) {
	incarnations := map[[16]byte]bool{{}: true}
	for name, tt := range map[string]struct {
		options []setup.Option
		rules   lease.Rules
		floor   int64
	}{
		"defaults":   {nil, lease.DefaultRules(), noon + 660},
		"rules":      {[]setup.Option{setup.WithRules(rules)}, rules, noon + 110},
		"new secret": {[]setup.Option{setup.WithRules(rules), setup.ForNewSecret()}, rules, 0},
	} {
		o, err := setup.ForCreate(tt.options)
		if err != nil {
			t.Fatal(err)
		}
		m, err := o.New(noon)
		if err != nil || m.Rules != tt.rules || m.NotBefore != tt.floor {
			t.Errorf("%s: %+v, %v; want %+v, nothing before %d", name, m, err, tt.rules, tt.floor)
		}
		if incarnations[m.Incarnation] {
			t.Errorf("%s: incarnation %x is another store's, or none", name, m.Incarnation)
		}
		incarnations[m.Incarnation] = true
	}
	if m, err := (setup.Options{}).New(0); err == nil {
		t.Errorf("in 1970: %+v, want an error", m)
	}
}

func TestFloor(t *testing.T) {
	for _, tt := range []struct {
		now, want int64
	}{
		{noon, noon + 110},
		{randflake.Epoch, randflake.Epoch + 110},
		{randflake.MaxTimestamp - 110, randflake.MaxTimestamp},
	} {
		if got, err := setup.Floor(rules, tt.now); got != tt.want || err != nil {
			t.Errorf("at %d: %d, %v, want %d", tt.now, got, err, tt.want)
		}
	}
	if floor, err := setup.Floor(rules, randflake.Epoch-1); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("before the epoch: %d, %v, want an error about the clock", floor, err)
	}
	if floor, err := setup.Floor(rules, randflake.MaxTimestamp-109); !errors.Is(err, randflake.ErrEndOfLife) {
		t.Errorf("at the format's end: %d, %v, want ErrEndOfLife", floor, err)
	}
}

// TestCheckURL: a password that isn't escaped is refused, and not shown.
func TestCheckURL(t *testing.T) {
	for url, want := range map[string]bool{
		"":                                 true,
		"redis://host":                     true,
		"redis://user:word@host:1/0?a=b#c": true,
		"redis://user:w@rd@host/0":         true,
		"unix://user:word@/run/x.sock":     true,
		"redis://user:%2Fsecret@host/0":    true,
		"redis://user:/secret@host":        false,
		"postgres://user:x?secret@host/db": false,
		"etcd://user:x#secret@host":        false,
		"redis://host/0?a=secret@b":        false,
		"user:x?secret@host":               false,
	} {
		err := setup.CheckURL(url)
		if (err == nil) != want || err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "user")) {
			t.Errorf("CheckURL(%q) = %v", url, err)
		}
	}
}
