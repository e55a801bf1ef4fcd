package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/store"
)

// jobPatience is how long a job may take that waits for everything that it may wait for.
const jobPatience = 5 * time.Minute

// An outcome is what came of a job.
type outcome struct {
	job
	check.Result
	numbers check.Numbers // of counters
	refused [page.Kinds]uint64
	notes   []string
	took    time.Duration
	skipped error // why it could not be done
	err     error // what was not as expected
	late    bool  // err says that something came too late or was refused, and no more
}

// do runs a fault and checks what the workers noted. Its files are in dir.
func (j job) do(ctx context.Context, f flags, dir string, rate int) (o outcome) {
	o.job = j
	began := time.Now()
	defer func() { o.took = time.Since(began) }()
	ctx, cancel := context.WithTimeout(ctx, jobPatience)
	defer cancel()
	random := seeded(f.seed, j.name())
	key := make([]byte, 16)
	for i := range key {
		key[i] = byte(random.Uint32())
	}
	secret, err := randflake.SecretFromBytes(key)
	if err == nil {
		secret, err = secret.Then(secret.Derive("chaos", 2), began.Add(rotation).Truncate(time.Second))
	}
	if err != nil {
		o.err = err
		return o
	}
	settings := simulation.Settings{
		Dir:    dir,
		Start:  starts[j.store],
		Limits: j.fault.Limits,
		Secret: secret,
		Rand:   random,
		Rate:   rate,
		Short:  f.short,

		Clocked: j.fault.Clocked,
		Bug:     broken.Bug(f.bug),

		Randflaked: filepath.Join(filepath.Dir(dir), randflaked),
	}
	if settings.Limits == (store.Limits{}) {
		settings.Limits = simulation.Limits
	}
	if f.bug != "" {
		settings.StepTimeout = 3 * simulation.TTL // a script may wait in vain, but not for the sound
	}
	if j.fault.Start != nil {
		settings.Start = j.fault.Start
	}
	w, err := simulation.New(ctx, settings)
	if err == nil {
		err = w.Play(j.fault.Script)
	}
	falseAlarm := w.FalseAlarm()
	var counted []check.Counter
	if j.fault.Counts && w.Engine != nil {
		var countErr error
		counted, countErr = w.Counted()
		err = errors.Join(err, countErr)
	}
	w.End()
	if errors.Is(err, engine.ErrNotPermitted) {
		o.skipped = err
		return o
	}
	if ctx.Err() != nil {
		o.err = errors.Join(err, ctx.Err())
		return o
	}
	o.refused, o.notes = w.Refused(), w.Notes()
	var checkErr error
	if j.fault.Counts {
		o.numbers, checkErr = check.CheckNumbers(w.JournalDir(), counted, len(w.Losses()) > 0)
		checkErr = errors.Join(checkErr, o.wrongNumbers())
	} else {
		o.Result, checkErr = j.check(w, f, secret, dir)
		checkErr = errors.Join(checkErr, o.findings(w.RepeatsUntil()))
	}
	wrong, slow := errors.Join(checkErr, falseAlarm), errors.Join(err, j.judge(o))
	o.err, o.late = errors.Join(slow, wrong), wrong == nil && slow != nil
	if from := w.RepeatsFrom(); !from.IsZero() {
		o.notes = append(o.notes, fmt.Sprintf("%d IDs were made twice, the last ones in a second that began %.1f s after the copy did",
			o.Duplicates, time.Unix(o.LastDuplicate, 0).Sub(from).Seconds()))
	}
	return o
}

// rotation is when the second key of a run's secret begins: after the first leases, amid the faults.
const rotation = 4 * time.Second

// check reads the journals of all workers, which are gone.
func (j job) check(w *simulation.Simulation, f flags, secret randflake.Secret, dir string) (check.Result, error) {
	checker := check.New(check.Config{
		Secret:  secret,
		Keep:    f.keep,
		Picture: filepath.Join(dir, "calls.html"),
	})
	for _, l := range w.Losses() {
		checker.DataLost(l.Start, l.End)
	}
	if at := w.DoubtsFrom(); at > 0 {
		checker.Restarted(at)
	}
	journals, err := os.ReadDir(w.JournalDir())
	if err != nil {
		return check.Result{}, err
	}
	for _, journal := range journals {
		if err := checker.Read(filepath.Join(w.JournalDir(), journal.Name()), true); err != nil {
			return check.Result{}, err
		}
	}
	return checker.Result()
}

