//go:build unix

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/client/wire"
)

// A service is what stands behind all replicas: one space and one counter. It records the holder of
// each lease and the maker of each ID.
type service struct {
	secret randflake.Secret
	cipher *randflake.Cipher
	space  *lease.Space
	first  int64        // the window in which drivers begin
	begin  int64        // seconds that clocks are ahead when a driver begins
	ahead  atomic.Int64 // seconds that the clocks of the service, and of drivers that are right, are ahead

	mu     sync.Mutex
	grants map[string][]randflake.Lease // by process
	made   map[randflake.Raw]string     // by which process
	minted map[randflake.ID]time.Time   // when they were given away
	number int64                        // the last one of the counter
}

// newService returns a service whose clock is in the first second of a window.
func newService(t *testing.T, window time.Duration) *service {
	secret := randflake.NewSecret()
	s := &service{secret: secret, cipher: randflake.NewCipher(secret), grants: map[string][]randflake.Lease{},
		made: map[randflake.Raw]string{}, minted: map[randflake.ID]time.Time{}}
	seconds := int64(window / time.Second)
	s.begin = seconds - time.Now().Unix()%seconds
	s.ahead.Store(s.begin)
	var err error
	s.space, err = lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{Clock: s.now, NeverUsed: true,
		CheckValue: secret.CheckValue(), Limits: lease.Limits{Window: window}})
	require.NoError(t, err)
	s.first = s.space.Limits().WindowOf(s.now())
	return s
}

func (s *service) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load()) * time.Second) }

// note notes a lease of a process.
func (s *service) note(process string, l randflake.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants[process] = append(s.grants[process], l)
}

// take notes IDs that a process made. It returns their raw values, and what is wrong with them.
func (s *service) take(process string, ids []randflake.ID) (raws []randflake.Raw, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		raw, f := s.cipher.Decrypt(id), s.cipher.Inspect(id)
		raws = append(raws, raw)
		if other, ok := s.made[raw]; ok {
			return raws, fmt.Errorf("ID %d is made twice: by %s, and by %s before", id, process, other)
		}
		s.made[raw] = process
		within := func(l randflake.Lease) bool { return f.Within(l) == nil }
		if !slices.ContainsFunc(s.grants[process], within) {
			return raws, fmt.Errorf("ID %d of node %d at %v is outside the leases of %s, which had %d",
				id, f.Node, f.Time, process, len(s.grants[process]))
		}
	}
	return raws, nil
}

// A call is a request that a replica got.
type call struct {
	replica   int
	procedure string // such as Take
	peer      string // the client's end of the connection
	arrived   time.Time
	clock     time.Time // the service's, then
	from, to  int       // seconds that the driver's monotonic clock was ahead, as that may have been set just then
	request   struct {
		Space, Counter, Label string
		Window, Count         int64
		NodeCount             uint32
		Format                any
	}
	lease randflake.Lease // that was granted
	wrong string          // what the page does not allow
}

// A face does to a request what a replica, or the network before it, may do. good carries the request out.
type face func(w http.ResponseWriter, r *http.Request, good func() (status int, body []byte))

// An answerer is all replicas of one driver, which no other process calls.
type answerer struct {
	service        *service
	process, token string
	nodes          uint32
	limit          int64
	batch          int64 // how many IDs may be minted in a call
	servers        []*httptest.Server

	mu          sync.Mutex
	met, others face // what calls meet at the replica that is asked first, and at the others
	asked       int  // the replica that was asked first, or -1
	calls       []*call
	from, to    int // seconds that the monotonic clock is ahead; they differ while the driver is told
}

const space = "town"

func newAnswerer(s *service, process string, replicas int) *answerer {
	a := &answerer{service: s, process: process, token: fmt.Sprint("tok.en-", rand.Uint64()), nodes: 1,
		limit: 30, batch: 10000, met: right, others: right}
	for i := range replicas {
		answer := func(w http.ResponseWriter, r *http.Request) { a.answer(i, w, r) }
		a.servers = append(a.servers, httptest.NewServer(http.HandlerFunc(answer)))
	}
	return a
}

