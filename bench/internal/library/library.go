// Package library is the chapter that runs the library's own benchmarks: they reach what callers
// can't, such as each backend of the cipher by itself.
package library

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "library",
		About:  "the library's own benchmarks",
		Quick:  takes(true),
		Full:   takes(false),
		Run:    run,
		Render: render,
	}
}

// skipped are benchmarks that other chapters do better, beside peers.
const skipped = "GenerateLatency"

func form(quick bool) (rounds int, each time.Duration) {
	if quick {
		return 3, 50 * time.Millisecond
	}
	return 6, 300 * time.Millisecond
}

// takes reckons with about forty benchmarks, one of which takes more than a second whatever it is
// told, and with the compiler.
func takes(quick bool) time.Duration {
	rounds, each := form(quick)
	return time.Duration(rounds)*(40*each*5/4+2*time.Second) + 10*time.Second
}

// run compiles the benchmarks once and runs all of them round after round, each in a process of its
// own, so that whatever changes about the machine meanwhile meets them all alike.
func run(ctx context.Context, r *report.Results) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "randflake.test")
	if _, err := output(ctx, "go", "test", "-c", "-o", binary, "github.com/randflake/randflake"); err != nil {
		return err
	}
	rounds, each := form(r.Meta.Quick())
	var text []byte
	for round := range rounds {
		out, err := output(ctx, binary, "-test.run", "^$", "-test.bench", ".", "-test.skip", skipped, "-test.benchtime", each.String())
		if err != nil {
			return err
		}
		text = append(text, out...)
		r.Progress.At(float64(round+1) / float64(rounds))
	}
	return r.Text("library.txt", text)
}

// output returns what a command prints.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var printed, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", filepath.Base(name), err, printed.Bytes(), complaints.Bytes())
	}
	return printed.Bytes(), nil
}
