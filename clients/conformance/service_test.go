//go:build unix

package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A service is what stands behind all replicas: one space and one counter. It notes who was granted which lease, and who
// made which ID.
type service struct {
	secret randflake.Secret
	cipher *randflake.Cipher
	leases lease.Source
	minter *lease.Keeper[*randflake.Generator]

	mu     sync.Mutex
	grants map[string][]lease.Record  // by process, the newest last
	made   map[randflake.Raw]string   // by which process
	minted map[randflake.ID]time.Time // when they were given away
	number int64                      // the last one of the counter
}

func newService(t *testing.T) *service {
	space, err := store.Create(t.Context(), storetest.NewMemory().Connect(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	secret := randflake.NewSecret()
	s := &service{secret: secret, cipher: randflake.NewCipher(secret), leases: lease.On(space), grants: map[string][]lease.Record{},
		made: map[randflake.Raw]string{}, minted: map[randflake.ID]time.Time{}}
	if s.minter, err = lease.Keep(t.Context(), ledger{s.leases, s, "minter"}, secret, quiet); err != nil {
		t.Fatal(err)
	}
	return s
}

var quiet = lease.WithLogger(slog.New(slog.DiscardHandler))

// A ledger notes the leases of a process.
type ledger struct {
	lease.Source
	service *service
	process string
}

func (l ledger) Acquire(ctx context.Context, request lease.Request) (lease.Record, error) {
	return l.note(l.Source.Acquire(ctx, request))
}

func (l ledger) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	return l.note(l.Source.Renew(ctx, held, renewal))
}

func (l ledger) note(r lease.Record, err error) (lease.Record, error) {
	if err == nil {
		l.service.mu.Lock()
		defer l.service.mu.Unlock()
		l.service.grants[l.process] = append(l.service.grants[l.process], r)
	}
	return r, err
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
		if !slices.ContainsFunc(s.grants[process], func(r lease.Record) bool { return f.Within(r.Lease()) == nil }) {
			return raws, fmt.Errorf("ID %d of node %d at %v is outside the leases of %s, which had %d", id, f.Node, f.Time, process, len(s.grants[process]))
		}
	}
	return raws, nil
}

// A call is a request that a replica got.
type call struct {
	replica   int
	procedure string // such as Acquire
	arrived   time.Time
	request   struct {
		Space, Owner, Check, Counter string
		Nodes, TTLSeconds, Count     int64
		Retry                        bool
		Form                         any
	}
	lease *lease.Record // that was granted
	wrong string        // what the page does not allow
}

// A face does to a request what a replica, or the network before it, may do. good carries the request out.
type face func(w http.ResponseWriter, r *http.Request, good func() (status int, body []byte))

// An answerer is all replicas of one driver, which no other process calls. plan says what the next calls meet.
type answerer struct {
	ledger
	space   string
	token   string
	nodes   int64
	ttl     int64
	servers []*httptest.Server

	mu          sync.Mutex
	plan        func(i int, c *call) face // nil for good ones; i counts from the time that it was set
	planned     int
	calls       []*call
	busy, most  int // calls of Acquire at the same time
	connections atomic.Int32
}

const ttl = 300

func newAnswerer(s *service, process string, replicas int) *answerer {
	a := &answerer{ledger: ledger{s.leases, s, process}, space: "town", nodes: 1, ttl: ttl, token: "tok.en-" + rand.Text()}
	for i := range replicas {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.answer(i, w, r) }))
		server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { a.connections.Add(1); return ctx }
		server.Start()
		a.servers = append(a.servers, server)
	}
	return a
}

// environ returns the environment of a driver.
func (a *answerer) environ() []string {
	var addresses []string
	for _, s := range a.servers {
		addresses = append(addresses, s.URL)
	}
	return append(os.Environ(), "CONFORMANCE_DRIVER=1", "PYTHONDONTWRITEBYTECODE=1", "ADDRESSES="+strings.Join(addresses, ","), "SPACE="+a.space,
		"SECRET="+a.service.secret.Hex(), fmt.Sprint("NODES=", a.nodes), fmt.Sprint("TTL=", a.ttl), "LIMIT=30", "TOKEN="+a.token)
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
	c := &call{replica: replica, procedure: r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], arrived: time.Now()}
	if err := json.Unmarshal(body, &c.request); err != nil {
		c.wrong = err.Error()
	}
	a.check(c, r)
	var f face = right
	a.mu.Lock()
	a.calls = append(a.calls, c)
	if a.plan != nil {
		f = a.plan(a.planned, c)
		a.planned++
	}
	if c.procedure == "Acquire" {
		a.busy++
		a.most = max(a.most, a.busy)
		defer func() { a.mu.Lock(); a.busy--; a.mu.Unlock() }()
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
	want("method", r.Method, "POST")
	want("Content-Type", r.Header.Get("Content-Type"), "application/json")
	want("Connect-Protocol-Version", r.Header.Get("Connect-Protocol-Version"), "1")
	want("Authorization is right", r.Header.Get("Authorization") == authorization, true)
	want("path", r.URL.Path, "/randflake.v1."+map[string]string{"Acquire": "Lease", "Mint": "ID", "Next": "Counter"}[c.procedure]+"Service/"+c.procedure)
	if c.procedure == "Acquire" || c.procedure == "Mint" {
		want("space", q.Space, a.space)
	}
	if c.procedure == "Acquire" {
		check := a.service.secret.CheckValue()
		want("nodes", q.Nodes, a.nodes)
		want("ttlSeconds", q.TTLSeconds, a.ttl)
		want("check", q.Check, hex.EncodeToString(check[:]))
		want("digits of owner", len(q.Owner), 32)
		want("case of owner", q.Owner, strings.ToLower(q.Owner))
	}
}