// judge returns what the workers met with that is not as expected.
func (j job) judge(o outcome) error {
	var errs []error
	allowed := make(map[page.Kind]bool)
	for _, k := range j.fault.May {
		allowed[k] = true
	}
	for k, n := range o.refused {
		if n > 0 && !allowed[page.Kind(k)] {
			errs = append(errs, fmt.Errorf("%d refusals for a reason that there was none for: %v", n, page.Kind(k)))
		}
	}
	for _, outcome := range j.fault.Shows {
		if o.calls(outcome) == 0 {
			errs = append(errs, fmt.Errorf("the fault had no effect: no call of the store ended with %q, but %v", outcome, o.Calls))
		}
	}
	if j.fault.Repeats && o.Duplicates == 0 {
		errs = append(errs, errors.New("the fault had no effect: no ID was repeated"))
	}
	if o.Made+o.numbers.Issued == 0 {
		errs = append(errs, errors.New("no ID was made, or no number"))
	}
	return errors.Join(errs...)
}

// calls returns how many calls of the store ended so.
func (o outcome) calls(how journal.Outcome) (n uint64) {
	for call, times := range o.Calls {
		if strings.HasSuffix(call, " "+string(how)) {
			n += times
		}
	}
	return n
}

// findings returns an error if the checks found anything, or nothing but what a fault may cause: IDs that are
// made twice, under a lease that two processes hold, and carry no second after repeatsUntil.
func (o outcome) findings(repeatsUntil int64) error {
	if o.OK() || o.fault.Repeats && o.Overlap == "" && o.Linearizable == check.Linearizable && o.LastDuplicate <= repeatsUntil {
		return nil
	}
	found := fmt.Sprintf("%d duplicates, %d IDs outside of leases, calls %s", o.Duplicates, o.Outside, o.Linearizable)
	if o.Overlap != "" {
		found += "\n" + o.Overlap
	}
	for _, d := range o.FirstDuplicates[:min(1, len(o.FirstDuplicates))] {
		found += fmt.Sprintf("\nthe first duplicate: %+v", d)
	}
	for _, d := range o.FirstOutside[:min(1, len(o.FirstOutside))] {
		found += fmt.Sprintf("\nthe first ID outside: %+v", d)
	}
	for _, v := range o.Violations {
		found += "\n" + v
	}
	return errors.New(found)
}

// wrongNumbers returns an error if anything is wrong with the numbers of counters.
func (o outcome) wrongNumbers() error {
	if o.numbers.OK() {
		return nil
	}
	return fmt.Errorf("%d numbers were issued twice, calls of strict handles are %s\n%s", o.numbers.Duplicates, o.numbers.Linearizable, strings.Join(o.numbers.Wrong, "\n"))
}

// refusals tells how often workers were refused, and why.
func (o outcome) refusals() string {
	var parts []string
	for k, n := range o.refused {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%v %d", page.Kind(k), n))
		}
	}
	return strings.Join(parts, ", ")
}

// String is a line about the outcome, and more of them if it was not as expected.
func (o outcome) String() string {
	word := "ok  "
	if o.err != nil {
		word = "FAIL"
	}
	if o.skipped != nil {
		return fmt.Sprintf("skip  %-8s  %-25s  %v", o.store, o.fault.Name, o.skipped)
	}
	made := fmt.Sprintf("%11d IDs", o.Made)
	if n := o.numbers; o.fault.Counts {
		made = fmt.Sprintf("%7d numbers  %d kills, %d lost, %d by kills, %.1f runs in a row ", n.Issued, n.Killed, n.Lost, n.ByKills, blocks(n.Longest))
	}
	line := fmt.Sprintf("%s  %-8s  %-25s  %5.1fs  %s  %s", word, o.store, o.fault.Name, o.took.Seconds(), made, o.refusals())
	for _, note := range o.notes {
		line += "\n      " + note
	}
	if o.err != nil {
		line += "\n      " + strings.ReplaceAll(o.err.Error(), "\n", "\n      ")
	}
	return line
}
