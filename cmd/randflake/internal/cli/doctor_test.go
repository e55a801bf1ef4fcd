package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// wantVerdict fails the test unless doctor printed the lines that match, no other warnings or errors, and exits with the
// status that they mean.
func wantVerdict(t *testing.T, r result, wanted ...string) {
	t.Helper()
	code := exitOK
	for _, w := range wanted {
		if word, _, _ := strings.Cut(w, " "); word != "ok" {
			code = max(code, map[string]int{"warning": exitFailed, "error": exitUsage}[word])
		}
		if !regexp.MustCompile("(?m)^" + strings.ReplaceAll(w, " ", " +")).MatchString(r.out) {
			t.Errorf("no line matches %q:\n%s", w, r.out)
		}
	}
	for line := range strings.Lines(r.out) {
		known := strings.HasPrefix(line, "ok ")
		for _, w := range wanted {
			known = known || regexp.MustCompile("^"+strings.ReplaceAll(w, " ", " +")).MatchString(line)
		}
		if !known {
			t.Errorf("not expected: %s", line)
		}
	}
	if r.code != code || r.err != "" {
		t.Errorf("exit status %d, want %d: %s", r.code, code, r.err)
	}
}

// TestDoctorStore breaks a store in each way that doctor can tell. It changes nothing.
func TestDoctorStore(t *testing.T) {
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		new    bool // the secret
		query  string
		before func(t *testing.T, m memory, engine *leasetest.Memory, url string)
		args   string
		wanted []string
	}{
		"healthy": {new: true, wanted: []string{"ok store space", "ok settings the engine", "ok secret check value [0-9a-f]{16} is that", "ok clock the store has none",
			"ok losses 0", "ok ranges 1 leased, 0 released, 0 ended; 1 of 131072 nodes", "ok counters 1 ready", "ok end Randflake ends at 2058-11-05T17:10:24Z"}},
		"no secret":    {new: true, args: "--secret-file=", wanted: []string{"ok secret the store is bound to the one with check value"}},
		"new store":    {wanted: []string{"warning losses no lease starts before 20.* wait", "ok ranges 0 leased"}},
		"promises":     {new: true, query: "&recovery=trusted", wanted: []string{"ok settings recovery=trusted is a promise"}},
		"gone":         {new: true, before: func(_ *testing.T, _ memory, e *leasetest.Memory, _ string) { e.Wipe() }, wanted: []string{"error store no store in .*lease init"}},
		"other secret": {new: true, args: "--secret-file other", wanted: []string{"error secret store: space of another secret: its check value"}},
		"lost secret":  {new: true, args: "--secret-file missing", wanted: []string{"error secret .*missing: no such file"}},
		"other copy": {new: true, before: func(_ *testing.T, _ memory, e *leasetest.Memory, _ string) { e.SetLineage("restored") },
			wanted: []string{"error losses the data is another copy.* for 11m0s"}},
		"reported loss": {new: true, before: func(t *testing.T, m memory, _ *leasetest.Memory, url string) {
			m.succeed(t, "lease", "report-loss", "--store", url)
		}, wanted: []string{"warning losses no lease starts before", "error counters orders gives no number.*counter advance"}},
		"planned failover": {new: true, before: func(t *testing.T, m memory, _ *leasetest.Memory, url string) {
			m.succeed(t, "lease", "plan-failover", "--store", url)
		}, wanted: []string{"ok losses 0", "warning losses until 20.* planned failover"}},
		"server's clock": {new: true, before: func(_ *testing.T, _ memory, e *leasetest.Memory, _ string) {
			e.SetClock(func() time.Time { return time.Now().Add(-3 * time.Minute) })
		}, wanted: []string{"warning clock the server's is -3m0s ahead of this machine's, want 1m0s at most", "warning clock nodes .* by a clock that was 1[78].s ahead"}},
		"server's wrong clock": {new: true, before: func(_ *testing.T, _ memory, e *leasetest.Memory, _ string) {
			e.SetClock(func() time.Time { return time.Now().Add(day) })
		}, wanted: []string{"error clock .*set the wrong one right"}},
		"clock ahead": {new: true, before: func(t *testing.T, m memory, e *leasetest.Memory, url string) {
			m.succeedAt(t, e, 5*time.Minute, "lease", "acquire", "--store", url, "--ttl", "10m")
		}, wanted: []string{"warning clock nodes .* by a clock that was (29.|300)s ahead", "warning ranges 1 are poisoned.*forgive-clock", "ok ranges 1 leased"}},
		"distrusted clock": {new: true, before: func(t *testing.T, m memory, e *leasetest.Memory, url string) {
			leases, err := lease.On(m.open(t)), error(nil)
			var held [2]lease.Record
			for i := range held {
				held[i], _ = leases.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
			}
			for range 2 { // the second time, the holders have renewed
				for i, rec := range held {
					held[i], _ = leases.Renew(t.Context(), rec, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(time.Now())})
				}
				e.SetClock(func() time.Time { return time.Now().Add(10 * time.Minute) })
				_, err = lease.On(m.open(t)).Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
				e.SetClock(nil)
			}
			if !errors.Is(err, store.ErrClock) {
				t.Fatal(err)
			}
		}, wanted: []string{"warning clock a process whose clock said 20.* got no lease", "warning clock nodes [0-9]+ were leased"}},
		"few nodes left": {new: true, before: func(t *testing.T, m memory, _ *leasetest.Memory, url string) {
			m.succeed(t, "lease", "acquire", "--store", url, "--nodes", "110000")
		}, wanted: []string{"warning ranges 2 leased.* 110001 of 131072 .*lease fewer each"}},
		"few workers": {new: true, args: "--layout small:_time_40,_worker_1,_sequence_12;_1ms_since_2025-01-01T00:00:00Z", wanted: []string{"ok ranges .* 1 of 2 nodes"}},
		"old layout":  {new: true, args: "--layout old:_time_31,_worker_20,_sequence_12;_1ms_since_2025-01-01T00:00:00Z", wanted: []string{"error end old ends at 2025-01-25.*another layout"}},
		"counters": {new: true, before: func(t *testing.T, m memory, _ *leasetest.Memory, url string) {
			for name, n := range map[string]string{"spent": "10", "scarce": "9"} {
				m.succeed(t, "counter", "create", name, "--end", "10", "--store", url)
				m.succeed(t, "next", name, "-n", n, "--store", url)
			}
		}, wanted: []string{"ok counters spent has given all", "warning counters scarce has 1 of 10 numbers left", "ok counters 1 ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t)
			t.Chdir(t.TempDir())
			m, url := memory{}, memoryURL+c.query
			succeed(t, "", "secret", "-o", "other")
			if c.new {
				m.succeed(t, "lease", "init", "--new-secret", "--secret-file", "secret", "--store", url)
				m.succeed(t, "counter", "create", "orders", "--store", url)
				m.succeed(t, "lease", "acquire", "--store", url)
			} else {
				succeed(t, "", "secret", "-o", "secret")
				m.succeed(t, "lease", "init", "--store", url)
			}
			if c.before != nil {
				c.before(t, m, m[url], url)
			}
			args := []string{"doctor", "--store", url}
			if given := strings.Fields(c.args); len(given) == 0 || given[0] == "--layout" {
				args = append(args, "--secret-file", "secret")
			}
			for _, word := range strings.Fields(c.args) {
				if word != "--secret-file=" {
					args = append(args, strings.ReplaceAll(word, "_", " "))
				}
			}
			swaps := m[url].Swaps()
			wantVerdict(t, m.call(t, args...), c.wanted...)
			if m[url].Swaps() != swaps {
				t.Error("doctor wrote")
			}
		})
	}
}

