package broken

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"time"

	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

// A request is what a process sends to the one that has the store; each has a connection of its own.
type request struct {
	Op       journal.Op
	Request  lease.Request
	Held     lease.Record
	TTL      time.Duration
	LastUsed int64         // in Unix seconds
	Patience time.Duration // how long the call may take, 0 for as long as it likes
}

// A reply is what it gets.
type reply struct {
	Record  lease.Record
	Records []lease.Record
	Outcome journal.Outcome
	Error   string
}

// Serve answers the calls of stores that Dial returned, in other processes or in this one, until
// listener is closed; then it waits for those under way and returns nil.
func Serve(listener net.Listener, store lease.Store) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("broken: serve: %w", err)
		}
		calls.Go(func() {
			defer conn.Close()
			answer(conn, store)
		})
	}
}

// patience is how long a client may take to say what it wants.
const patience = 10 * time.Second

// answer serves one call. That its client may be gone by the time of the reply is the client's
// concern: the call has taken effect.
func answer(conn net.Conn, store lease.Store) {
	var q request
	conn.SetDeadline(time.Now().Add(patience))
	if err := json.NewDecoder(conn).Decode(&q); err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	r, err := q.call(store)
	r.Outcome = journal.OutcomeOf(err)
	if err != nil {
		r.Error = err.Error()
	}
	json.NewEncoder(conn).Encode(r)
}

// call makes the call on store.
func (q request) call(store lease.Store) (r reply, err error) {
	ctx := context.Background()
	if q.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Patience)
		defer cancel()
	}
	switch q.Op {
	case journal.Acquire:
		r.Record, err = store.Acquire(ctx, q.Request)
	case journal.Renew:
		r.Record, err = store.Renew(ctx, q.Held, q.TTL)
	case journal.Lookup:
		r.Record, err = store.Lookup(ctx, q.Held)
	case journal.Release:
		err = store.Release(ctx, q.Held, time.Unix(q.LastUsed, 0).UTC())
	case journal.List:
		r.Records, err = store.List(ctx)
	default:
		err = fmt.Errorf("broken: serve: unknown operation %q", q.Op)
	}
	return r, err
}

// Dial returns a store whose calls go to the process that serves at path, a Unix socket. Each call
// has a connection of its own, so that the server may come and go; nothing is dialled before.
func Dial(path string) lease.Store { return &remote{path: path, closed: make(chan struct{})} }

type remote struct {
	path   string
	once   sync.Once
	closed chan struct{}
}

func (s *remote) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	r, err := s.call(ctx, request{Op: journal.Acquire, Request: req})
	return r.Record, err
}

func (s *remote) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (lease.Record, error) {
	r, err := s.call(ctx, request{Op: journal.Renew, Held: held, TTL: ttl})
	return r.Record, err
}

func (s *remote) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	r, err := s.call(ctx, request{Op: journal.Lookup, Held: held})
	return r.Record, err
}

func (s *remote) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	_, err := s.call(ctx, request{Op: journal.Release, Held: held, LastUsed: lastUsed.Unix()})
	return err
}

func (s *remote) List(ctx context.Context) ([]lease.Record, error) {
	r, err := s.call(ctx, request{Op: journal.List})
	return r.Records, err
}

func (s *remote) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// call sends q and waits for the reply. An error that is none of package lease's leaves the outcome
// unknown.
func (s *remote) call(ctx context.Context, q request) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	select {
	case <-s.closed:
		return reply{}, fmt.Errorf("broken: store at %s %w", s.path, fs.ErrClosed)
	default:
	}
	r, err := s.exchange(ctx, q)
	switch {
	case err != nil && ctx.Err() != nil:
		return reply{}, fmt.Errorf("broken: %s: outcome unknown: %w", q.Op, ctx.Err())
	case err != nil:
		return reply{}, fmt.Errorf("broken: %s: outcome unknown: %w", q.Op, err)
	case r.Outcome != journal.OK:
		return reply{}, remoteError{r.Error, r.Outcome.Err()}
	}
	return r, nil
}

func (s *remote) exchange(ctx context.Context, q request) (r reply, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", s.path)
	if err != nil {
		return r, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if deadline, ok := ctx.Deadline(); ok {
		q.Patience = time.Until(deadline) + time.Second // it is this end that says when it is over
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

// A remoteError is a refusal that another process put in words.
type remoteError struct {
	text string
	is   error
}

func (e remoteError) Error() string { return e.text }
func (e remoteError) Unwrap() error { return e.is }
