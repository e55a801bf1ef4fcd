package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/randflake/randflake/bench/internal/measure"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
)

// How many connections have calls for one number, and for many; and calls a second where they are paced.
const (
	atOnce = 64
	few    = 8
	due    = 15_000
)

// token is the bearer token of all callers.
const token = "token-of-bench"

// mintSpace is the space of which IDs are minted.
const mintSpace = "demo"

// A load is what connections ask for, and how answers are read.
type load struct {
	kind, name  string
	each        int
	connections int
	address     string
	request     []byte
	read        func(*bufio.Reader, io.Writer) error
	numbers     func(body []byte) ([]string, error) // of an answer
	rate        int                                 // calls a second of all connections, or 0 for as many as there can be
}

// source returns the source of a load.
func (l load) source() source {
	s := source{kind: l.kind, name: l.name, each: l.each, connect: l.callers}
	if l.rate > 0 {
		s.pace = time.Duration(l.connections) * time.Second / time.Duration(l.rate)
	}
	return s
}

// callers returns callers that connect at their first call, and what closes their connections.
func (l load) callers(ctx context.Context) ([]measure.Caller, func()) {
	ctx, disconnect := context.WithCancel(ctx)
	callers := make([]measure.Caller, l.connections)
	for i := range callers {
		var c *connection
		callers[i] = func(context.Context) (err error) {
			if c == nil {
				if c, err = dial(ctx, l.address, l.request, l.read); err != nil {
					return err
				}
			}
			return c.call(io.Discard)
		}
	}
	return callers, disconnect
}

const asJSON, asProto = "application/json", "application/proto"

// loads returns those on randflaked, and on what answers with a counter.
func loads(daemon, yardstick string) []load {
	mint := randflakev1connect.IDServiceMintProcedure
	to := func(kind, name string, each int, address, path, contentType, body string) load {
		request := post(address, path, contentType, token, []byte(body))
		l := load{kind: kind, name: name, each: each, connections: atOnce, address: address, request: request, read: readHTTP, numbers: inJSON}
		if kind == bulk {
			l.connections = few
		}
		if contentType == asProto {
			l.numbers = inProto
		}
		return l
	}
	asking := func(n int, form api.Form) string {
		return ask(&api.MintRequest{Space: mintSpace, Count: uint32(n), Form: form})
	}
	all := []load{
		to(single, yardstickName, 1, yardstick, "/next", asJSON, ""),
		to(single, "connect, a counter, protobuf", 1, yardstick, mint, asProto, asking(1, api.Form_FORM_NUMBER)),
		to(single, ours+"POST /v1/spaces/demo/ids", 1, daemon, "/v1/spaces/"+mintSpace+"/ids", asJSON, ""),
		to(single, ours+"Mint, protobuf", 1, daemon, mint, asProto, asking(1, api.Form_FORM_NUMBER)),
		to(single, ours+"POST /v1/counters/demo/next", 1, daemon, "/v1/counters/"+mintSpace+"/next", asJSON, ""),
	}
	for _, l := range []load{all[0], all[2]} {
		l.kind, l.name, l.rate = paced, fmt.Sprintf("%s, %d a second", l.name, due), due
		all = append(all, l)
	}
	for _, n := range []int{1000, 65_536} {
		text := fmt.Sprintf(`{"space":%q,"count":%d}`, mintSpace, n)
		all = append(all, to(bulk, ours+"Mint, protobuf", n, daemon, mint, asProto, asking(n, api.Form_FORM_NUMBER)),
			to(bulk, ours+"Mint, JSON", n, daemon, mint, asJSON, text))
	}
	return all
}

// incr returns a load on a server of Redis.
func incr(name, address string) load {
	request := []byte("*2\r\n$4\r\nINCR\r\n$3\r\none\r\n")
	return load{kind: single, name: name + ", INCR", each: 1, connections: atOnce, address: address, request: request, read: readRESP, numbers: inRESP}
}

// yardstickName is the source that the others are compared with, and ours begins the names of those of randflaked.
const (
	yardstickName = "net/http, a counter"
	ours          = "randflaked, "
)

func ask(m *api.MintRequest) string {
	body, err := proto.Marshal(m)
	if err != nil {
		panic(err) // never, as it is all ASCII
	}
	return string(body)
}

func inJSON(body []byte) ([]string, error) {
	var answer struct{ IDs, Numbers []string }
	err := json.Unmarshal(body, &answer)
	return slices.Concat(answer.IDs, answer.Numbers), err
}

func inProto(body []byte) (numbers []string, err error) {
	var answer api.MintResponse
	err = proto.Unmarshal(body, &answer)
	for _, n := range answer.Numbers {
		numbers = append(numbers, fmt.Sprint(n))
	}
	return numbers, err
}

func inRESP(body []byte) ([]string, error) { return []string{string(body)}, nil }