// succeedAt is succeed while the server's clock is ahead.
func (m memory) succeedAt(t *testing.T, engine *leasetest.Memory, ahead time.Duration, args ...string) {
	t.Helper()
	engine.SetClock(func() time.Time { return time.Now().Add(ahead) })
	m.succeed(t, args...)
	engine.SetClock(nil)
}

// TestDoctorTable has what a table of IDs can show, in both kinds.
func TestDoctorTable(t *testing.T) {
	isolate(t)
	file := filepath.Join(t.TempDir(), "secret")
	cipherOf := func(secret string) *randflake.Cipher { // known secrets, as random ones give random times
		if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		parsed, err := randflake.ParseSecret(secret)
		if err != nil {
			t.Fatal(err)
		}
		return randflake.NewCipher(parsed)
	}
	other := cipherOf("00112233445566778899aabbccddeeff")
	cipher := cipherOf("dffd6021bb2bd5b0af676290809ec3a5")
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	layout := snowflake.Twitter()
	randflakes := func(c *randflake.Cipher, n int, change func(i int, f *randflake.Fields)) (lines []string) {
		for i := range n {
			f := randflake.Fields{Time: start.Add(time.Duration(i) * time.Second), Node: uint32(i % 3), Sequence: uint32(i)}
			if change != nil {
				change(i, &f)
			}
			id, err := c.Compose(f)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, strconv.FormatInt(int64(id), 10))
		}
		return lines
	}
	snowflakes := func(at ...time.Duration) (lines []string) {
		for i, d := range at {
			id, err := layout.Compose(snowflake.Fields{Time: start.Add(d), Static: map[string]uint64{"datacenter": 1, "worker": 2}, Sequence: uint64(i)})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, id.String())
		}
		return lines
	}
	good := randflakes(cipher, 1000, nil)
	foreign := randflakes(other, 400, nil)
	many := make([]time.Duration, 50)
	for i := range many {
		many[i] = time.Duration(i) * time.Second
	}
	for name, c := range map[string]struct {
		lines  []string
		args   string
		wanted []string
	}{
		"randflake": {good, "", []string{"ok table 1000 IDs of 3 workers, from 2025-03-01T00:00:00Z to 2025-03-01T00:16:39Z", "ok repeats 0 IDs", "ok times 0 are", "ok workers 0 of 3 go"}},
		"empty":     {nil, "", []string{"warning table 0 IDs, and not one"}},
		"twice":     {append(good, good[7], good[8], good[7]), "--from int", []string{"error repeats 2 IDs occur more than once: .*" + good[7] + " .3 times.", "warning workers 2 of 3 go back"}},
		"header":    {append([]string{"id"}, good...), "--from int", []string{"ok table 1000 IDs", `warning table 1 lines are no such IDs: line 1: .*"id"`}},
		"other secret": {append(good[:600:600], foreign...), "", []string{
			"error times 3.. are out of bounds: line .*: they were made by a wrong clock, or about (39|40|41). of all IDs with another secret"}},
		"future": {randflakes(cipher, 100, func(i int, f *randflake.Fields) {
			f.Time = time.Now().Add(time.Hour - time.Second*time.Duration(100-i))
		}), "", []string{"ok table 100 IDs, and not one", "error times 100 are out of bounds.*a wrong clock"}},
		"bounds": {good, "--since 2025-03-01T00:05:00Z --until 2025-03-01T00:10:00Z", []string{"error times 699 are out of bounds: line 1: 2025-03-01T00:00:00Z"}},
		"backward": {randflakes(cipher, 1000, func(i int, f *randflake.Fields) {
			if i == 500 {
				f.Time = f.Time.Add(-time.Minute)
			}
		}), "", []string{"warning workers 1 of 3 go back in time, in 1 rows: worker 2 in line 501 by 57s"}},
		"any order":         {append(good[500:1000:1000], good[:500]...), "", []string{"ok workers the rows are not in the order"}},
		"snowflake":         {snowflakes(many...), "--layout twitter", []string{"ok table 50 IDs of 1 workers, from 2025-03-01T00:00:00Z to 2025-03-01T00:00:49Z", "ok workers 0 of 1"}},
		"worker used twice": {snowflakes(append(many, many[20])...), "--layout twitter", []string{"warning workers 1 of 1 go back.* worker 34 in line 51 by 29s"}},
		"same snowflake":    {append(snowflakes(many...), snowflakes(many...)[49]), "--layout twitter", []string{"error repeats 1 IDs"}},
		"counted from 1":    {append(snowflakes(many...), "1", "2", "3"), "--layout twitter", []string{"error times 3 are out of bounds: line 51: 2010-11-04.*counted from 1"}},
		"not of a layout":   {append(snowflakes(many...), "-5"), "--layout twitter", []string{"warning table 1 lines are no such IDs: line 51"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"doctor", "--table", "-"}, strings.Fields(c.args)...)
			if !strings.Contains(c.args, "--layout") {
				args = append(args, "--secret-file", file)
			}
			wantVerdict(t, call(t, strings.Join(c.lines, "\n"), args...), c.wanted...)
		})
	}
	wantVerdict(t, call(t, "", "doctor", "--table", filepath.Join(t.TempDir(), "none"), "--secret-file", file), "error table open .*none")
	wantVerdict(t, call(t, good[0], "doctor", "--table", "-"), "error table .*")
	write(t, filepath.Join(filepath.Dir(file), "ids"), fmt.Sprintln(good[0]))
	wantVerdict(t, call(t, "", "doctor", "--table", filepath.Join(filepath.Dir(file), "ids"), "--secret-file", file), "ok table 1 IDs")
}
