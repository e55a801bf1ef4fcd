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
	"github.com/randflake/randflake/store"
)

// A generator is the rule of clients/README.md in Go, without a background and without forks.
type generator struct {
	addresses           []string
	space, token, fault string
	secret              randflake.Secret
	nodes, ttl, limit   int64
	clock, age          int64 // ahead, in seconds
	begin               time.Time

	mu           sync.Mutex
	held         bool
	lease        grant
	since        time.Duration
	cursor       int64
	owner        string // of an acquisition whose outcome is unknown
	asked, later time.Duration
	failed, last int // acquisitions in a row; the replica that answered last
}

type grant struct {
	FirstNode, LastNode int64
	Owner               string
	Start, HighWater    int64 `json:",string"`
}

// A problem is an error with a code of Connect.
type problem struct{ Code, Message string }

func (p *problem) Error() string { return p.Code + " " + p.Message }

var finals = strings.Fields("invalid_argument not_found already_exists permission_denied unauthenticated " +
	"resource_exhausted failed_precondition out_of_range unimplemented")

func (p *problem) final() bool { return p != nil && slices.Contains(finals, p.Code) }

func (g *generator) now() int64 { return time.Now().Unix() + g.clock }
func (g *generator) mono() time.Duration {
	return time.Since(g.begin) + time.Duration(g.age)*time.Second
}

func (g *generator) next(n int64) (ids []int64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	places, ttl, cipher := g.nodes<<17, time.Duration(g.ttl)*time.Second, randflake.NewCipher(g.secret)
	if n < 1 || n > places || strings.ContainsFunc(g.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &problem{"invalid_argument", "want 1 to a second's places, and a token of visible ASCII"}
	}
	for {
		g.held = g.held && (g.mono()-g.since < ttl || g.fault == "end")
		if g.held && g.mono()-g.since >= ttl*2/3 && g.mono() >= g.later {
			g.acquire(1) // or go on with this one
		}
		l := &g.lease
		second := min(max(g.now(), l.Start), l.HighWater)
		if g.fault == "clamp" {
			second = g.now()
		}
		g.cursor = max(g.cursor, (second-l.Start)*places)
		end := g.cursor + n
		if g.held && (end <= (l.HighWater-l.Start+1)*places || g.fault == "end" || g.fault == "clamp") {
			for ; g.cursor < end; g.cursor++ {
				raw := (l.Start+g.cursor/places-randflake.Epoch)<<34 + l.FirstNode<<17 + g.cursor%places
				ids = append(ids, int64(cipher.Encrypt(randflake.Raw(raw))))
			}
			return ids, nil
		}
		if p := g.acquire(g.limit); p != nil {
			return nil, p
		}
	}
}

// acquire asks one replica after the other, for limit seconds in all.
func (g *generator) acquire(limit int64) (p *problem) {
	retry, sent, silent := g.owner != "" && g.mono()-g.asked <= time.Minute, g.mono(), false
	if !retry {
		g.owner, g.asked = lease.NewToken(time.Unix(g.now(), 0)).String(), sent
	}
	end, n, before := time.Now().Add(time.Duration(limit)*time.Second), len(g.addresses), g.last
	for i := 0; i < n && (i == 0 || silent && g.fault != "failover"); i++ {
		at := (before + i) % n
		p = g.ask(g.addresses[at], retry || i > 0, time.Until(end)/time.Duration(n-i))
		if p == nil {
			g.held, g.since, g.cursor, g.owner, g.failed, g.last = true, sent, 0, "", 0, at
			return nil
		}
		silent = !p.final()
		if !silent && i == 0 {
			g.owner = "" // no other replica may have granted it
		}
	}
	g.later = g.mono() + time.Second<<min(g.failed, 4)
	g.failed++
	return p
}

var client = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (g *generator) ask(address string, retry bool, limit time.Duration) *problem {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	body, _ := json.Marshal(map[string]any{"space": g.space, "nodes": g.nodes, "ttlSeconds": g.ttl, "owner": g.owner,
		"check": store.CheckValue(g.secret.CheckValue()), "retry": retry})
	url := address + "/randflake.v1.LeaseService/Acquire"
	r, _ := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}}
	if g.token != "" {
		r.Header.Set("Authorization", "Bearer "+g.token)
	}
	a, err := client.Do(r)
	if err != nil {
		return &problem{"unavailable", err.Error()}
	}
	defer a.Body.Close()
	var told struct {
		problem
		Lease grant
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, 4<<20+1))
	if err != nil || len(text) > 4<<20 || json.Unmarshal(text, &told) != nil {
		return &problem{"unavailable", "the answer can't be read: " + a.Status}
	} else if a.StatusCode != 200 && told.Code != "" {
		return &told.problem
	}
	l := told.Lease
	if a.StatusCode != 200 || l.Owner != g.owner || l.LastNode-l.FirstNode+1 != g.nodes || l.FirstNode < 0 ||
		l.LastNode > randflake.MaxNode || l.Start < randflake.Epoch || l.HighWater < l.Start {
		return &problem{"unavailable", "the answer does not fit: " + a.Status}
	}
	g.lease = l
	return nil
}

// drive answers commands, as the driver of each language does.
func drive() {
	env := os.Getenv
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
	secret, err := randflake.ParseSecret(env("SECRET"))
	g := &generator{addresses: strings.Split(env("ADDRESSES"), ","), space: env("SPACE"), token: env("TOKEN"),
		fault: env("FAULT"), secret: secret, nodes: number(env("NODES")), ttl: number(env("TTL")),
		limit: number(env("LIMIT")), begin: time.Now()}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := append(strings.Fields(lines.Text()), "", "")
		answer, n, failed := "ids", number(words[1]), err
		var mu sync.Mutex
		var wg sync.WaitGroup
		many := func(calls, n int64) {
			for range calls {
				ids, err := g.next(n)
				mu.Lock()
				answer, failed = answer+" "+strings.Trim(fmt.Sprint(ids), "[]"), cmp.Or(failed, err)
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
