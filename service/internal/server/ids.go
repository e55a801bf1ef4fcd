package server

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/randflake/randflake"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// idService implements the procedures of IDService.
type idService struct{ *Server }

func (s idService) Mint(ctx context.Context, r *api.MintRequest) (*api.MintResponse, error) {
	c := callOf(ctx)
	if c.state.Minter == nil {
		return nil, fmt.Errorf("%w of space %s: generators that have it lease nodes and make the IDs",
			wire.ErrNoSecret, c.found.Config.Name)
	}
	if _, known := api.Format_name[int32(r.Format)]; !known {
		return nil, coded(connect.CodeInvalidArgument, "format %d: want FORMAT_TEXT or FORMAT_NUMBER", r.Format)
	}
	n, err := s.reserveRoom(ctx, c, r.Count)
	if err != nil {
		return nil, err
	}
	answer := &api.MintResponse{}
	if r.Format == api.Format_FORMAT_NUMBER {
		answer.Numbers, err = c.state.Minter.Numbers(ctx, n)
	} else {
		answer.Ids, err = c.state.Minter.Texts(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	if c.setup.config.Audit.Mint {
		s.auditMint(c.caller, answer)
	}
	return answer, nil
}

func (s idService) auditMint(who caller, made *api.MintResponse) {
	ids := made.Ids
	for _, number := range made.Numbers {
		ids = append(ids, strconv.FormatInt(number, 10))
	}
	s.audit.add("mint", who, "count", len(ids), "first", ids[0], "last", ids[len(ids)-1])
}

// clockLead is how far the time of a plausible ID may be ahead of this clock.
const clockLead = time.Minute

func (s idService) Inspect(ctx context.Context, r *api.InspectRequest) (*api.InspectResponse, error) {
	c := callOf(ctx)
	answer, err := inspect(c.found, r)
	if err != nil {
		return nil, err
	}
	made := answer.Time.AsTime()
	if answer.Time.CheckValid() != nil { // beyond what a message can hold
		return nil, fmt.Errorf("%w: of the year %d: want one that was made by now", randflake.ErrInvalidID, made.Year())
	}
	answer.Plausible = !made.After(time.Now().Add(clockLead))
	s.audit.add("inspect", c.caller, "id", cmp.Or(r.GetText(), strconv.FormatInt(r.GetNumber(), 10)))
	return answer, nil
}

// inspect returns what an ID of a space holds. It leaves Plausible to Inspect.
func inspect(sp *space.Space, m *api.InspectRequest) (*api.InspectResponse, error) {
	if m.Id == nil {
		return nil, coded(connect.CodeInvalidArgument, "no ID: want text, or number")
	}
	if sp.Config.Kind == "ulid" {
		return inspectULID(m)
	}
	layout, err := sp.Config.OpenLayout()
	if err != nil {
		return nil, err
	}
	if layout != nil {
		return inspectSnowflake(layout, m)
	}
	if sp.Cipher == nil {
		return nil, fmt.Errorf("%w of space %s, and can't open its IDs", wire.ErrNoSecret, sp.Config.Name)
	}
	id, err := readID(m, randflake.Parse)
	if err != nil {
		return nil, err
	}
	f := sp.Cipher.Inspect(id)
	return &api.InspectResponse{
		Time:     timestamppb.New(f.Time),
		Node:     f.Node,
		Sequence: uint64(f.Sequence),
	}, nil
}

func inspectULID(m *api.InspectRequest) (*api.InspectResponse, error) {
	if _, isNumber := m.Id.(*api.InspectRequest_Number); isNumber {
		return nil, space.ErrNoNumber
	}
	id, err := ulid.Parse(m.GetText())
	if err != nil {
		return nil, err
	}
	return &api.InspectResponse{Time: timestamppb.New(ulid.Inspect(id).Time)}, nil
}

func inspectSnowflake(layout *snowflake.Layout, m *api.InspectRequest) (*api.InspectResponse, error) {
	id, err := readID(m, snowflake.Parse)
	if err != nil {
		return nil, err
	}
	f, err := layout.Inspect(id)
	if err != nil {
		return nil, err
	}
	node := worker(layout, f)
	if node > math.MaxUint32 { // which no lease has
		return nil, fmt.Errorf("%w: worker %d: want at most %d", randflake.ErrInvalidID, node, uint32(math.MaxUint32))
	}
	return &api.InspectResponse{
		Time:     timestamppb.New(f.Time),
		Node:     uint32(node),
		Sequence: f.Sequence,
	}, nil
}

// readID returns the ID of a request, which is a number, or a text to parse.
func readID[ID ~int64 | ~uint64](m *api.InspectRequest, parse func(string) (ID, error)) (ID, error) {
	if number, ok := m.Id.(*api.InspectRequest_Number); ok {
		return ID(number.Number), nil
	}
	return parse(m.GetText())
}

// worker returns the static parts of an ID as one number, the first part highest, as leases number workers.
func worker(layout *snowflake.Layout, f snowflake.Fields) (n uint64) {
	for _, p := range layout.Parts() {
		if value, ok := f.Static[p.Name]; ok {
			n = n<<p.Bits | value
		}
	}
	return n
}
