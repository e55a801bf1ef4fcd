package segmentstest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/segments"
	"github.com/randflake/randflake/segments/segmentstest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// brokenSources are sources that the suite must find wanting.
var brokenSources = map[string]func(s segments.Source) segments.Source{
	"gives a block twice":   func(s segments.Source) segments.Source { return &givesTwice{Source: s} },
	"ignores tokens":        func(s segments.Source) segments.Source { return ignoresTokens{s} },
	"takes anything back":   func(s segments.Source) segments.Source { return takesAnything{s} },
	"takes nothing back":    func(s segments.Source) segments.Source { return takesNothing{s} },
	"skips a number a call": func(s segments.Source) segments.Source { return skips{s} },
}

const brokenEnv = "SEGMENTSTEST_BROKEN_SOURCE"

// TestRunFindsBrokenSources is the negative control of Run.
func TestRunFindsBrokenSources(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for name := range brokenSources {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, "-test.run=^TestBrokenSource$")
			cmd.Env = append(os.Environ(), brokenEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("the suite ended with %v, want failed tests:\n%s", err, out)
			}
		})
	}
}

// TestBrokenSource is what TestRunFindsBrokenSources runs in another process.
func TestBrokenSource(t *testing.T) {
	breakSource := brokenSources[os.Getenv(brokenEnv)]
	if breakSource == nil {
		return // it runs in a process of its own
	}
	good := segmentstest.OnEngine(func(*testing.T) func(*testing.T) store.Engine {
		data := storetest.NewMemory()
		return func(*testing.T) store.Engine { return data.Connect() }
	})
	segmentstest.Run(t, func(t *testing.T, clock func() time.Time, counters []segments.Info) func() *segments.Counters {
		open := good(t, clock, counters)
		broken := breakSource(open())
		return func() *segments.Counters { return segments.From(broken, clock) }
	})
}

// givesTwice gives every tenth block to the next caller too.
type givesTwice struct {
	segments.Source
	mu    sync.Mutex
	calls int
	block segments.Block
	name  string
	info  segments.Info
}

func (s *givesTwice) Allocate(ctx context.Context, name string, n uint64, token segments.Token) (segments.Block, segments.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls%10 == 0 && s.name == name && s.block.Count <= n {
		again := s.block
		again.Token = token
		return again, s.info, nil
	}
	b, info, err := s.Source.Allocate(ctx, name, n, token)
	if err == nil {
		s.block, s.info, s.name = b, info, name
	}
	return b, info, err
}

type ignoresTokens struct{ segments.Source }

func (s ignoresTokens) Allocate(ctx context.Context, name string, n uint64, token segments.Token) (segments.Block, segments.Info, error) {
	b, info, err := s.Source.Allocate(ctx, name, n, segments.NewToken(time.Unix(token.Second(), 0)))
	b.Token = token
	return b, info, err
}

type takesAnything struct{ segments.Source }

func (s takesAnything) ReturnBlock(ctx context.Context, name string, b segments.Block, unused uint64) (bool, error) {
	_, err := s.Source.ReturnBlock(ctx, name, b, unused)
	return true, err
}

type takesNothing struct{ segments.Source }

func (takesNothing) ReturnBlock(context.Context, string, segments.Block, uint64) (bool, error) {
	return false, nil
}

type skips struct{ segments.Source }

func (s skips) Allocate(ctx context.Context, name string, n uint64, token segments.Token) (segments.Block, segments.Info, error) {
	b, info, err := s.Source.Allocate(ctx, name, n+1, token)
	if b.Count > n {
		b.First, b.Count = b.First+b.Stride, b.Count-1
	}
	return b, info, err
}
