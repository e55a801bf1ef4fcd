package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// This is the rule of clients/README.md in Go, without its lock around forks, for there are none.

// A client makes calls.
type client struct {
	addresses    []string
	space, token string
	limit        time.Duration
	current      atomic.Int32 // the replica that answered last
	clock, age   atomic.Int64 // seconds ahead
	begin        time.Time
	fault        string
}

func (c *client) now() int64 { return time.Now().Unix() + c.clock.Load() }
func (c *client) mono() time.Duration {
	return time.Since(c.begin) + time.Duration(c.age.Load())*time.Second
}

// An outcome is an error with a code of Connect.
type outcome struct{ Code, Message string }

func (o *outcome) Error() string { return o.Code + " " + o.Message }

var finals = []string{"invalid_argument", "not_found", "already_exists", "permission_denied", "unauthenticated", "resource_exhausted",
	"failed_precondition", "out_of_range", "unimplemented"}

func final(err error) bool {
	var o *outcome
	return errors.As(err, &o) && slices.Contains(finals, o.Code)
}

// call asks one replica after the other. An answer that check refuses counts as none.
func (c *client) call(procedure string, request map[string]any, answer any, check func() bool) (err error) {
	end, n, first := time.Now().Add(c.limit), len(c.addresses), int(c.current.Load())
	for i := range n {
		at := (first + i) % n
		share := time.Until(end) / time.Duration(n-i)
		if err = c.ask(at, share, procedure, request, answer); err == nil && !check() {
			err = &outcome{"unavailable", "the answer of " + procedure + " does not fit the call"}
		}
		if err == nil || final(err) {
			c.current.Store(int32(at))
			return err
		}
		if c.fault == "failover" {
			return err
		}
	}
	return err
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (c *client) ask(at int, limit time.Duration, procedure string, request map[string]any, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	body, _ := json.Marshal(request)
	r, err := http.NewRequestWithContext(ctx, "POST", c.addresses[at]+"/randflake.v1."+procedure, bytes.NewReader(body))
	if err != nil {
		return &outcome{"invalid_argument", "an address is no URL"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Connect-Protocol-Version", "1")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	a, err := noRedirects.Do(r)
	if err != nil {
		return &outcome{"unavailable", err.Error()}
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 4<<20+1))
	var told outcome
	switch {
	case err != nil || len(text) > 4<<20:
		return &outcome{"unavailable", "the answer is cut off, or too long"}
	case a.StatusCode != 200 && json.Unmarshal(text, &told) == nil && told.Code != "":
		return &told
	case a.StatusCode != 200 || json.Unmarshal(text, answer) != nil:
		return &outcome{"unavailable", a.Status}
	}
	return nil
}

// A tenure is a lease, and when it was asked for.
type tenure struct {
	FirstNode, LastNode int64
	Owner               string
	Start, HighWater    int64 `json:",string"`
	since               time.Duration
}

type generator struct {
	*client
	secret     randflake.Secret
	nodes, ttl int64

	mu      sync.Mutex
	process *int // that made this state, for forks that are played
	lease   *tenure
	cursor  int64
	flight  *flight
	owner   string // of an acquisition whose outcome is unknown
	asked   time.Duration
	failed  int
	later   time.Duration // no acquisition in the background before
}

// A flight is an acquisition under way.
type flight struct {
	done chan struct{}
	err  error
}

func (g *generator) next(n int64, process *int) ([]randflake.ID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	places, ttl := g.nodes<<17, time.Duration(g.ttl)*time.Second
	if n < 1 || n > places {
		return nil, &outcome{"invalid_argument", "want 1 to a second's places"}
	}
	for {
		if g.process != process && g.fault != "fork" {
			g.process, g.lease, g.owner, g.flight = process, nil, "", nil
		}
		if g.lease != nil && g.mono()-g.lease.since >= ttl && g.fault != "end" {
			g.lease = nil
		}
		if g.lease != nil && g.mono()-g.lease.since >= ttl*2/3 && g.mono() >= g.later {
			g.acquire()
		}
		if g.lease == nil {
			if err := g.wait(); err != nil {
				return nil, err
			}
			continue
		}
		l := g.lease
		second := min(max(g.now(), l.Start), l.HighWater)
		if g.cursor = max(g.cursor, (second-l.Start)*places); g.fault == "clamp" {
			g.cursor = max(g.cursor, (g.now()-l.Start)*places)
		}
		if g.cursor+n > (l.HighWater-l.Start+1)*places && g.fault != "end" && g.fault != "clamp" {
			if err := g.wait(); err != nil {
				return nil, err
			}
			continue
		}
		var ids []randflake.ID
		cipher := randflake.NewCipher(g.secret)
		for p := g.cursor; p < g.cursor+n; p++ {
			ids = append(ids, cipher.Encrypt(randflake.Raw((l.Start+p/places-randflake.Epoch)<<34+l.FirstNode<<17+p%places)))
		}
		g.cursor += n
		return ids, nil
	}
}

// wait acquires, or waits for the acquisition that is under way.
func (g *generator) wait() error {
	f := g.acquire()
	g.mu.Unlock()
	<-f.done
	g.mu.Lock()
	return f.err
}

func (g *generator) acquire() *flight {
	if g.flight != nil {
		return g.flight
	}
	f, retry := &flight{done: make(chan struct{})}, g.owner != "" && g.mono()-g.asked <= time.Minute
	if !retry {
		g.owner, g.asked = lease.NewToken(time.Unix(g.now(), 0)).String(), g.mono()
	}
	g.flight = f
	check, l := g.secret.CheckValue(), &tenure{since: g.mono()}
	request := map[string]any{"space": g.space, "nodes": g.nodes, "ttlSeconds": g.ttl, "owner": g.owner, "check": hex.EncodeToString(check[:]), "retry": retry}
	go func() {
		err := g.call("LeaseService/Acquire", request, &struct{ Lease *tenure }{l}, func() bool {
			return l.Owner == request["owner"] && l.LastNode-l.FirstNode+1 == g.nodes && 0 <= l.FirstNode && l.LastNode <= randflake.MaxNode && randflake.Epoch <= l.Start && l.Start <= l.HighWater
		})
		g.mu.Lock()
		defer g.mu.Unlock()
		defer close(f.done)
		if f.err = err; g.flight != f {
			return // forgotten
		}
		g.flight = nil
		switch {
		case err == nil:
			g.lease, g.cursor, g.owner, g.failed = l, 0, "", 0
			return
		case final(err):
			g.owner = ""
		}
		g.later = g.mono() + time.Second<<min(g.failed, 4)
		g.failed++
	}()
	return f
}

// A minter keeps IDs that the service made.
type minter struct {
	*client
	mu  sync.Mutex
	ids []randflake.ID
	at  time.Duration
}

func (m *minter) take(n int) (ids []randflake.ID, err error) {
	if n < 1 {
		return nil, &outcome{"invalid_argument", "want 1 at least"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(ids) < n {
		if m.mono()-m.at > 5*time.Minute {
			m.ids = nil
		}
		if len(m.ids) == 0 {
			if m.ids, err = m.ask(); err != nil {
				return nil, err
			}
			m.at = m.mono()
		}
		k := min(n-len(ids), len(m.ids))
		ids, m.ids = append(ids, m.ids[:k]...), m.ids[k:]
	}
	return ids, nil
}

func (m *minter) ask() (ids []randflake.ID, err error) {
	var answer struct{ Numbers []string }
	err = m.call("IDService/Mint", map[string]any{"space": m.space, "count": 512, "form": "FORM_NUMBER"}, &answer, func() bool { return len(answer.Numbers) == 512 })
	return parseIDs(answer.Numbers), err
}

func parseIDs(words []string) (ids []randflake.ID) {
	for _, word := range words {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil
		}
		ids = append(ids, randflake.ID(id))
	}
	return ids
}

func join(ids []randflake.ID) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(" " + strconv.FormatInt(int64(id), 10))
	}
	return b.String()
}

// drive answers commands, as the driver of each language does.
func drive() {
	c := &client{addresses: strings.Split(os.Getenv("ADDRESSES"), ","), space: os.Getenv("SPACE"), token: os.Getenv("TOKEN"), fault: os.Getenv("FAULT"), begin: time.Now()}
	seconds, _ := time.ParseDuration(cmp.Or(os.Getenv("LIMIT"), "10") + "s")
	secret, err := randflake.ParseSecret(os.Getenv("SECRET"))
	c.limit = seconds
	if err != nil || strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		fmt.Println("error invalid_argument want a secret, and a token of visible ASCII")
		return
	}
	here, child := new(int), new(int)
	g := &generator{client: c, secret: secret, nodes: number(os.Getenv("NODES")), ttl: number(os.Getenv("TTL")), process: here}
	m := &minter{client: c}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := append(strings.Fields(lines.Text()), "", "", "")
		answer, err := "ok", error(nil)
		many := func(calls, n int64, process *int) (ids []randflake.ID) {
			for range calls {
				some, failed := g.next(n, process)
				ids, err = append(ids, some...), cmp.Or(err, failed)
			}
			return ids
		}
		switch n := number(words[1]); words[0] {
		case "generate":
			answer = "ids" + join(many(n, 1, here))
		case "fill":
			answer = "ids" + join(many(1, n, here))
		case "threads":
			var wg sync.WaitGroup
			made, each := make([][]randflake.ID, n), number(words[2])
			for i := range made {
				wg.Go(func() {
					for range each {
						id, _ := g.next(1, here)
						made[i] = append(made[i], id...)
					}
				})
			}
			wg.Wait()
			answer = "ids" + join(slices.Concat(made...))
		case "fork": // is played
			h := &generator{client: c, secret: secret, nodes: g.nodes, ttl: g.ttl, process: here}
			g.mu.Lock()
			h.lease, h.cursor, h.owner, h.flight = g.lease, g.cursor, g.owner, g.flight
			g.mu.Unlock()
			for range number(words[2]) {
				id, failed := h.next(1, child)
				answer, err = answer+join(id), cmp.Or(err, failed)
			}
			answer = "ids" + strings.TrimPrefix(answer, "ok") + join(many(number(words[2]), 1, here))
			if words[1] != "os" {
				answer, err = "unsupported", nil
			}
		case "mint":
			var ids []randflake.ID
			ids, err = m.take(int(n))
			answer = "ids" + join(ids)
		case "next":
			var got struct{ Numbers []string }
			if err = error(&outcome{"invalid_argument", "want 1 at least"}); number(words[2]) > 0 {
				err = c.call("CounterService/Next", map[string]any{"counter": words[1], "count": number(words[2])}, &got, func() bool { return true })
			}
			answer = "numbers " + strings.Join(got.Numbers, " ")
		case "format":
			if answer = "text " + randflake.ID(n).String(); c.fault == "text" {
				answer = "text " + strconv.FormatUint(uint64(n), 32) + "0"
			}
		case "parse":
			var id randflake.ID
			id, err = randflake.Parse(words[1])
			answer = fmt.Sprintf("id %d", int64(id))
		case "inspect":
			f := randflake.NewCipher(secret).Inspect(randflake.ID(n))
			answer = fmt.Sprintln("fields", f.Time.Unix(), f.Node, f.Sequence)
		case "compose":
			var id randflake.ID
			id, err = randflake.NewCipher(secret).Compose(randflake.Fields{Time: time.Unix(n, 0), Node: uint32(number(words[2])), Sequence: uint32(number(words[3]))})
			answer = fmt.Sprintf("id %d", int64(id))
		case "secret":
			var s randflake.Secret
			if s, err = randflake.ParseSecret(words[1]); err == nil {
				check := s.CheckValue()
				answer = "check " + hex.EncodeToString(check[:])
			}
		case "clock":
			c.clock.Store(n)
		case "age":
			c.age.Store(n)
		case "copy":
			answer = "error copy a generator can't be copied"
		}
		var o *outcome
		if errors.As(err, &o) {
			answer = "error " + o.Code + " " + o.Message
		} else if err != nil {
			answer = "error invalid_argument " + err.Error()
		}
		fmt.Println(strings.TrimSpace(answer))
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
