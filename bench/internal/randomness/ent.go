package randomness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/source"
	"github.com/randflake/randflake/bench/internal/verdict"
)

// An entRow is what the program ent finds in the bytes of one source.
type entRow struct {
	Source      string  `csv:"source"`
	Bytes       printed `csv:"bytes"`
	Entropy     printed `csv:"entropy"` // bits per byte; says the same as the chi-square
	ChiSquare   printed `csv:"chi_square"`
	Mean        printed `csv:"mean"`
	Pi          printed `csv:"monte_carlo_pi"`
	Correlation printed `csv:"serial_correlation"` // of a byte with the next one
}

// A printed figure is kept with all digits that ent prints, as tiny differences count.
type printed float64

// p returns the two-sided p-values of its four figures.
func (e entRow) p() map[string]float64 {
	normal := func(value printed, mean, deviation float64) float64 {
		return math.Erfc(math.Abs(float64(value)-mean) / deviation / math.Sqrt2)
	}
	bytes := float64(e.Bytes)
	points := bytes / 6 // of the square, with two coordinates of 24 bits
	return map[string]float64{
		"chi-square":         verdict.ChiSquare(float64(e.ChiSquare), 256),
		"mean":               normal(e.Mean, 127.5, math.Sqrt((256*256-1)/12.0/bytes)),
		"pi":                 normal(e.Pi, math.Pi, math.Sqrt(math.Pi*(4-math.Pi)/points)),
		"serial correlation": normal(e.Correlation, 0, 1/math.Sqrt(bytes)),
	}
}

// runEnt has ent look at the stream, at what the command-line tool mints, and at raw values.
func runEnt(ctx context.Context, r *report.Results, amount amounts) error {
	var rows []entRow
	for _, s := range []struct {
		name   string
		stream io.Reader
		ids    int
	}{{ids, source.IDs(r.Meta.Seed), amount.ent}, {raw, source.Raw(), min(amount.ent, enough)}} {
		row, err := ent(ctx, s.name, io.LimitReader(s.stream, 8*int64(s.ids)))
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	row, err := minted(ctx, amount.ent)
	if err != nil {
		return err
	}
	return r.CSV("ent", append(rows, row))
}

// ent runs the program on all that can be read.
func ent(ctx context.Context, name string, in io.Reader) (entRow, error) {
	cmd := exec.CommandContext(ctx, "ent", "-t")
	cmd.Stdin = in
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w: install the package ent, as by apt-get install ent", err)
	}
	if err != nil {
		return entRow{}, err
	}
	return parseEnt(name, out)
}

// parseEnt reads what ent -t prints, a line of names and one of values.
func parseEnt(name string, out []byte) (entRow, error) {
	const names = "0,File-bytes,Entropy,Chi-square,Mean,Monte-Carlo-Pi,Serial-Correlation"
	head, line, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(line, ",")
	if head != names || len(fields) != 7 {
		return entRow{}, fmt.Errorf("ent prints %q", out)
	}
	var v [7]printed
	for i, field := range fields {
		figure, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return entRow{}, fmt.Errorf("ent prints %q: %w", out, err)
		}
		v[i] = printed(figure)
	}
	return entRow{name, v[1], v[2], v[3], v[4], v[5], v[6]}, nil
}

// minted has ent look at n IDs of "randflake new", under a new secret, with a lease from a new store.
func minted(ctx context.Context, n int) (entRow, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return entRow{}, err
	}
	defer os.RemoveAll(dir)
	program, home := filepath.Join(dir, "program"), filepath.Join(dir, "home")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/randflake/randflake/cmd/randflake")
	if out, err := build.CombinedOutput(); err != nil {
		return entRow{}, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	mint := exec.CommandContext(ctx, program, "new", "-n", strconv.Itoa(n), "--format", "binary")
	mint.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "RANDFLAKE_") // which would name another store
	}), "HOME="+home, "XDG_STATE_HOME="+home, "LocalAppData="+home)
	var complaints bytes.Buffer
	mint.Stderr = &complaints
	ids, err := mint.StdoutPipe()
	if err != nil {
		return entRow{}, err
	}
	if err := mint.Start(); err != nil {
		return entRow{}, err
	}
	row, err := ent(ctx, newIDs, ids)
	if failed := mint.Wait(); failed != nil {
		err = errors.Join(err, fmt.Errorf("randflake new: %w\n%s", failed, complaints.Bytes()))
	}
	return row, err
}
