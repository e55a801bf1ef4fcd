//go:build unix

package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// A generator is the rule of clients/README.md in Go, without a background, threads and forks.
type generator struct {
	secret     randflake.Secret
	nodes, ttl int64
	clock, age int64 // ahead, in seconds
	begin      time.Time

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

var finals = strings.Fields("invalid_argument not_found already_exists permission_denied unauthenticated " +
	"resource_exhausted failed_precondition out_of_range unimplemented")

func hidden(r rune) bool { return r <= ' ' || r > '~' }

func fault(name string) bool { return os.Getenv("FAULT") == name }

func (g *generator) now() int64 { return time.Now().Unix() + g.clock }
func (g *generator) mono() time.Duration {
	return time.Since(g.begin) + time.Duration(g.age)*time.Second
}

func (g *generator) next(n int64) (ids []int64, _ *problem) {
	places, ttl, cipher := g.nodes<<17, time.Duration(g.ttl)*time.Second, randflake.NewCipher(g.secret)
	if n < 1 || n > places || strings.ContainsFunc(os.Getenv("TOKEN"), hidden) {
		return nil, &problem{"invalid_argument", "want 1 to a second's places, and a token of visible ASCII"}
	}
	for {
		g.held = g.held && (g.mono()-g.since < ttl || fault("end"))
		if g.held && g.mono()-g.since >= ttl*2/3 && g.mono() >= g.later {
			g.acquire(1) // or go on with this one
		}
		l := &g.lease
		second := min(max(g.now(), l.Start), l.HighWater)
		if fault("clamp") {
			second = g.now()
		}
		g.cursor = max(g.cursor, (second-l.Start)*places)
		end := g.cursor + n
		if g.held && (end <= (l.HighWater-l.Start+1)*places || fault("end") || fault("clamp")) {
			for ; g.cursor < end; g.cursor++ {
				raw := (l.Start+g.cursor/places-randflake.Epoch)<<34 + l.FirstNode<<17 + g.cursor%places
				ids = append(ids, int64(cipher.Encrypt(randflake.Raw(raw))))
			}
			return ids, nil
		}
		if p := g.acquire(number("LIMIT")); p != nil {
			return nil, p
		}
	}
}

// acquire asks one replica after the other, for limit seconds in all.
func (g *generator) acquire(limit int64) (p *problem) {
	retry, sent := g.owner != "" && g.mono()-g.asked <= time.Minute, g.mono()
	if !retry {
		g.owner, g.asked = lease.NewToken(time.Unix(g.now(), 0)).String(), sent
	}
	addresses, before := strings.Split(os.Getenv("ADDRESSES"), ","), g.last
	if fault("failover") {
		addresses = addresses[:1]
	}
	end, n := time.Now().Add(time.Duration(limit)*time.Second), len(addresses)
	for i := range n {
		at := (before + i) % n
		p = g.ask(addresses[at], retry || i > 0, time.Until(end)/time.Duration(n-i))
		if p == nil {
			g.held, g.since, g.cursor, g.owner, g.failed, g.last = true, sent, 0, "", 0, at
			return nil
		} else if slices.Contains(finals, p.Code) {
			if i == 0 { // or another replica may have granted it
				g.owner = ""
			}
			break
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
	body, _ := json.Marshal(map[string]any{"space": os.Getenv("SPACE"), "nodes": g.nodes, "ttlSeconds": g.ttl,
		"owner": g.owner, "check": store.KeysOf(g.secret), "retry": retry})
	url := address + "/randflake.v1.LeaseService/Acquire"
	r, _ := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}}
	if token := os.Getenv("TOKEN"); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
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
	l, reads := &told.Lease, err == nil && len(text) <= 4<<20 && json.Unmarshal(text, &told) == nil
	if known := regexp.MustCompile("^[a-z_]+$"); reads && a.StatusCode != 200 && known.MatchString(told.Code) {
		told.Message = strings.Join(strings.Fields(strings.ReplaceAll(told.Message, os.Getenv("TOKEN"), "[token]")), " ")
		return &told.problem
	} else if !reads || a.StatusCode != 200 || l.Owner != g.owner || l.LastNode-l.FirstNode+1 != g.nodes ||
		l.FirstNode < 0 || l.LastNode > randflake.MaxNode || l.Start < randflake.Epoch || l.HighWater < l.Start ||
		l.HighWater > 2809869183 {
		return &problem{"unavailable", "the answer does not fit: " + a.Status}
	}
	g.lease = *l
	return nil
}

// drive answers commands, as the driver of each language does.
func drive() {
	secret, _ := randflake.ParseSecret(os.Getenv("SECRET"))
	g := &generator{secret: secret, nodes: number("NODES"), ttl: number("TTL"), begin: time.Now()}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, text, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseInt(text, 10, 64)
		switch command {
		case "generate":
			fmt.Println(g.make(n, 1))
		case "fill":
			fmt.Println(g.make(1, n))
		case "format":
			answer := "text " + randflake.ID(n).String()
			if fault("text") {
				answer += "0"
			}
			fmt.Println(answer)
		case "clock":
			g.clock = n
			fmt.Println("ok")
		case "age":
			g.age = n
			fmt.Println("ok")
		default:
			fmt.Println("unsupported")
		}
	}
}

func (g *generator) make(calls, n int64) string {
	var answer strings.Builder
	for range calls {
		ids, p := g.next(n)
		if p != nil {
			return "error " + p.Code + " " + p.Message
		}
		answer.WriteString(" " + strings.Trim(fmt.Sprint(ids), "[]"))
	}
	return "ids" + answer.String()
}

func number(variable string) int64 {
	n, _ := strconv.ParseInt(os.Getenv(variable), 10, 64)
	return n
}
