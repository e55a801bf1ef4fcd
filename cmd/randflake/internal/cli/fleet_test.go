package cli

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// A fleet is programs with one secret, and the IDs that they made.
type fleet struct {
	*testing.T
	secret   randflake.Secret        // also in the file secret
	ids      map[randflake.ID]string // the program that made each
	refusals map[string]int          // by program
}

// A program makes IDs with leases of the store that it was started with.
type program struct {
	name   string
	space  *lease.Space
	keeper *lease.Keeper[*randflake.Generator]
}

// fleetBegin is when the tests of fleets begin: 2027-01-15T08:00:00Z.
var fleetBegin = time.Unix(1800000000, 0)

// withFleet runs a test in a folder of its own, by a clock that goes on when all goroutines wait.
func withFleet(t *testing.T, test func(f *fleet)) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(fleetBegin))
		f := &fleet{t, randflake.NewSecret(), map[randflake.ID]string{}, map[string]int{}}
		write(t, "secret", f.secret.Hex()+"\n")
		test(f)
	})
}

// makeSpace makes the space of the programs, with a counter.
func (f *fleet) makeSpace(store string, counter ...string) {
	f.Helper()
	succeed(f.T, "", "store", "init", "--never-used", "--secret-file", "secret", store)
	succeed(f.T, "", append([]string{"counter", "create", "orders", "--store", store}, counter...)...)
}

// start starts a program, which waits for its first lease.
func (f *fleet) start(store, name string) *program {
	f.Helper()
	quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
	for {
		space, err := url.Open(f.Context(), store, lease.Config{})
		require.NoError(f, err)
		keeper, err := lease.Keep(f.Context(), space, f.secret, lease.WithClock(time.Now), quiet)
		if err == nil {
			return &program{name, space, keeper}
		}
		space.Close()
		wait := (*lease.WaitError)(nil)
		require.Must(f, errors.As(err, &wait), "%s: %v", name, err)
		time.Sleep(time.Second)
	}
}

func (p *program) stop() {
	p.keeper.Close()
	p.space.Close()
}

// run lets programs make IDs for some time.
func (f *fleet) run(d time.Duration, programs ...*program) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(400 * time.Millisecond) {
		for _, p := range programs {
			id, err := p.keeper.Generator().Generate()
			if err != nil {
				f.refusals[p.name]++
				continue
			}
			other := f.ids[id]
			require.That(f, other == "", "the %s and the %s program made the same ID", other, p.name)
			f.ids[id] = p.name
		}
	}
}

// count takes the next number of the counter.
func (f *fleet) count(p *program, want int64) {
	f.Helper()
	run, err := p.space.TakeNumbers(f.Context(), "orders", lease.Period{}, 1)
	require.That(f, err == nil && run.First == want, "the counter goes on with %+v, %v, want %d", run, err, want)
}

// byHand starts a program that has a node of a table for as long as it likes.
func (f *fleet) byHand(node uint32, from time.Time) *randflake.Generator {
	f.Helper()
	forever := randflake.Lease{FirstNode: node, LastNode: node, Start: from, End: time.Unix(randflake.MaxTimestamp+1, 0)}
	generator, err := randflake.New(f.secret, forever, randflake.WithClock(time.Now))
	if err != nil {
		f.Fatal(err)
	}
	return generator
}

// runBeside is run of programs that have leases, and of some with a node of a table.
func (f *fleet) runBeside(table []*randflake.Generator, d time.Duration, programs ...*program) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, generator := range table {
			id, err := generator.Generate()
			if err != nil || f.ids[id] != "" {
				f.Fatalf("by hand: %v, %v", f.ids[id], err)
			}
			f.ids[id] = "by hand"
		}
		f.run(400*time.Millisecond, programs...)
	}
}