// carryOut is the true service.
func (a *answerer) carryOut(ctx context.Context, c *call) (int, []byte) {
	q, s := &c.request, a.service
	switch c.procedure {
	case "Acquire":
		var owner lease.Token
		var check store.CheckValue
		if owner.UnmarshalText([]byte(q.Owner)) != nil || check.UnmarshalText([]byte(q.Check)) != nil {
			return refusal(400, "invalid_argument", "owner or check")
		}
		r, err := a.Acquire(ctx, lease.Request{Nodes: int(q.Nodes), TTL: time.Duration(q.TTLSeconds) * time.Second, Owner: owner, Retry: q.Retry, Check: check})
		if err != nil {
			code, status := "resource_exhausted", 429
			if strings.Contains(err.Error(), lease.ErrInvalidRequest.Error()) {
				code, status = "invalid_argument", 400
			}
			return refusal(status, code, err.Error())
		}
		a.mu.Lock()
		c.lease = &r
		a.mu.Unlock()
		return 200, leaseJSON(r)
	case "Mint":
		ids := make([]randflake.ID, max(q.Count, 1))
		if n, err := s.minter.Generator().Fill(ids); err != nil || n < len(ids) {
			return refusal(503, "unavailable", fmt.Sprint(n, err))
		}
		name, verb := "ids", "%s"
		if q.Form == "FORM_NUMBER" || q.Form == 2.0 {
			name, verb = "numbers", "%d"
		}
		return s.list(name, len(ids), func(i int) string { s.minted[ids[i]] = time.Now(); return fmt.Sprintf(verb, ids[i]) })
	case "Next":
		if q.Counter != "invoices" {
			return refusal(404, "not_found", "no counter "+q.Counter)
		}
		return s.list("numbers", int(max(q.Count, 1)), func(int) string { s.number += 3; return fmt.Sprint(s.number) })
	}
	return refusal(404, "unimplemented", c.procedure)
}

// list answers with n texts.
func (s *service) list(name string, n int, one func(i int) string) (int, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = one(i)
	}
	body, _ := json.Marshal(map[string]any{name: texts})
	return 200, body
}

// leaseJSON writes a lease by the JSON mapping of protobuf, which leaves zeros out.
func leaseJSON(r lease.Record) []byte {
	m := map[string]any{"owner": r.Owner.String(), "change": r.Change.String(), "version": fmt.Sprint(r.Version),
		"start": fmt.Sprint(r.Start), "highWater": fmt.Sprint(r.HighWater), "changed": fmt.Sprint(r.Changed), "signature": "of a later version", "new": []any{}}
	for name, node := range map[string]uint32{"firstNode": r.FirstNode, "lastNode": r.LastNode} {
		if node != 0 {
			m[name] = node
		}
	}
	body, _ := json.MarshalIndent(map[string]any{"lease": m}, "", " ")
	return body
}

func refusal(status int, code, message string) (int, []byte) {
	body, _ := json.Marshal(map[string]any{"code": code, "message": message, "details": []any{}})
	return status, body
}

// What may happen to a call.

func right(w http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	status, body := good()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
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
func hang(_ http.ResponseWriter, r *http.Request, _ func() (int, []byte)) {
	select {
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
}

func hangUp(w http.ResponseWriter, reset bool, said string) {
	if c, out, err := w.(http.Hijacker).Hijack(); err == nil {
		out.WriteString(said)
		out.Flush()
		if t, ok := c.(*net.TCPConn); ok && reset {
			t.SetLinger(0)
		}
		c.Close()
	}
}

// lost carries the call out, and loses the answer.
func lost(w http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	good()
	hangUp(w, false, "")
}

func reset(w http.ResponseWriter, _ *http.Request, _ func() (int, []byte)) { hangUp(w, true, "") }

func truncated(w http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	_, body := good()
	hangUp(w, false, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)-9]))
}

func oversized(w http.ResponseWriter, _ *http.Request, good func() (int, []byte)) {
	_, body := good()
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(bytes.Repeat([]byte(" "), 5<<20), body...))
}

// says answers with a status, and a body that need not fit.
func says(status int, kind, body string) face {
	return func(w http.ResponseWriter, _ *http.Request, _ func() (int, []byte)) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func fails(status int, code string) face {
	_, body := refusal(status, code, "for a test")
	return says(status, "application/json", string(body))
}

func redirects(to string) face {
	return func(w http.ResponseWriter, r *http.Request, _ func() (int, []byte)) {
		http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
	}
}

// grants changes the lease in the answer.
func grants(change func(l map[string]any)) face {
	return func(w http.ResponseWriter, r *http.Request, good func() (int, []byte)) {
		right(w, r, func() (int, []byte) {
			status, body := good()
			var answer map[string]map[string]any
			if json.Unmarshal(body, &answer) == nil && status == 200 {
				change(answer["lease"])
				body, _ = json.Marshal(answer)
			}
			return status, body
		})
	}
}
