//go:build unix

package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A generator is the rule of clients/README.md in Go, without a background and without forks.
type generator struct {
	addresses           []string
	space, token, fault string
	limit               time.Duration
	secret              randflake.Secret
	nodes, ttl          int64
	clock, age          int64 // ahead, in seconds
	begin               time.Time

	mu            sync.Mutex
	lease         grant // of no nodes if there is none
	since         time.Duration
	cursor        int64
	owner         string // of an acquisition whose outcome is unknown
	asked, later  time.Duration
	failed, first int // in a row; the replica that answered last
}

type grant struct {
	FirstNode, LastNode, nodes int64
	Owner                      string
	Start, HighWater           int64 `json:",string"`
}

// An outcome is an error with a code of Connect.
type outcome struct{ Code, Message string }

func (o *outcome) Error() string { return o.Code + " " + o.Message }

var finals = strings.Fields("invalid_argument not_found already_exists permission_denied unauthenticated resource_exhausted failed_precondition out_of_range unimplemented")

func (g *generator) now() int64 { return time.Now().Unix() + g.clock }
func (g *generator) mono() time.Duration {
	return time.Since(g.begin) + time.Duration(g.age)*time.Second
}

func (g *generator) next(n int64) (ids []randflake.ID, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	places, ttl, cipher := g.nodes<<17, time.Duration(g.ttl)*time.Second, randflake.NewCipher(g.secret)
	if n < 1 || n > places || strings.ContainsFunc(g.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &outcome{"invalid_argument", "want 1 to a second's places, and a token of visible ASCII"}
	}
	for {
		if g.mono()-g.since >= ttl && g.fault != "end" {
			g.lease = grant{}
		}
		if g.lease.nodes > 0 && g.mono()-g.since >= ttl*2/3 && g.mono() >= g.later {
			g.acquire() // or go on with this one
		}
		l := &g.lease
		second := min(max(g.now(), l.Start), l.HighWater)
		if g.fault == "clamp" {
			second = g.now()
		}
		g.cursor = max(g.cursor, (second-l.Start)*places)
		if l.nodes > 0 && (g.cursor+n <= (l.HighWater-l.Start+1)*places || g.fault == "end" || g.fault == "clamp") {
			for end := g.cursor + n; g.cursor < end; g.cursor++ {
				ids = append(ids, cipher.Encrypt(randflake.Raw((l.Start+g.cursor/places-randflake.Epoch)<<34+l.FirstNode<<17+g.cursor%places)))
			}
			return ids, nil
		}
		if err := g.acquire(); err != nil {
			return nil, err
		}
	}
}

func (g *generator) acquire() error {
	retry := g.owner != "" && g.mono()-g.asked <= time.Minute
	if !retry {
		g.owner, g.asked = lease.NewToken(time.Unix(g.now(), 0)).String(), g.mono()
	}
	sent := g.mono()
	body, _ := json.Marshal(map[string]any{"space": g.space, "nodes": g.nodes, "ttlSeconds": g.ttl, "owner": g.owner,
		"check": fmt.Sprintf("%x", g.secret.CheckValue()), "retry": retry})
	l, err := g.call(body)
	if err == nil {
		g.lease, g.since, g.cursor, g.owner, g.failed = l, sent, 0, "", 0
		return nil
	}
	if slices.Contains(finals, err.Code) {
		g.owner = ""
	}
	g.later = g.mono() + time.Second<<min(g.failed, 4)
	g.failed++
	return err
}

// call asks one replica after the other.
func (g *generator) call(body []byte) (l grant, err *outcome) {
	end, n := time.Now().Add(g.limit), len(g.addresses)
	for i, first := 0, g.first; i < n && (i == 0 || g.fault != "failover"); i++ {
		at := (first + i) % n
		if l, err = g.ask(g.addresses[at], body, time.Until(end)/time.Duration(n-i)); err == nil || slices.Contains(finals, err.Code) {
			g.first = at
			break
		}
	}
	return l, err
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (g *generator) ask(address string, body []byte, limit time.Duration) (grant, *outcome) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", address+"/randflake.v1.LeaseService/Acquire", bytes.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}}
	if g.token != "" {
		r.Header.Set("Authorization", "Bearer "+g.token)
	}
	a, err := noRedirects.Do(r)
	if err != nil {
		return grant{}, &outcome{"unavailable", err.Error()}
	}
	defer a.Body.Close()
	var told struct {
		outcome
		Lease grant
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, 4<<20+1))
	l := &told.Lease
	switch fits := err == nil && len(text) <= 4<<20 && json.Unmarshal(text, &told) == nil; {
	case fits && a.StatusCode != 200 && told.Code != "":
		return grant{}, &told.outcome
	case !fits || a.StatusCode != 200 || l.Owner != g.owner || l.LastNode-l.FirstNode+1 != g.nodes || l.FirstNode < 0 || l.LastNode > randflake.MaxNode ||
		l.Start < randflake.Epoch || l.HighWater < l.Start:
		return grant{}, &outcome{"unavailable", "the answer does not fit: " + a.Status}
	}
	l.nodes = g.nodes
	return *l, nil
}

// drive answers commands, as the driver of each language does.
func drive() {
	secret, err := randflake.ParseSecret(os.Getenv("SECRET"))
	g := &generator{addresses: strings.Split(os.Getenv("ADDRESSES"), ","), space: os.Getenv("SPACE"), token: os.Getenv("TOKEN"), fault: os.Getenv("FAULT"), secret: secret,
		limit: time.Duration(number(os.Getenv("LIMIT"))) * time.Second, nodes: number(os.Getenv("NODES")), ttl: number(os.Getenv("TTL")), begin: time.Now()}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := append(strings.Fields(lines.Text()), "", "")
		answer, n, failed := "ids", number(words[1]), err
		var mu sync.Mutex
		var wg sync.WaitGroup
		many := func(calls, n int64) {
			for range calls {
				ids, err := g.next(n)
				mu.Lock()
				answer, failed = answer+join(ids), cmp.Or(failed, err)
				mu.Unlock()
			}
		}
		switch words[0] {
		case "generate":
			many(n, 1)
		case "fill":
			many(1, n)
		case "threads":
			for range n {
				wg.Go(func() { many(number(words[2]), 1) })
			}
			wg.Wait()
		case "format":
			answer = "text " + randflake.ID(n).String() + strings.Repeat("0", strings.Count(g.fault, "text"))
		case "clock":
			answer, g.clock = "ok", n
		case "age":
			answer, g.age = "ok", n
		default:
			answer = "unsupported"
		}
		if failed != nil {
			answer = "error " + failed.Error()
		}
		fmt.Println(answer)
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func join(ids []randflake.ID) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, " %d", int64(id))
	}
	return b.String()
}
