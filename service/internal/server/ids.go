package server

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/randflake/randflake"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/internal/space"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (s service) Mint(ctx context.Context, r *connect.Request[api.MintRequest]) (*connect.Response[api.MintResponse], error) {
	c := callOf(ctx)
	if c.state.Minter == nil {
		return nil, coded(connect.CodeFailedPrecondition, "the service makes no IDs of space %s: generators that have its secret lease nodes and make them", c.in.Name)
	}
	n, err := s.batch(ctx, c, r.Msg.Count)
	if err != nil {
		return nil, err
	}
	if _, known := api.Form_name[int32(r.Msg.Form)]; !known {
		return nil, coded(connect.CodeInvalidArgument, "form %d: want FORM_TEXT or FORM_NUMBER", r.Msg.Form)
	}
	answer := &api.MintResponse{}
	answer.Ids, answer.Numbers, err = c.state.Minter(ctx, int(n), r.Msg.Form != api.Form_FORM_NUMBER)
	if err != nil {
		return nil, err
	}
	if c.setup.config.AuditMint {
		s.audit.add("mint", c.caller, minted(answer)...)
	}
	return connect.NewResponse(answer), nil
}

// minted is the audit line about new IDs.
func minted(m *api.MintResponse) []any {
	if n := len(m.Numbers); n > 0 {
		return []any{"count", n, "first", m.Numbers[0], "last", m.Numbers[n-1]}
	}
	return []any{"count", len(m.Ids), "first", m.Ids[0], "last", m.Ids[len(m.Ids)-1]}
}

func (s service) Inspect(ctx context.Context, r *connect.Request[api.InspectRequest]) (*connect.Response[api.InspectResponse], error) {
	c := callOf(ctx)
	answer, err := open(c.in, r.Msg)
	if err != nil {
		return nil, err
	}
	if answer.Time.CheckValid() != nil {
		return nil, coded(connect.CodeInvalidArgument, "the ID is of the year %d: want one that was made by now", answer.Time.AsTime().Year())
	}
	answer.Plausible = !answer.Time.AsTime().After(time.Now().Add(time.Minute))
	id := any(r.Msg.GetText())
	if id == "" {
		id = r.Msg.GetNumber()
	}
	s.audit.add("inspection", c.caller, "id", id)
	return connect.NewResponse(answer), nil
}

// open returns what an ID of a space holds.
func open(in *space.Space, m *api.InspectRequest) (*api.InspectResponse, error) {
	layout, err := in.Layout()
	if err != nil {
		return nil, err
	}
	_, isNumber := m.Id.(*api.InspectRequest_Number)
	switch {
	case m.Id == nil:
		return nil, coded(connect.CodeInvalidArgument, "no ID: want text, or number")
	case in.Kind == "ulid" && isNumber:
		return nil, space.ErrNoNumber
	case in.Kind == "ulid":
		id, err := ulid.Parse(m.GetText())
		return &api.InspectResponse{Time: timestamppb.New(ulid.Inspect(id).Time)}, err
	case layout != nil:
		id, err := readID(m, snowflake.Parse)
		if err != nil {
			return nil, err
		}
		f, err := layout.Inspect(id)
		return &api.InspectResponse{Time: timestamppb.New(f.Time), Node: uint32(worker(layout, f)), Sequence: f.Sequence}, err
	case in.Cipher != nil:
		id, err := readID(m, randflake.Parse)
		f := in.Cipher.Inspect(id)
		return &api.InspectResponse{Time: timestamppb.New(f.Time), Node: f.Node, Sequence: uint64(f.Sequence)}, err
	}
	return nil, coded(connect.CodeFailedPrecondition, "the service can't open IDs of space %s: it does not have the secret", in.Name)
}

// readID returns the ID of a request, which is a number or a text to parse.
func readID[ID ~int64 | ~uint64](m *api.InspectRequest, parse func(string) (ID, error)) (ID, error) {
	if number, ok := m.Id.(*api.InspectRequest_Number); ok {
		return ID(number.Number), nil
	}
	return parse(m.GetText())
}

// worker returns the static parts of an ID as one number, the first one highest.
func worker(layout *snowflake.Layout, f snowflake.Fields) (n uint64) {
	for _, p := range layout.Parts() {
		if value, ok := f.Static[p.Name]; ok {
			n = n<<p.Bits | value
		}
	}
	return n
}

// service implements the procedures, but for those of counters.
type service struct{ *Server }

func (s service) Take(ctx context.Context, r *connect.Request[api.TakeRequest]) (*connect.Response[api.TakeResponse], error) {
	c, m := callOf(ctx), r.Msg
	nodes := max(m.Nodes, 1)
	if most := c.limits.Nodes; most > 0 && nodes > uint32(most) {
		return nil, s.over(c, "nodes", uint64(nodes), uint64(most))
	}
	last := m.Window + int64(max(m.Windows, 1)) - 1
	leases, err := c.state.Store.Take(ctx, m.Window, last, nodes)
	if len(leases) == 0 {
		return nil, err
	}
	for _, l := range leases {
		s.auditTake(c.caller, l, cmp.Or(m.Label, c.principal))
	}
	return connect.NewResponse(takeResponse(leases)), nil
}

func takeResponse(leases []randflake.Lease) *api.TakeResponse {
	first := leases[0]
	r := &api.TakeResponse{
		FirstNode: first.FirstNode,
		LastNode:  first.LastNode,
		Start:     first.Start.Unix(),
		End:       first.End.Unix(),
	}
	for _, l := range leases[1:] {
		r.More = append(r.More, &api.Lease{
			FirstNode: l.FirstNode,
			LastNode:  l.LastNode,
			Start:     l.Start.Unix(),
			End:       l.End.Unix(),
		})
	}
	return r
}

// auditTake writes the line that says who makes the IDs of these nodes and seconds, which are those of a window.
func (s *Server) auditTake(by caller, l randflake.Lease, label string) {
	s.audit.add("take", by,
		"window", l.Start.Unix()/(l.End.Unix()-l.Start.Unix()),
		"first_node", l.FirstNode,
		"last_node", l.LastNode,
		"start", l.Start.Unix(),
		"end", l.End.Unix(),
		"label", label)
}

func (s service) GetLimits(ctx context.Context, _ *connect.Request[api.GetLimitsRequest]) (*connect.Response[api.GetLimitsResponse], error) {
	state := callOf(ctx).state
	l := state.Store.Limits()
	return connect.NewResponse(&api.GetLimitsResponse{
		WindowSeconds:  uint32(l.Window / time.Second),
		Nodes:          l.Nodes,
		Ahead:          uint32(l.Ahead),
		MaxSkewSeconds: uint32(l.MaxSkew / time.Second),
		Reserve:        l.Reserve,
		Check:          state.Check,
	}), nil
}
