// Bench produces all evidence for what the documentation says about speed and statistics, on the
// machine at hand: data, tables and pictures.
//
//	go run .                 all of it, into a new directory in out/; says first how long it takes
//	go run . -quick          the same with less data, in under three minutes
//	go run . -only a,b       some chapters
//	go run . -o DIR          into DIR
//	go run . -write          into results/, and the tables into README.md and docs/
//	go run . -render -o DIR  tables and pictures again, from the data that are there; or with -write
//	go run . -check          compare the documentation with the results
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/randflake/randflake/bench/internal/engines"
	"github.com/randflake/randflake/bench/internal/report"
	"golang.org/x/term"
)

// The repository's root and the results that the documentation tells, from the directory bench.
const (
	repository = ".."
	published  = "results"
)

func main() {
	engines.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	quick := flags.Bool("quick", false, "less data, in under three minutes")
	only := flags.String("only", "", "the chapters to run, with commas between them; default all of "+names(chapters()))
	render := flags.Bool("render", false, "measure nothing: make tables and pictures from the data that are there")
	check := flags.Bool("check", false, "change nothing: compare the documentation with the results")
	seed := flags.Uint64("seed", 1, "for the order of measurements and for keys; the same seed gives the same IDs to count")
	write := flags.Bool("write", false, "write into the checkout: results into "+published+", and their tables into README.md and docs")
	out := flags.String("o", "", "directory of the results; default a new one in out, and with -write or -check "+published)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	selected, err := choose(*only)
	if err != nil {
		return err
	}
	results := *out
	switch {
	case *write && *out != "":
		return fmt.Errorf("-write writes into %s: leave out -o, or -write", published)
	case *out != "":
	case *write || *check:
		results = published
	case *render:
		return errors.New("-render changes results: say which by -o, or by -write those of the documentation")
	default:
		results = filepath.Join("out", time.Now().Format("2006-01-02T150405"))
	}
	switch {
	case *check:
		return verify(selected, repository, results)
	case *render:
		err = renderAll(selected, results)
	default:
		err = runAll(ctx, selected, results, *quick, *seed)
	}
	if err != nil || !*write {
		return err
	}
	return report.OpenDocs(repository, results).Refresh()
}

// choose returns the chapters of the given names, or all of them.
func choose(only string) ([]report.Chapter, error) {
	if only == "" {
		return chapters(), nil
	}
	var selected []report.Chapter
next:
	for name := range strings.SplitSeq(only, ",") {
		for _, c := range chapters() {
			if c.Name == name {
				selected = append(selected, c)
				continue next
			}
		}
		return nil, fmt.Errorf("there is no chapter %q: want some of %s", name, names(chapters()))
	}
	return selected, nil
}

func names(chapters []report.Chapter) string {
	list := make([]string, len(chapters))
	for i, c := range chapters {
		list[i] = c.Name
	}
	return strings.Join(list, ",")
}

// runAll runs chapters one after another.
func runAll(ctx context.Context, selected []report.Chapter, results string, quick bool, seed uint64) error {
	fmt.Fprintf(os.Stderr, "This takes about %s (in full %s, with -quick %s), and writes into %s. Let nothing else run meanwhile.\n",
		estimate(selected, quick), estimate(selected, false), estimate(selected, true), results)
	progress := report.NewProgress(os.Stderr, term.IsTerminal(int(os.Stderr.Fd())), selected, quick)
	began := time.Now()
	for _, c := range selected {
		if err := runOne(ctx, c, results, quick, seed, progress); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	fmt.Fprintf(os.Stderr, "It took %s. The results are in %s.\n", time.Since(began).Round(time.Second), results)
	return nil
}

func estimate(selected []report.Chapter, quick bool) time.Duration {
	return report.Takes(selected, quick).Round(time.Second)
}

func runOne(ctx context.Context, c report.Chapter, results string, quick bool, seed uint64, progress *report.Progress) error {
	progress.Begin(c)
	defer progress.End()
	r, err := report.Open(results, c.Name, report.NewMeta(quick, seed), progress)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.Run(ctx, r); err != nil {
		return err
	}
	r.Meta.Seconds = time.Since(began).Seconds()
	if err := r.KeepMeta(); err != nil || c.Render == nil {
		return err
	}
	return c.Render(r)
}

// renderAll makes tables and pictures from the data of the last run.
func renderAll(selected []report.Chapter, results string) error {
	for _, c := range selected {
		if c.Render == nil {
			continue
		}
		r, err := report.Reopen(results, c.Name)
		if err != nil {
			return err
		}
		if err := c.Render(r); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// verify compares the tables with the data, and the documentation with the tables. Chapters that
// have not run have no tables: then the documentation may not show any.
func verify(selected []report.Chapter, repository, results string) error {
	failed := []error{report.OpenDocs(repository, results).Check()}
	for _, c := range selected {
		r, err := report.Reopen(results, c.Name)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			failed = append(failed, err)
		case c.Render != nil:
			failed = append(failed, c.Render(r.Verify()))
		}
	}
	return errors.Join(failed...)
}
