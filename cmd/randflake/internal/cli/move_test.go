package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// A program makes IDs with leases of the store that it was started with.
type program struct {
	name   string
	space  *lease.Space
	keeper *lease.Keeper[*randflake.Generator]
}

// A fleet is programs with one secret, and the IDs that they made.
type fleet struct {
	*testing.T
	secret   randflake.Secret
	ids      map[randflake.ID]string // by which program
	refusals map[string]int
}

// start starts a program, which waits for its first lease.
func (f *fleet) start(store, name string) *program {
	f.Helper()
	for {
		space, err := url.Open(f.Context(), store, lease.Config{})
		require.NoError(f, err)
		keeper, err := lease.Keep(f.Context(), space, f.secret, lease.WithClock(time.Now), lease.WithLogger(slog.New(slog.DiscardHandler)))
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

// count takes the next number of a counter.
func (f *fleet) count(p *program, want int64) {
	f.Helper()
	run, err := p.space.TakeNumbers(f.Context(), "orders", lease.Period{}, 1)
	require.That(f, err == nil && run.First == want, "the counter goes on with %+v, %v, want %d", run, err, want)
}

// TestLeftBehind: programs may have leases for three minutes, or for as many windows as may be
// leased ahead beside the present one. They pause if the new space grants none by then.
func TestLeftBehind(t *testing.T) {
	now := time.Unix(1800000000, 0)
	floor := now.Add(7 * time.Minute)
	for _, tt := range []struct {
		ahead int64
		opens time.Time
		want  string
	}{
		{5, now.Add(68 * time.Second), "leases until 2027-01-15T08:03:00Z"},
		{4, now.Add(3 * time.Minute), "leases until 2027-01-15T08:03:00Z"},
		{3, now.Add(68 * time.Second), "leases until 2027-01-15T08:02:00Z"},
		{5, now.Add(4 * time.Minute), "leases until 2027-01-15T08:03:00Z, and make no IDs in between"},
		{5, time.Time{}, "leases until 2027-01-15T08:03:00Z, and make no IDs in between"},
	} {
		info := lease.Info{Limits: lease.Limits{Window: time.Minute, Ahead: tt.ahead}, ReserveOpens: tt.opens, Floor: floor}
		said := leftBehind(info, false, now)
		require.That(t, strings.HasSuffix(said, tt.want),
			"%d windows ahead, opens at %v: %s, want %s", tt.ahead, tt.opens, said, tt.want)
	}
}

// TestRetire: the last lease may be granted for as many windows ahead as may be, by a clock that is
// ahead of one that is behind.
func TestRetire(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		succeed(t, "", "store", "init", "--never-used", "--window", "1m", "--ahead", "5", "--max-skew", "10s", "ids")
		said := succeed(t, "", "store", "retire", "ids")
		want := "ends before 2027-01-15T08:06:20Z\n"
		require.That(t, strings.HasSuffix(said, want), "%s, want %s", said, want)
	})
}

// TestMove runs the procedure of docs/operations.md while programs make IDs. No ID repeats, and
// only a program that had just started has to wait.
func TestMove(t *testing.T) {
	for _, stores := range [][2]string{{"ids", "sqlite:ids.db"}, {"sqlite:ids.db", "ids"}} {
		for _, second := range []int{5, 55} {
			t.Run(fmt.Sprintf("%s, second %d", stores[1], second), func(t *testing.T) {
				t.Chdir(t.TempDir())
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(time.Unix(1800000000, 0)))
					move(t, stores[0], stores[1], time.Duration(second)*time.Second)
				})
			})
		}
	}
}

func move(t *testing.T, from, to string, into time.Duration) {
	f := &fleet{t, randflake.NewSecret(), map[randflake.ID]string{}, map[string]int{}}
	write(t, "secret", f.secret.Hex()+"\n")
	succeed(t, "", "store", "init", "--never-used", "--secret-file", "secret", from)
	succeed(t, "", "counter", "create", "orders", "--start", "1", "--store", from)

	old := f.start(from, "old")
	f.count(old, 1)
	f.run(6*time.Minute+into, old)
	grown := f.start(from, "grown")
	f.run(85*time.Second, old, grown)
	young := f.start(from, "young")
	f.run(5*time.Second, old, grown, young) // grown has lived a window and a half

	said := succeed(t, "", "store", "move", from, to)
	moved := time.Now()
	require.Omits(t, said, "3. Keep", "to be kept, and not there")
	_, after, _ := strings.Cut(said, "are granted from ")
	word, _, _ := strings.Cut(after, " ")
	opens, err := time.Parse(time.RFC3339, word)
	require.Must(t, err == nil && opens.Sub(moved) <= 70*time.Second, "%v: %s", err, said)
	f.run(time.Until(opens), old, grown, young)
	if r := call(t, "", "store", "info", to); !strings.Contains(r.out, " leases are of the reserve: ") {
		t.Errorf("%+v, want that leases are of the reserve", r)
	}
	var programs []*program
	for i, p := range []*program{old, grown, young} { // one after the other
		programs = append(programs, f.start(to, "new "+p.name))
		f.run(10*time.Second, append(programs, []*program{old, grown, young}[i:]...)...)
		p.stop()
	}
	f.count(programs[0], 2)
	check(t, errors.Join(os.RemoveAll("ids.gone"), os.Rename(strings.TrimPrefix(from, "sqlite:"), "ids.gone")))

	late := f.start(to, "late")
	f.run(10*time.Minute, append(programs, late)...)
	for _, p := range append(programs, late) {
		p.stop()
	}
	delete(f.refusals, "young")
	require.That(t, len(f.refusals) == 0 && len(f.ids) >= 8000, "%d IDs, refused: %v", len(f.ids), f.refusals)
}