// environ returns the environment of a driver.
func (a *answerer) environ() []string {
	var addresses []string
	for _, s := range a.servers {
		addresses = append(addresses, s.URL)
	}
	return append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "SPACE="+space, "TOKEN="+a.token,
		"ADDRESSES="+strings.Join(addresses, ","), "SECRET="+a.service.secret.Hex(), fmt.Sprint("NODES=", a.nodes),
		fmt.Sprint("LIMIT=", a.limit))
}

func (a *answerer) close() {
	for _, s := range a.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

func (a *answerer) answer(replica int, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return
	}
	c := &call{replica: replica, procedure: path.Base(r.URL.Path), peer: r.RemoteAddr, arrived: time.Now(), clock: a.service.now()}
	if err := json.Unmarshal(body, &c.request); err != nil {
		c.wrong = err.Error()
	}
	a.check(c, r)
	a.mu.Lock()
	c.from, c.to = a.from, a.to
	a.calls = append(a.calls, c)
	if a.asked < 0 {
		a.asked = replica
	}
	f := a.met
	if a.asked != replica {
		f = a.others
	}
	a.mu.Unlock()
	f(w, r, func() (int, []byte) { return a.carryOut(r.Context(), c) })
}

// check notes what is wrong with a request.
func (a *answerer) check(c *call, r *http.Request) {
	q, authorization := &c.request, strings.TrimSuffix("Bearer "+a.token, "Bearer ")
	want := func(what string, got, want any) {
		if got != want && c.wrong == "" {
			c.wrong = fmt.Sprintf("%s: %s %v, want %v", r.URL.Path, what, got, want)
		}
	}
	service := map[string]string{"Take": "Lease", "GetLimits": "Lease", "Mint": "ID", "Next": "Counter"}[c.procedure]
	want("method", r.Method, "POST")
	want("Content-Type", r.Header.Get("Content-Type"), "application/json")
	want("Connect-Protocol-Version", r.Header.Get("Connect-Protocol-Version"), "1")
	want("Authorization is right", r.Header.Get("Authorization") == authorization, true)
	want("path", r.URL.Path, "/randflake.v1."+service+"Service/"+c.procedure)
	want("space", q.Space, space)
	if c.procedure == "Take" {
		want("nodes", q.NodeCount, a.nodes)
		want("label is there", q.Label != "", true)
	}
}

// carryOut is the true service.
func (a *answerer) carryOut(ctx context.Context, c *call) (int, []byte) {
	q, s := &c.request, a.service
	switch c.procedure {
	case "GetLimits":
		l := s.space.Limits()
		return 200, encode(map[string]any{"windowSeconds": l.Window / time.Second, "nodeCount": l.Nodes, "ahead": l.Ahead,
			"maxSkewSeconds": 60, "checkValue": fmt.Sprintf("%x", s.secret.CheckValue())})
	case "Take":
		leases, err := s.space.Take(ctx, q.Window, q.Window, q.NodeCount)
		if err != nil {
			return sent(err)
		}
		l := leases[0]
		s.note(a.process, l)
		a.mu.Lock()
		c.lease = l
		a.mu.Unlock()
		m := map[string]any{"firstNode": l.FirstNode, "lastNode": l.LastNode, "start": fmt.Sprint(l.Start.Unix()),
			"end": fmt.Sprint(l.End.Unix()), "ofLaterVersions": []any{}}
		maps.DeleteFunc(m, func(_ string, value any) bool { return value == uint32(0) }) // as protobuf's JSON does
		return 200, encode(map[string]any{"leases": []any{m}, "ofLaterVersions": []any{}})
	case "Mint":
		if q.Count > a.batch {
			return sent(overLimit(q.Count, a.batch))
		}
		name, verb := "ids", "%s"
		if q.Format == "FORMAT_NUMBER" || q.Format == 2.0 {
			name, verb = "numbers", "%d"
		}
		return s.list(map[string]any{}, name, verb, q.Count, func() any {
			id := randflake.ID(rand.Uint64())
			s.minted[id] = time.Now()
			return id
		})
	case "Next":
		answer := map[string]any{}
		switch {
		case q.Count > a.batch:
			return sent(overLimit(q.Count, a.batch))
		case q.Counter == "daily":
			answer["period"] = "2026-11-26"
		case q.Counter != "invoices":
			return sent(lease.ErrNoCounter)
		}
		return s.list(answer, "numbers", "%d", q.Count, func() any { s.number += 3; return s.number })
	}
	return sent(connect.NewError(connect.CodeUnimplemented, errors.New(c.procedure)))
}

