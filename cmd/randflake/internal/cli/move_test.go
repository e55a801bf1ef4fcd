package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// TestLeftBehind: programs may have leases for three minutes, or for as many windows as may be
// leased ahead beside the present one. They pause if the new space grants none by then.
func TestLeftBehind(t *testing.T) {
	now := fleetBegin
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
	withFleet(t, func(f *fleet) {
		succeed(f.T, "", "store", "init", "--never-used", "--window", "1m", "--ahead", "5", "--max-skew", "10s", "ids")
		said := succeed(f.T, "", "store", "retire", "ids")
		want := "ends before 2027-01-15T08:06:20Z\n"
		require.That(f, strings.HasSuffix(said, want), "%s, want %s", said, want)
	})
}

// TestMove runs the procedure of docs/operations.md while programs make IDs. No ID repeats, and
// only a program that had just started has to wait.
func TestMove(t *testing.T) {
	for _, stores := range [][2]string{{"ids", "sqlite:ids.db"}, {"sqlite:ids.db", "ids"}} {
		for _, second := range []int{5, 55} {
			t.Run(fmt.Sprintf("%s, second %d", stores[1], second), func(t *testing.T) {
				withFleet(t, func(f *fleet) { move(f, stores[0], stores[1], time.Duration(second)*time.Second) })
			})
		}
	}
}

func move(f *fleet, from, to string, into time.Duration) {
	f.makeSpace(from, "--start", "1")
	old := f.start(from, "old")
	f.count(old, 1)
	f.run(6*time.Minute+into, old)
	grown := f.start(from, "grown")
	f.run(85*time.Second, old, grown)
	young := f.start(from, "young")
	f.run(5*time.Second, old, grown, young) // grown has lived a window and a half

	opens := moveStore(f, from, to)
	f.run(time.Until(opens), old, grown, young)
	r := call(f.T, "", "store", "info", to)
	require.Contains(f, r.out, " leases are of the reserve: ", "what info says")
	var programs []*program
	for i, p := range []*program{old, grown, young} { // one after the other
		programs = append(programs, f.start(to, "new "+p.name))
		f.run(10*time.Second, append(programs, []*program{old, grown, young}[i:]...)...)
		p.stop()
	}
	f.count(programs[0], 2)
	check(f, errors.Join(os.RemoveAll("ids.gone"), os.Rename(strings.TrimPrefix(from, "sqlite:"), "ids.gone")))

	programs = append(programs, f.start(to, "late"))
	f.run(10*time.Minute, programs...)
	for _, p := range programs {
		p.stop()
	}
	delete(f.refusals, "young")
	require.That(f, len(f.refusals) == 0 && len(f.ids) >= 8000, "%d IDs, refused: %v", len(f.ids), f.refusals)
}

// moveStore moves the space, and returns from when on the new one grants leases.
func moveStore(f *fleet, from, to string) (opens time.Time) {
	f.Helper()
	said := succeed(f.T, "", "store", "move", from, to)
	require.Omits(f, said, "3. Keep", "to be kept, and not there")
	_, after, _ := strings.Cut(said, "are granted from ")
	word, _, _ := strings.Cut(after, " ")
	opens, err := time.Parse(time.RFC3339, word)
	require.Must(f, err == nil && time.Until(opens) <= 70*time.Second, "%v: %s", err, said)
	return opens
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
	withFleet(t, func(f *fleet) {
		f.makeSpace("ids")
		old := f.start("ids", "old")
		defer old.stop()
		f.count(old, 1)
		f.run(5*time.Minute, old)

		ahead := func() time.Time { return time.Now().Add(2 * time.Hour) }
		wrong, err := url.Open(f.Context(), "ids", lease.Config{Clock: ahead})
		check(f, err)
		check(f, errors.Join(wrong.ReportLoss(f.Context(), "by a wrong clock"), wrong.Close()))
		f.run(time.Second, old)
		r := call(f.T, "", "store", "info", "ids")
		require.That(f, r.code == exitNo && strings.Contains(r.out, "wrong  that is 1h59m0s later"),
			"%+v, want by how much the floor is too late", r)

		retired := time.Now()
		for _, args := range commands {
			succeed(f.T, "", args...)
		}
		f.run(time.Until(retired.Add(2*time.Minute)), old)
		require.That(f, len(f.refusals) == 0, "refused in the two minutes after that: %v", f.refusals)
		program := f.start("again", "new")
		defer program.stop()
		f.run(time.Until(retired.Add(7*time.Minute)), old, program) // its first lease is of the window of the floor
		f.count(program, 120000)
		clear(f.refusals)
		f.run(5*time.Minute, old, program)
		time.Sleep(time.Until(retired.Add(2 * time.Hour)))
		f.run(10*time.Minute, old, program)
		require.That(f, f.refusals["new"] == 0 && f.refusals["old"] >= 2000,
			"refused: %v, want none with the new space, and all with the old one", f.refusals)
	})
}

// TestTable goes from a table of nodes to a space as docs/moving.md says, and back as it says of leaving. Under one
// secret no ID repeats, and no program pauses.
func TestTable(t *testing.T) {
	commands := commandsOf(t, "moving.md", "## From a table of nodes", "STORE", "ids")
	withFleet(t, func(f *fleet) {
		table := []*randflake.Generator{f.byHand(0, time.Now()), f.byHand(1023, time.Now())}
		for _, args := range commands {
			succeed(f.T, "", args...)
		}
		programs := []*program{f.start("ids", "first"), f.start("ids", "second")}
		defer programs[0].stop()
		defer programs[1].stop()
		f.runBeside(table, 10*time.Minute, programs...)
		f.run(10*time.Minute, programs...)

		said := succeed(f.T, "", "store", "retire", "ids")
		_, word, _ := strings.Cut(strings.TrimSpace(said), "ends before ")
		ends, err := time.Parse(time.RFC3339, word)
		check(f, err)
		require.That(f, len(f.refusals) == 0, "refused: %v", f.refusals)
		f.run(time.Until(ends), programs...)
		f.runBeside([]*randflake.Generator{f.byHand(1024, ends), f.byHand(1025, ends)}, 10*time.Minute, programs...)
		require.That(f, f.refusals["first"] >= 1000,
			"refused: %v, want all calls after the space was retired", f.refusals)
	})
}