// commandsOf returns the commands of the first block after a text of a page, with values in place of variables.
func commandsOf(t *testing.T, page, after string, values ...string) (commands [][]string) {
	t.Helper()
	content, err := os.ReadFile("../../../../docs/" + page)
	check(t, err)
	_, rest, _ := strings.Cut(string(content), after)
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, found := strings.Cut(rest, "```")
	require.Must(t, found, "%s has no block after %q", page, after)
	plain := strings.NewReplacer(append([]string{`"`, ""}, values...)...)
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(plain.Replace(line), "#")
		commands = append(commands, strings.Fields(command)[1:])
	}
	return commands
}

// TestClockAhead runs the procedure of docs/operations.md after a clock that was two hours ahead while it noted
// a loss. A program with a right clock has IDs from the old space as long as its leases last, and then from
// the new one, and no ID repeats: neither then nor in the seconds that the wrong clock was in.
func TestClockAhead(t *testing.T) {
	commands := commandsOf(t, "operations.md", "a clock that was far ahead", "$RANDFLAKE_STORE", "ids", "$NEW", "again")
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		f := &fleet{t, randflake.NewSecret(), map[randflake.ID]string{}, map[string]int{}}
		write(t, "secret", f.secret.Hex()+"\n")
		succeed(t, "", "store", "init", "--never-used", "--secret-file", "secret", "ids")
		succeed(t, "", "counter", "create", "orders", "--store", "ids")
		old := f.start("ids", "old")
		defer old.stop()
		f.count(old, 1)
		f.run(5*time.Minute, old)

		ahead := func() time.Time { return time.Now().Add(2 * time.Hour) }
		wrong, err := url.Open(t.Context(), "ids", lease.Config{Clock: ahead})
		check(t, err)
		check(t, errors.Join(wrong.ReportLoss(t.Context(), "by a wrong clock"), wrong.Close()))
		f.run(time.Second, old)
		r := call(t, "", "store", "info", "ids")
		require.That(t, r.code == exitNo && strings.Contains(r.out, "wrong  that is 1h59m0s later"),
			"%+v, want by how much the floor is too late", r)

		retired := time.Now()
		for _, args := range commands {
			succeed(t, "", args...)
		}
		f.run(time.Until(retired.Add(2*time.Minute)), old)
		require.That(t, len(f.refusals) == 0, "refused in the two minutes after that: %v", f.refusals)
		program := f.start("again", "new")
		defer program.stop()
		f.run(time.Until(retired.Add(7*time.Minute)), old, program) // its first lease is of the window of the floor
		f.count(program, 120000)
		clear(f.refusals)
		f.run(5*time.Minute, old, program)
		time.Sleep(time.Until(retired.Add(2 * time.Hour)))
		f.run(10*time.Minute, old, program)
		require.That(t, f.refusals["new"] == 0 && f.refusals["old"] >= 2000,
			"refused: %v, want none with the new space, and all with the old one", f.refusals)
	})
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

// TestTable goes from a table of nodes to a space as docs/moving.md says, and back as it says of leaving. Under one
// secret no ID repeats, and no program pauses.
func TestTable(t *testing.T) {
	commands := commandsOf(t, "moving.md", "## From a table of nodes", "STORE", "ids")
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		f := &fleet{t, randflake.NewSecret(), map[randflake.ID]string{}, map[string]int{}}
		write(t, "secret", f.secret.Hex()+"\n")
		table := []*randflake.Generator{f.byHand(0, time.Now()), f.byHand(1023, time.Now())}
		for _, args := range commands {
			succeed(t, "", args...)
		}
		programs := []*program{f.start("ids", "first"), f.start("ids", "second")}
		defer programs[0].stop()
		defer programs[1].stop()
		f.runBeside(table, 10*time.Minute, programs...)
		f.run(10*time.Minute, programs...)

		said := succeed(t, "", "store", "retire", "ids")
		_, word, _ := strings.Cut(strings.TrimSpace(said), "ends before ")
		ends, err := time.Parse(time.RFC3339, word)
		check(t, err)
		require.That(t, len(f.refusals) == 0, "refused: %v", f.refusals)
		f.run(time.Until(ends), programs...)
		f.runBeside([]*randflake.Generator{f.byHand(1024, ends), f.byHand(1025, ends)}, 10*time.Minute, programs...)
		require.That(t, f.refusals["first"] >= 1000,
			"refused: %v, want all calls after the space was retired", f.refusals)
	})
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
