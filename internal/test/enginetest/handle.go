package enginetest

import (
	"context"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// Open opens a handle for the time of a test.
func Open[E lease.Engine](t testing.TB, connect func(ctx context.Context, url string) (E, error), url string) E {
	t.Helper()
	e, err := connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// Handles returns what makes a place for one test, and opens handles on it.
func Handles[E lease.Engine](place func(t *testing.T) string, open func(t testing.TB, place string) E) leasetest.Start {
	return func(t *testing.T) func(*testing.T) lease.Engine {
		p := place(t)
		return func(t *testing.T) lease.Engine { return open(t, p) }
	}
}

// WantUnsafe checks that an engine refuses calls, by an error with these words.
func WantUnsafe(t testing.TB, e lease.Engine, words ...string) {
	t.Helper()
	_, readErr := e.Read(t.Context(), "a")
	_, swapErr := e.Swap(t.Context(), nil, leasetest.Entry("a", "1"))
	for what, err := range map[string]error{"Read": readErr, "Swap": swapErr, "Prepare": e.Prepare(t.Context())} {
		require.ErrorIs(t, err, lease.ErrUnsafe, "%s", what)
		for _, word := range words {
			require.ErrorSays(t, err, word, "%s", what)
		}
	}
}

// Lineages are those seen so far, each with its incarnation, and where that was.
type Lineages map[string]string

// WantNew checks that an engine has another lineage or incarnation than all before, and an entry a
// that is 1: else it would be other data.
func (l Lineages) WantNew(t testing.TB, where string, e lease.Engine) {
	t.Helper()
	value, seen := leasetest.Get(t, e, "a")
	require.That(t, value == "1", "%s: the entry is %q: the test shows nothing", where, value)
	both := seen.Lineage + seen.Incarnation
	other, found := l[both]
	require.That(t, !found && len(both) <= 400, "%s: lineage and incarnation %s, as %s", where, both, other)
	l[both] = where
}
