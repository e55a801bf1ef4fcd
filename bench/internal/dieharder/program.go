package dieharder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// everything stands for all tests; others are numbers.
const everything = "all"

// A finding is one line of dieharder's report.
type finding struct {
	Test       string  `csv:"test"`
	Ntuple     int     `csv:"ntuple"`
	Tsamples   int64   `csv:"tsamples"`
	Psamples   int64   `csv:"psamples"`
	P          float64 `csv:"p"`
	Assessment string  `csv:"assessment"`
}

const (
	passed = "PASSED"
	weak   = "WEAK"
	failed = "FAILED"
)

// arguments has dieharder read raw numbers from its input and write only the lines with findings. It
// must not tell its rate, for which it would read an amount that differs from run to run.
//
// What is left as it is by default: -Y 0, since with -Y 1 a test that came out weak goes on until it
// passes or fails, which would hide how many did, and takes as long as it takes; and -k 0, which is
// exact below 5,000 p-values, of which no test makes as many.
func arguments(test string) []string {
	args := []string{"-g", "200", "-c", ","}
	for _, field := range []string{"test_name", "ntuple", "tsamples", "psamples", "pvalues", "assessment"} {
		args = append(args, "-D", field)
	}
	if test == everything {
		return append(args, "-a")
	}
	return append(args, "-d", test)
}

// dieharder runs a test, or everything, on a stream.
func dieharder(ctx context.Context, test string, stream io.Reader) ([]finding, error) {
	cmd := exec.CommandContext(ctx, "dieharder", arguments(test)...)
	cmd.Stdin = stream
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%w: install the package dieharder, as by apt-get install dieharder", err)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, complaints.Bytes())
	}
	list, err := parse(out)
	if err != nil {
		return nil, fmt.Errorf("%w\nin all it prints:\n%s", err, out) // it took long to come by
	}
	return list, nil
}

// announcement begins a line that some tests print whatever is asked for.
const announcement = "Preparing to run test"

// parse reads the lines of a report.
func parse(out []byte) (list []finding, err error) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, announcement) {
			continue
		}
		f, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("dieharder prints %q: %w", line, err)
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		return nil, errors.New("dieharder prints no findings")
	}
	return list, nil
}

func parseLine(line string) (f finding, err error) {
	fields := strings.Split(line, ",")
	if len(fields) != 6 {
		return f, fmt.Errorf("want 6 fields, have %d", len(fields))
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	var bad [4]error
	f.Test, f.Assessment = fields[0], fields[5]
	f.Ntuple, bad[0] = strconv.Atoi(fields[1])
	f.Tsamples, bad[1] = strconv.ParseInt(fields[2], 10, 64)
	f.Psamples, bad[2] = strconv.ParseInt(fields[3], 10, 64)
	f.P, bad[3] = strconv.ParseFloat(fields[4], 64)
	if err := errors.Join(bad[:]...); err != nil {
		return f, err
	}
	switch f.Assessment {
	case passed, weak, failed:
		return f, nil
	}
	return f, fmt.Errorf("unknown assessment %q", f.Assessment)
}

// counted counts what is read of a stream.
type counted struct {
	stream   io.Reader
	bytes    int64
	progress func(bytes int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.stream.Read(p)
	before := c.bytes
	c.bytes += int64(n)
	if before>>26 != c.bytes>>26 { // now and then is enough
		c.progress(c.bytes)
	}
	return n, err
}
