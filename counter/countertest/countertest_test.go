package countertest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/counter/countertest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// brokenSources are sources that the suite must find wanting.
var brokenSources = map[string]func(s counter.Source) counter.Source{
	"gives a run twice":     func(s counter.Source) counter.Source { return &givesTwice{Source: s} },
	"ignores tokens":        func(s counter.Source) counter.Source { return ignoresTokens{s} },
	"takes anything back":   func(s counter.Source) counter.Source { return takesAnything{s} },
	"takes nothing back":    func(s counter.Source) counter.Source { return takesNothing{s} },
	"skips a number a call": func(s counter.Source) counter.Source { return skips{s} },
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
	good := countertest.OnEngine(func(*testing.T) func(*testing.T) store.Engine {
		data := storetest.NewMemory()
		return func(*testing.T) store.Engine { return data.Connect() }
	})
	countertest.Run(t, func(t *testing.T, clock func() time.Time, counters []counter.Info) func() *counter.Counters {
		open := good(t, clock, counters)
		broken := breakSource(open())
		return func() *counter.Counters { return counter.From(broken, clock) }
	})
}

// givesTwice gives every tenth run to the next caller too.
type givesTwice struct {
	counter.Source
	mu    sync.Mutex
	calls int
	run   counter.Run
	name  string
	info  counter.Info
}

func (s *givesTwice) Allocate(ctx context.Context, name string, n uint64, token counter.Token) (counter.Run, counter.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.calls%10 == 0 && s.name == name && s.run.Count <= n {
		again := s.run
		again.Token = token
		return again, s.info, nil
	}
	b, info, err := s.Source.Allocate(ctx, name, n, token)
	if err == nil {
		s.run, s.info, s.name = b, info, name
	}
	return b, info, err
}

type ignoresTokens struct{ counter.Source }

func (s ignoresTokens) Allocate(ctx context.Context, name string, n uint64, token counter.Token) (counter.Run, counter.Info, error) {
	b, info, err := s.Source.Allocate(ctx, name, n, counter.NewToken(time.Unix(token.Second(), 0)))
	b.Token = token
	return b, info, err
}

type takesAnything struct{ counter.Source }

func (s takesAnything) ReturnRun(ctx context.Context, name string, b counter.Run, unused uint64) (bool, error) {
	_, err := s.Source.ReturnRun(ctx, name, b, unused)
	return true, err
}

type takesNothing struct{ counter.Source }

func (takesNothing) ReturnRun(context.Context, string, counter.Run, uint64) (bool, error) {
	return false, nil
}

type skips struct{ counter.Source }

func (s skips) Allocate(ctx context.Context, name string, n uint64, token counter.Token) (counter.Run, counter.Info, error) {
	b, info, err := s.Source.Allocate(ctx, name, n+1, token)
	if b.Count > n {
		b.First, b.Count = b.First+b.Stride, b.Count-1
	}
	return b, info, err
}