// list adds as many texts as asked for, or one, to an answer.
func (s *service) list(answer map[string]any, name, verb string, count int64, one func() any) (int, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for range max(count, 1) {
		texts = append(texts, fmt.Sprintf(verb, one()))
	}
	answer[name] = texts
	return 200, encode(answer)
}

func overLimit(asked, limit int64) error {
	why := &wire.LimitError{What: "count", Asked: uint64(asked), Limit: uint64(limit)}
	return connect.NewError(connect.CodePermissionDenied, why)
}

// sent returns an error as randflaked sends it.
func sent(err error) (int, []byte) {
	as, _ := wire.Error(err, "PROCEDURE", "")
	answer := httptest.NewRecorder()
	asked := httptest.NewRequest(http.MethodPost, "/", nil)
	asked.Header.Set("Content-Type", "application/json")
	connect.NewErrorWriter().Write(answer, asked, as)
	return answer.Code, answer.Body.Bytes()
}

func encode(m map[string]any) []byte {
	text, _ := json.MarshalIndent(m, "", " ")
	return text
}

// What may happen to a call.

func right(w http.ResponseWriter, r *http.Request, good func() (int, []byte)) {
	says(good())(w, r, nil)
}

func slow(w http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	_, body := good()
	for piece := range slices.Chunk(body, 40) {
		w.Write(piece)
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
	}
}

// hang never answers.
func hang(_ http.ResponseWriter, r *http.Request, _ func() (int, []byte)) { <-r.Context().Done() }

// drips begins an answer, and goes on with a byte now and then.
func drips(begin string) face {
	return func(w http.ResponseWriter, r *http.Request, _ func() (int, []byte)) {
		c, _, err := w.(http.Hijacker).Hijack()
		for end := time.Now().Add(20 * time.Second); err == nil && time.Now().Before(end); begin = " " {
			_, err = io.WriteString(c, begin)
			time.Sleep(100 * time.Millisecond)
		}
		c.Close()
	}
}

// lost carries the call out, and loses the answer.
func lost(_ http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	good()
	panic(http.ErrAbortHandler)
}

func reset(w http.ResponseWriter, _ *http.Request, _ func() (int, []byte)) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func truncated(w http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	_, body := good()
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Write(body[:len(body)-9]) // the server closes the connection then
}

// says answers with a status, and a body that need not fit.
func says(status int, body []byte) face {
	return func(w http.ResponseWriter, _ *http.Request, _ func() (int, []byte)) {
		if !bytes.HasPrefix(body, []byte("<")) {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		w.Write(body)
	}
}

func fails(code string) face {
	var of connect.Code
	if err := of.UnmarshalText([]byte(code)); err != nil {
		panic(err)
	}
	return says(sent(connect.NewError(of, errors.New("for a test"))))
}

func redirects(to string) face {
	return func(w http.ResponseWriter, r *http.Request, _ func() (int, []byte)) {
		http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
	}
}

// grants changes fields of the answer, and leaves those out that are nil.
func grants(fields map[string]any) face {
	return func(w http.ResponseWriter, r *http.Request, good func() (int, []byte)) {
		status, body := good()
		var answer map[string]any
		json.Unmarshal(body, &answer)
		granted := answer
		if leases, ok := answer["leases"].([]any); ok {
			granted = leases[0].(map[string]any)
		}
		maps.Copy(granted, fields)
		maps.DeleteFunc(granted, func(_ string, value any) bool { return value == nil })
		says(status, encode(answer))(w, r, nil)
	}
}

// delayed carries the call out, and answers after a while.
func delayed(by time.Duration) face {
	return func(w http.ResponseWriter, r *http.Request, good func() (int, []byte)) {
		status, body := good()
		time.Sleep(by)
		says(status, body)(w, r, nil)
	}
}
