package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storeurl"
)

// A job is what a pod of the runbooks' tests does; it is a process of this program.
type job struct {
	TTL    time.Duration
	Nodes  int
	Ahead  time.Duration // how far its clock is ahead
	Leaves bool          // it ends at once, without giving its lease back
	Hogs   bool          // it takes all nodes that there are, and ends
	CutOff bool          // it can't reach the store once it has a lease
	Twin   string        // the pod that it is a copy of
}

func init() {
	if text := os.Getenv("RUNBOOK_JOB"); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		if err := j.work(os.Getenv("RUNBOOK_POD")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func (j job) work(pod string) error {
	clock := func() time.Time { return time.Now().Add(j.Ahead) }
	var options []store.Option
	keeping := []lease.Option{lease.WithTTL(j.TTL), lease.WithNodes(max(j.Nodes, 1)), lease.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))}
	if j.Ahead > 0 {
		options, keeping = append(options, store.WithClock(clock)), append(keeping, lease.WithClock(clock))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	space, err := storeurl.Open(ctx, os.Getenv(storeVariable), options...)
	if err != nil {
		return err
	}
	for nodes := 1 << 17; j.Hogs && nodes > 0; {
		if _, err := lease.On(space).Acquire(ctx, lease.Request{Nodes: nodes, TTL: j.TTL}); err != nil {
			nodes /= 2
		}
	}
	if j.Hogs {
		return errors.New("took all nodes, and crashed")
	}
	if text := os.Getenv("LAYOUT"); text != "" {
		layout, err := snowflake.ParseLayout(text)
		if err != nil {
			return err
		}
		keeper, err := snowflake.Keep(ctx, lease.On(space), layout, snowflake.Leasing(keeping...))
		if err != nil {
			return err
		}
		return generate(pod, keeper)
	}
	secret, err := local.ReadSecret(os.Getenv(secretFileVariable))
	if err != nil {
		return err
	}
	var source lease.Source = lease.On(space)
	if j.CutOff {
		source = cutOff{source}
	}
	if j.Twin != "" {
		source = &copied{Source: source, of: j.Twin}
	}
	keeper, err := lease.Keep(ctx, source, secret, keeping...)
	if err != nil || j.Leaves {
		return err
	}
	return generate(pod, keeper)
}

// generate makes IDs, some hundred a second, until it is told to stop. It writes them to pod.ids, a line each, and its lease
// to pod.lease.
func generate[ID fmt.Stringer, G interface {
	lease.Generator
	Generate() (ID, error)
}](pod string, keeper *lease.Keeper[G]) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	ids, err := os.OpenFile(pod+".ids", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	for version := uint64(0); ; {
		select {
		case <-stop:
			return keeper.Close()
		case <-time.After(5 * time.Millisecond):
		}
		if id, err := keeper.Generator().Generate(); err == nil {
			fmt.Fprintln(ids, id)
		} else {
			fmt.Fprintln(os.Stderr, "refused:", err)
		}
		if record := keeper.Status().Record; record.Version != version {
			version = record.Version
			text, _ := json.Marshal(record) // can't fail
			if err := errors.Join(os.WriteFile(pod+".new", text, 0o600), os.Rename(pod+".new", pod+".lease")); err != nil {
				return err
			}
		}
	}
}

// copied is a store whose first Acquire hands out the lease of another pod: what a process finds in its memory that was
// copied together with its machine.
type copied struct {
	lease.Source
	of string
}

func (c *copied) Acquire(ctx context.Context, request lease.Request) (r lease.Record, err error) {
	if c.of == "" {
		return c.Source.Acquire(ctx, request)
	}
	text, err := os.ReadFile(c.of + ".lease")
	c.of = ""
	return r, errors.Join(err, json.Unmarshal(text, &r))
}

// cutOff is a store that can't be reached once there is a lease.
type cutOff struct{ lease.Source }

func (cutOff) Renew(context.Context, lease.Record, lease.Renewal) (lease.Record, error) {
	return lease.Record{}, context.DeadlineExceeded
}

func (c cutOff) Lookup(ctx context.Context, r lease.Record) (lease.Record, error) {
	return c.Renew(ctx, r, lease.Renewal{})
}
