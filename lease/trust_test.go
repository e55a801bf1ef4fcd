package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// trust has the space trust other incarnations of its data, and waits for the floor of that.
func (w *trial) trust() {
	w.Helper()
	w.data.incarnation = "second"
	w.must(w.b.SetTrust(w.Context(), true))
	w.now = noon.Add(7 * time.Minute)
	w.present += 7
}

// TestDoubt: while the engine has a doubt, a space that trusts changes nothing but its trust.
func TestDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		call func(w *trial) error
		want error
	}{
		"take":         {(*trial).tryTake, ErrUnsafe},
		"counter":      {func(w *trial) error { return w.a.CreateCounter(w.Context(), Counter{Name: "c"}) }, ErrUnsafe},
		"report":       {func(w *trial) error { return w.a.ReportLoss(w.Context(), "by hand") }, ErrUnsafe},
		"retire":       {func(w *trial) error { return w.a.Retire(w.Context()) }, ErrUnsafe},
		"info":         {func(w *trial) error { return require.Err(w.a.Info(w.Context())) }, ErrUnsafe},
		"take it back": {func(w *trial) error { return w.a.SetTrust(w.Context(), false) }, nil},
		"it comes during the swap": {func(w *trial) error {
			w.data.doubt = ""
			w.beforeCall = once(isSwap, func() { w.data.doubt = "it may forget that" })
			return w.tryTake()
		}, ErrOutcomeUnknown},
		"it comes while a loss is noted": {func(w *trial) error {
			w.data.doubt = ""
			w.beforeCall = once(second(putsMeta), func() { w.data.doubt = "it may forget that" })
			return w.a.ReportLoss(w.Context(), "by hand")
		}, ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrial(t, false)
			w.trust()
			w.data.doubt = "it may forget that"
			err := c.call(w)
			said := err == nil || errors.Is(err, ErrUnsafe) && strings.Contains(err.Error(), "it may forget that")
			require.That(t, errors.Is(err, c.want) && said, "%v, want %v", err, c.want)
		})
	}
}

// TestSetTrust: what can't be trusted is refused, and to say the same once more changes nothing.
func TestSetTrust(t *testing.T) {
	w := newTrial(t, false)
	config := Config{Name: "t", Trust: true}
	_, err := Create(t.Context(), conn{memory: w.data}, config)
	for _, err := range []error{err, w.a.SetTrust(t.Context(), true)} {
		require.ErrorIs(t, err, ErrInvalid, "without incarnations")
	}
	w.must(w.a.SetTrust(t.Context(), false))
	w.data.incarnation = "second"
	w.data.doubt = "it may forget that"
	_, err = Create(t.Context(), conn{memory: w.data}, config)
	for _, err := range []error{err, w.a.SetTrust(t.Context(), true)} {
		require.ErrorIs(t, err, ErrUnsafe, "in doubt")
	}
	w.data.doubt = ""
	w.must(w.a.SetTrust(t.Context(), true))
	w.must(w.b.SetTrust(t.Context(), true))
	s := createAs(t, conn{memory: w.data}, config)
	for _, s := range []*Space{w.a, s} {
		require.Equal(t, infoOf(t, s).Trust, true, "trust of %s", s)
	}
	require.Equal(t, infoOf(t, w.b).FloorsSet, 1, "losses")
}
