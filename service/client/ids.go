package client

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// An ID is of the kind of its space: randflake, ulid, or a layout of package snowflake.
type ID interface {
	randflake.ID | snowflake.ID | ulid.ID
	String() string
}

// IDs makes and opens IDs of one space by calls of the service, for programs that must not have the secret of the
// space. It keeps some IDs ready, so most calls of Mint don't wait. An ID may have been made up to five minutes before
// Mint returns it. IDs is safe for concurrent use, and has a goroutine only while a call of the service is under way.
type IDs[I ID] struct {
	space string
	replicas[idClient]

	calls singleflight.Group // of Mint, one at a time

	mu    sync.Mutex
	ready stock[I]
	retry time.Time // after a failed call: until then only a caller that waits makes another one
}

type idClient = randflakev1connect.IDServiceClient

const (
	defaultBatch = 512
	maxBatch     = 1 << 16     // as the service has it
	mintPause    = time.Second // after a failed call
)

// NewIDs returns the IDs of a space, whose kind must be I. Calls go to addresses in the same way as
// those of [OpenLeases].
func NewIDs[I ID](space string, addresses []string, options ...Option) (*IDs[I], error) {
	s := &IDs[I]{space: space}
	if err := s.dial(addresses, options, randflakev1connect.NewIDServiceClient); err != nil {
		return nil, err
	}
	return s, nil
}

// Mint returns a new ID. It waits for the service only if no ID is ready. Concurrent callers share
// one call of the service, and its error if it fails.
func (s *IDs[I]) Mint(ctx context.Context) (I, error) {
	var one [1]I
	_, err := s.Fill(ctx, one[:])
	return one[0], err
}

// Fill is Mint for len(dst) IDs. If n < len(dst), err says why; the first n IDs are good all the
// same. For many IDs at a time see [WithBatch].
func (s *IDs[I]) Fill(ctx context.Context, dst []I) (n int, err error) {
	for {
		took, minted := s.take(dst[n:])
		n += took
		if n == len(dst) {
			return n, nil
		}
		select {
		case call := <-minted:
			if call.Err != nil {
				return n, call.Err
			}
		case <-ctx.Done():
			return n, fmt.Errorf("client: mint: stopped waiting: %w", context.Cause(ctx))
		}
	}
}

// take moves IDs that are ready to dst. If few are left, or too few for dst, it makes a call for more, or joins the
// call that is under way: minted then says when that call has ended. Otherwise minted is nil.
func (s *IDs[I]) take(dst []I) (n int, minted <-chan singleflight.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settings.now()
	n, left := s.ready.take(dst, now)
	aheadOfNeed := left <= s.settings.batch/4 && now.After(s.retry)
	if aheadOfNeed || n < len(dst) {
		minted = s.calls.DoChan("", s.fetch)
	}
	return n, minted
}

// fetch makes a call. It does not end with the context of a caller, as others wait for it, too.
func (s *IDs[I]) fetch() (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), replicaTimeout)
	defer cancel()
	asked := s.settings.now()
	n := s.settings.batch // only calls change it, and they follow one another
	ids, err := s.mint(ctx, n)
	over, isOver := errors.AsType[*wire.LimitError](err)
	if isOver && 0 < over.Limit && over.Limit < uint64(n) {
		n = int(over.Limit)
		ids, err = s.mint(ctx, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.batch = n
	if err != nil {
		s.retry = s.settings.now().Add(mintPause)
		return nil, err
	}
	s.ready.add(asked, ids)
	return nil, nil
}

// mint asks for n IDs. If an answer is lost, its IDs are never used, so the call may be repeated.
func (s *IDs[I]) mint(ctx context.Context, n int) ([]I, error) {
	answer, err := call(ctx, &s.replicas, "mint", idClient.Mint, &api.MintRequest{
		Space: s.space,
		Count: uint32(n),
	})
	if err != nil {
		return nil, err
	}
	if len(answer.Ids) != n {
		return nil, fmt.Errorf("client: mint: %d IDs: want %d", len(answer.Ids), n)
	}
	ids := make([]I, n)
	for i, text := range answer.Ids {
		id := any(&ids[i]).(encoding.TextUnmarshaler)
		if err := id.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("client: mint: space %s: its IDs are not %T: call NewIDs with their type: %w",
				s.space, ids[i], err)
		}
	}
	return ids, nil
}

// Fields are what an ID holds, as [IDs.Inspect] returns them.
type Fields struct {
	Time      time.Time // when the ID was made
	Node      uint32    // for Snowflake IDs the static parts, as one number
	Sequence  uint64
	Plausible bool // Time is at most a minute ahead of the service's clock
}

// Inspect has the service open an ID. Invalid IDs may open as well, since IDs are not authenticated.
func (s *IDs[I]) Inspect(ctx context.Context, id I) (Fields, error) {
	answer, err := call(ctx, &s.replicas, "inspect", idClient.Inspect, &api.InspectRequest{
		Space: s.space,
		Id:    &api.InspectRequest_Text{Text: id.String()},
	})
	if err != nil {
		return Fields{}, err
	}
	return Fields{
		Time:      answer.Time.AsTime(),
		Node:      answer.Node,
		Sequence:  answer.Sequence,
		Plausible: answer.Plausible,
	}, nil
}
