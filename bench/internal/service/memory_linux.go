package service

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// memory returns how much randflaked has: that of the load, and a fresh one with many spaces.
func (w *testbed) memory(ctx context.Context) ([]memory, error) {
	loaded := memory{Spaces: w.spaces, When: "after all that is measured here"}
	var err error
	if loaded.Resident, err = w.daemon.resident(); err != nil {
		return nil, err
	}
	all := []memory{loaded}
	for _, n := range []int{1, 100} {
		m, err := w.fresh(ctx, n)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// fresh starts a randflaked with so many spaces, and has each make an ID.
func (w *testbed) fresh(ctx context.Context, spaces int) (m memory, err error) {
	m = memory{Spaces: spaces, When: "an ID from each space"}
	name := fmt.Sprint("daemon-", spaces)
	list := make([]space, spaces)
	for i := range list {
		list[i] = space{fmt.Sprint("space-", i), filepath.Join(w.dir, fmt.Sprint(name, "-", i)), true}
	}
	p, err := w.serve(name, list)
	if err != nil {
		return m, err
	}
	defer p.Kill()
	for _, s := range list {
		c, err := dial(ctx, p.Addr(), post(p.Addr(), "/v1/spaces/"+s.name+"/ids", asJSON, token, nil), readHTTP)
		if err != nil {
			return m, err
		}
		err = c.call(io.Discard)
		c.conn.Close()
		if err != nil {
			return m, err
		}
	}
	m.Resident, err = p.resident()
	return m, err
}
