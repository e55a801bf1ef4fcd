package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A request is what a process sends to the one that has the engine; each has a connection of its own.
type request struct {
	storetest.Call
	Prepare bool
	Timeout time.Duration // how long the call may take, 0 for as long as it likes
}

// A reply is what it gets.
type reply struct {
	Answer  store.Answer
	NoStore bool
	Error   string
}

// Serve answers the calls of engines that Dial returned, in other processes or in this one, until
// listener is closed; then it waits for those under way and returns nil.
func Serve(listener net.Listener, engine store.Engine) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("engine: serve: %w", err)
		}
		calls.Go(func() {
			defer conn.Close()
			answer(conn, engine)
		})
	}
}

// answer serves one call. That its client may be gone by the time of the reply is the client's
// concern: the call has taken effect.
func answer(conn net.Conn, engine store.Engine) {
	var q request
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if err := json.NewDecoder(conn).Decode(&q); err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	ctx := context.Background()
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Timeout)
		defer cancel()
	}
	var r reply
	var err error
	if q.Prepare {
		err = engine.Prepare(ctx)
	} else {
		r.Answer, err = q.On(ctx, engine)
	}
	if err != nil {
		r = reply{Error: err.Error(), NoStore: errors.Is(err, store.ErrNoStore)}
	}
	json.NewEncoder(conn).Encode(r)
}

// Dial returns an engine whose calls go to the process that serves at path, a Unix socket. Each call
// has a connection of its own, so that the server may come and go; nothing is dialled before.
func Dial(path string) store.Engine { return &remote{path: path} }

type remote struct {
	path   string
	closed atomic.Bool
}

func (e *remote) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	return e.call(ctx, request{Call: storetest.Call{Names: names, Page: page}})
}

func (e *remote) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	return e.call(ctx, request{Call: storetest.Call{Swap: true, Expect: expect, Put: put}})
}

func (e *remote) Prepare(ctx context.Context) error {
	_, err := e.call(ctx, request{Prepare: true})
	return err
}

func (e *remote) Close() error   { e.closed.Store(true); return nil }
func (e *remote) String() string { return "memory at " + e.path }

// call sends q and waits for the reply. Without one the outcome is unknown.
func (e *remote) call(ctx context.Context, q request) (store.Answer, error) {
	if e.closed.Load() {
		return store.Answer{}, fmt.Errorf("engine: %s: %w", e, fs.ErrClosed)
	}
	r, err := e.exchange(ctx, q)
	switch {
	case err != nil && ctx.Err() != nil:
		return store.Answer{}, fmt.Errorf("engine: %s: outcome unknown: %w", e, ctx.Err())
	case err != nil:
		return store.Answer{}, fmt.Errorf("engine: %s: outcome unknown: %w", e, err)
	case r.NoStore:
		return store.Answer{}, fmt.Errorf("%w: %s", store.ErrNoStore, r.Error)
	case r.Error != "":
		return store.Answer{}, errors.New(r.Error)
	}
	return r.Answer, nil
}

func (e *remote) exchange(ctx context.Context, q request) (r reply, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", e.path)
	if err != nil {
		return r, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if deadline, ok := ctx.Deadline(); ok {
		q.Timeout = time.Until(deadline) + time.Second // it is this end that says when it is over
	}
	if err := json.NewEncoder(conn).Encode(q); err != nil {
		return r, err
	}
	err = json.NewDecoder(conn).Decode(&r)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return r, err
}
