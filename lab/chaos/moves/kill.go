package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/randflake/randflake/lease"
)

var errKilled = errors.New("killed")

// A killer kills a move, which is run again and again, once before each call of its engines and once after its effect.
type killer struct {
	killed map[string]bool // where it was killed
	calls  map[string]int  // of the present run
	dead   bool
}

// again begins the next run.
func (k *killer) again() {
	k.calls = map[string]int{}
	k.dead = false
}

func (k *killer) call(what string, do func() error) error {
	k.calls[what]++
	call := fmt.Sprintf("%s, call %d", what, k.calls[what])
	if k.dies("before " + call) {
		return errKilled
	}
	err := do()
	if k.dies("after " + call) {
		return errKilled
	}
	return err
}

func (k *killer) dies(where string) bool {
	if !k.dead && !k.killed[where] {
		k.killed[where] = true
		k.dead = true
	}
	return k.dead
}

// killable is an engine of the move.
type killable struct {
	lease.Engine
	side string // of the move that it is on
	*killer
}

func (e killable) Read(ctx context.Context, names ...string) (a lease.Answer, err error) {
	err = e.call(e.side+": read "+strings.Join(names, " "), func() error {
		a, err = e.Engine.Read(ctx, names...)
		return err
	})
	return a, err
}

func (e killable) Swap(ctx context.Context, expect, put []lease.Entry) (a lease.Answer, err error) {
	what := e.side + ": swap"
	for _, entry := range put {
		what += " " + entry.Name
	}
	err = e.call(what, func() error {
		a, err = e.Engine.Swap(ctx, expect, put)
		return err
	})
	return a, err
}

func (e killable) List(ctx context.Context, prefix, after string, limit int) (entries []lease.Entry, err error) {
	err = e.call(e.side+": list "+after, func() error {
		entries, err = e.Engine.List(ctx, prefix, after, limit)
		return err
	})
	return entries, err
}

func (e killable) Prepare(ctx context.Context) error {
	return e.call(e.side+": prepare", func() error { return e.Engine.Prepare(ctx) })
}
