//go:build unix

// Package conformance plays the service, the clock and the system for the clients in all languages, and opens every ID.
package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // most of them wait
	os.Exit(m.Run())
}

// A part of the suite. If a driver plants the fault, the part must fail like that.
type part struct {
	name           string
	run            func(*trial)
	fault, failure string
}

var parts = []part{
	{"text", text, "text", "format"},
	{"parse", parse, "", ""},
	{"secrets", secrets, "", ""},
	{"claims", claims, "", ""},
	{"turns", turns, "", ""},
	{"backoff", backoff, "", ""},
	{"end", end, "end", "want an error"},
	{"clock", clock, "clamp", "outside"},
	{"answers", answers, "", ""},
	{"failover", failover, "failover", "unavailable"},
	{"tokens", tokens, "", ""},
	{"forks", forks, "fork", "made twice|acquisitions after a fork"},
	{"threads", threads, "", ""},
	{"mint", mints, "", ""},
	{"counter", counters, "", ""},
	{"copy", copies, "", ""},
}

func TestClients(t *testing.T) {
	for _, l := range here(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range parts {
				if slices.Contains(strings.Fields(l.lacks), p.name) {
					continue
				}
				t.Run(p.name, func(t *testing.T) {
					if failed := try(t, l, "", p.run); failed != "" {
						t.Error(failed)
					}
					if p.fault == "" {
						return
					}
					if failed := try(t, l, p.fault, p.run); !regexp.MustCompile(p.failure).MatchString(failed) {
						t.Errorf("with the fault %s: %q, want a failure that says %q", p.fault, failed, p.failure)
					}
				})
			}
		})
	}
}

type vector struct{ Secret, ID, Text string }

func vectors(x *trial) []vector {
	var file struct{ Vectors []vector }
	data, err := os.ReadFile("../../testdata/randflake.json")
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil || len(file.Vectors) == 0 {
		x.t.Fatal(len(file.Vectors), err)
	}
	return append(file.Vectors, vector{ID: "0", Text: "0"}, vector{ID: "-1", Text: "fvvvvvvvvvvvv"},
		vector{ID: fmt.Sprint(math.MinInt64), Text: "8000000000000"}, vector{ID: "32", Text: "10"})
}

func text(x *trial) {
	d := x.start(1)
	for _, v := range vectors(x) {
		d.gives("text "+v.Text, "format %s", v.ID)
	}
}

func parse(x *trial) {
	d := x.start(1)
	for _, v := range vectors(x) {
		d.gives("id "+v.ID, "parse %s", v.Text)
	}
	for _, bad := range strings.Fields("w A 01 g000000000000 10000000000000 -1 1= \u0660 1.0 0x1") {
		d.refuses("invalid_argument", "parse %s", bad)
	}
}

func secrets(x *trial) {
	d := x.start(1)
	hex := x.service.secret.Hex()
	for _, v := range vectors(x) {
		if s, err := randflake.ParseSecret(v.Secret); err == nil {
			d.gives(fmt.Sprintf("check %x", s.CheckValue()), "secret %s", v.Secret)
		} else if v.Secret != "" {
			d.refuses("invalid_argument", "secret %s", v.Secret)
		}
	}
	for _, bad := range []string{"beef", hex[1:], hex + "00", "0x" + hex[2:], strings.Repeat("g", 32)} {
		line := d.refuses("invalid_argument", "secret %s", bad)
		x.must(!strings.Contains(line, bad), "secret %s: %s", bad, line)
	}
	for range 50 {
		id := int64(rand.Uint64())
		f := x.service.cipher.Inspect(randflake.ID(id))
		fields := fmt.Sprintf("%d %d %d", f.Time.Unix(), f.Node, f.Sequence)
		d.gives("fields "+fields, "inspect %d", id)
		d.gives(fmt.Sprint("id ", id), "compose %s", fields)
	}
	for _, bad := range []string{"1729999999 0 0", "2809869184 0 0", "1730000000 131072 0", "1730000000 0 131072",
		"1730000000 -1 0", "1730000000 0 -1"} {
		d.refuses("invalid_argument", "compose %s", bad)
	}
}

func claims(x *trial) {
	d := x.start(1)
	refuse := func() {
		for _, bad := range []int{0, -1, ttl<<17 + 1, 99999999999} {
			d.refuses("invalid_argument", "fill %d", bad)
		}
	}
	refuse()
	x.must(len(d.got("")) == 0, "a call that is refused leads to an acquisition")
	for kind, n := range map[string]int{"generate": 3, "fill": 1000} { // as IDs made one by one may be from a batch
		raws := d.ids(n, "%s %d", kind, n)
		refuse()
		raws = append(raws, d.ids(n, "%s %d", kind, n)...)
		for i, raw := range raws[1:] { // each is the next one, or the first one of a later second
			f, before := raw.Fields(), raws[i].Fields()
			follows := raw == raws[i]+1 && f.Sequence > 0 || f.Sequence == 0 && f.Time.After(before.Time)
			x.must(follows, "IDs %d and %d of %s do not follow each other: %v, %v", i, i+1, kind, before, f)
		}
	}
	calls := d.got("Acquire")
	x.must(len(calls) == 1 && !calls[0].request.Retry, "%d acquisitions, want one", len(calls))
}

func turns(x *trial) {
	d := x.start(1)
	old := d.node()
	d.setAge(ttl*2/3 - 30)
	d.ids(50, "generate 50")
	d.ids(50, "fill 50")
	x.must(len(d.got("Acquire")) == 1, "an acquisition before two thirds of the TTL")
	d.setAge(ttl * 2 / 3)
	d.turned(old)
	d.ids(50, "generate 50")
	x.must(len(d.owners()) == 2, "two leases with %d owner tokens", len(d.owners()))
}

func backoff(x *trial) {
	d := x.start(1, func(a *answerer) { a.ttl = 2 * ttl })
	old, age, waits := d.node(), 2*ttl*2/3, []int{1, 2, 4, 8, 16}
	d.meet(fails("unavailable"), right)
	calls := func() []call { return d.got("Acquire")[1:] }
	d.setAge(age)
	d.until("an acquisition", func() bool { return len(calls()) > 0 })
	for i, wait := range waits {
		time.Sleep(20 * time.Millisecond) // until the failure has arrived, on most machines
		d.setAge(age + wait - 1)
		d.ids(5, "generate 5")
		age += 2 * wait
		d.setAge(age)
		d.until("another acquisition", func() bool { return len(calls()) > i+1 })
	}
	all := calls()
	for i, wait := range waits {
		waited := func(since call) time.Duration { // at least
			return all[i+1].arrived.Sub(since.arrived) + time.Duration(all[i+1].to-since.from)*time.Second
		}
		x.must(waited(all[i]) >= time.Duration(wait)*time.Second, "less than %d s after a failure: %v", wait, waited(all[i]))
		again := all[i+1].request.Retry && all[i+1].request.Owner == all[0].request.Owner
		x.must(again || waited(all[0]) > time.Minute, "acquisition %d is not the same one again", i+2)
	}
	d.meet(right, right)
	d.setAge(age + 30)
	d.turned(old)
}

func end(x *trial) {
	d := x.start(1)
	d.ids(5, "generate 5")
	d.meet(fails("unavailable"), right)
	d.setAge(ttl + 1)
	d.refuses("unavailable", "generate 1")
	before := d.got("Acquire")
	d.meet(right, right)
	d.setAge(ttl + 70)
	d.ids(5, "generate 5")
	then := d.got("Acquire")[len(before)].request
	x.must(then.Owner != before[1].request.Owner && !then.Retry, "an owner token is sent again after more than a minute")

	d = x.start(1, func(a *answerer) { a.nodes = 2 }) // all of a second's places
	second := fmt.Sprint(time.Now().Unix() + ttl/2)
	d.meet(grants(map[string]any{"start": second, "highWater": second}), right)
	raws := d.ids(1<<17+1, "fill %d", 1<<17+1)
	raws = append(raws, d.ids(1<<17-1, "fill %d", 1<<17-1)...)
	for i, raw := range raws {
		x.must(raw == raws[0]+randflake.Raw(i), "ID %d of a second is %v after %v", i, raw.Fields(), raws[0].Fields())
	}
	x.must(len(d.got("Acquire")) == 1, "an acquisition before the last ID of a lease")
	d.ids(1, "fill 1")
	x.must(len(d.owners()) == 2, "after the last ID of a lease: want an acquisition with a new token")
	d.meet(fails("resource_exhausted"), right)
	d.refuses("resource_exhausted", "fill %d", 1<<18) // more than the lease has left
	d.ids(5, "fill 5")
}

func clock(x *trial) {
	d := x.start(1)
	raws := d.ids(3, "generate 3")
	for _, off := range []int{3600, -3600, 0} {
		d.setClock(off)
		raws = append(raws, d.ids(3, "generate 3")...)
	}
	x.must(slices.IsSorted(raws), "the cursor goes back with the clock: %v", raws)
	high, second := d.got("Acquire")[0].lease.HighWater, raws[3].Fields().Time.Unix()
	x.must(raws[2].Fields().Time.Unix() < high && second == high,
		"by a clock that is ahead IDs lie at %d, want the lease's last second, %d", second, high)
	x.must(len(d.got("Acquire")) == 1, "a wrong clock leads to an acquisition")
	for i, off := range []int{3600, -3600} { // without a lease, as the owner token has the clock's second
		d.setAge((i + 1) * (ttl + 100))
		d.setClock(off)
		d.refuses("invalid_argument", "generate 1") // by the service
		d.setClock(0)
		d.setAge((i+1)*(ttl+100) + 20)
		d.ids(3, "generate 3")
	}
	d.setAge(3 * (ttl + 100))
	d.setClock(-60) // which the service bears
	second = d.ids(3, "generate 3")[0].Fields().Time.Unix()
	calls := d.got("Acquire")
	start := calls[len(calls)-1].lease.Start
	x.must(second == start, "by a clock that is behind IDs lie at %d, want the lease's start, %d", second, start)
}

// finals are the codes after which a call is not tried again.
var finals = strings.Fields("invalid_argument not_found already_exists permission_denied unauthenticated " +
	"resource_exhausted failed_precondition out_of_range unimplemented")

func answers(x *trial) {
	var strayed atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer trap.Close()
	const never = "never" // the code of a face that is no failure
	type answer struct {
		name, code string // the code if it is final
		face       face
	}
	all := []answer{{"slow", never, slow}, {"lost", "", lost}, {"reset", "", reset}, {"truncated", "", truncated},
		{"redirect", "", redirects(trap.URL)}, {"page", "", says(502, []byte("<html>"))}, {"text", "", says(500, nil)},
		{"status alone", "", says(503, []byte("{}"))}}
	all = append(all, answer{"huge number", "", says(500, []byte(`{"code":"internal","message":1e999}`))},
		answer{"another lease", never, besides(map[string]any{"firstNode": 3, "lastNode": 3, "start": "1730000000"})})
	for _, body := range []string{"\x00lease{", "", "{}", "[1]"} {
		all = append(all, answer{body, "", says(200, []byte(body))})
	}
	for name, l := range map[string]map[string]any{
		"another owner": {"owner": strings.Repeat("0", 32)}, "no owner": {"owner": nil}, "more nodes": {"firstNode": nil},
		"no such node": {"firstNode": 131072, "lastNode": 131072}, "negative node": {"firstNode": -1, "lastNode": -1},
		"words for nodes": {"lastNode": "x"}, "end before start": {"highWater": "1730000001"}, "no end": {"highWater": nil},
		"before the epoch": {"start": "1729999999"}, "after the last second": {"highWater": "2809869184"},
		"beyond 64 bits": {"highWater": "9999999999999999999"}, "no integer": {"lastNode": map[string]int{"x": 7}},
		"oversized": {"new": strings.Repeat(" ", 5<<20)},
	} {
		all = append(all, answer{name, "", grants(l)})
	}
	for _, code := range finals {
		all = append(all, answer{code, code, fails(code)})
	}
	for _, code := range strings.Fields("internal unavailable aborted data_loss unknown deadline_exceeded") {
		all = append(all, answer{code, "", fails(code)})
	}
	one, two := x.start(1), x.start(2)
	for i, a := range all {
		for _, d := range []*driver{one, two} {
			x.doing = a.name + ": "
			d.setAge((2*i + 1) * (ttl + 100)) // without a lease
			d.meet(a.face, right)
			if a.code == never || a.code == "" && d == two {
				d.ids(2, "generate 2")
				continue
			}
			d.refuses(a.code, "generate 1")
			calls := d.got("Acquire")
			before := calls[len(calls)-1]
			d.meet(right, right)
			d.setAge((2*i+1)*(ttl+100) + 20)
			d.ids(2, "generate 2")
			then := d.got("Acquire")[len(calls)]
			again, retry := then.request.Owner == before.request.Owner, then.request.Retry
			x.must(again == (a.code == "") && again == retry, "then a call with the same owner token %v, retry %v", again, retry)
			x.must(!again || before.lease == nil || before.lease.FirstNode == then.lease.FirstNode, "and another lease")
		}
	}
	x.doing = ""
	x.must(strayed.Load() == 0, "a redirect was followed")
	one.setAge((2*len(all) + 1) * (ttl + 100))
	one.meet(grants(map[string]any{"firstNode": nil, "lastNode": nil}), right) // node 0
	f := x.service.cipher.Inspect(one.parse(one.ask("generate 1"))[0])
	x.must(f.Node == 0, "lease of node 0: the ID has node %d", f.Node)
}

func failover(x *trial) {
	d := x.start(2)
	d.servers[0].Close()
	for i := range 5 {
		d.setAge(i * (ttl + 1))
		d.ids(3, "generate 3")
	}
	peers := map[string]bool{}
	for _, c := range d.got("Acquire") {
		peers[c.peer] = true
	}
	x.must(len(peers) < 4, "%d connections for five calls", len(peers))

	d = x.start(2, func(a *answerer) { a.limit = 4 })
	d.node()
	d.setAge(ttl + 1)
	d.meet(hang, hang)
	for try, fair := 0, false; !fair; try++ { // as a machine may be busy for a while
		before, begin := len(d.got("Acquire")), time.Now()
		d.refuses("unavailable", "generate 1")
		took := time.Since(begin).Seconds()
		all := d.got("Acquire")
		first, last := all[before], all[len(all)-1]
		share := last.arrived.Sub(begin).Seconds()
		fair = len(all) == before+2 && first.replica == 0 && last.replica == 1 && took > 3.5 && took < 6 &&
			share > took/3 && share < took*2/3
		x.must(fair || try < 5, "replicas that hang: want a call of each for half of 4 s: %f of %f s, %+v",
			share, took, all[before:])
		x.must(last.replica == 0 || last.request.Retry && first.request.Owner == last.request.Owner,
			"the second replica is not asked for the same acquisition again")
	}
	d.setAge(2 * ttl) // then the one that answered is asked first
	d.meet(hang, right)
	for try := 0; strings.HasPrefix(d.ask("generate 1"), "error ") && try < 5; try++ {
	}
	d.meet(right, right)
	d.setAge(4 * ttl)
	d.node()
	last := d.got("Acquire")
	x.must(last[len(last)-1].replica == 1, "the replica that answered last is not asked first")

	d = x.start(2)
	d.meet(lost, fails("resource_exhausted"))
	d.refuses("resource_exhausted", "generate 1")
	before := d.got("Acquire")[0].request.Owner
	d.meet(right, right)
	d.node()
	last = d.got("Acquire")
	then := last[len(last)-1].request
	x.must(then.Owner == before && then.Retry, "a final error after no answer of another replica ends the acquisition")

	d = x.start(2, func(a *answerer) { a.limit = 4 })
	d.meet(drips("HTTP/1.1 200 OK\r\nX: "), drips("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"))
	begin := time.Now()
	d.refuses("unavailable", "generate 1")
	x.must(time.Since(begin) < 10*time.Second && len(d.got("Acquire")) == 2,
		"replicas that send a byte now and then are waited for beyond the time limit: %v", time.Since(begin))
}

func tokens(x *trial) {
	x.start(1, func(a *answerer) { a.token = "" }).node()
	d := x.start(1, func(a *answerer) { a.token = "first\tsecond\u00e9" })
	d.refuses("invalid_argument", "generate 1")
	x.must(len(d.got("")) == 0, "a token that is not visible ASCII is sent")

	d = x.start(1, func(a *answerer) { a.token = "a/<token>" })
	for key, status := range map[string]int{"message": 500, "code": 500, "lease": 200} {
		body := map[string]any{"code": "internal", key: "\n1 < 2 " + d.token}
		if key == "lease" {
			body[key] = map[string]any{"start": d.token}
		}
		d.meet(says(status, encode(body)), right)
		line := d.refuses("", "generate 1")
		x.must(!strings.Contains(line, "token>"), "with the token as %s: %s", key, line)
		x.must(key != "message" || strings.Contains(line, "1 < 2"), "the service's message is lost: %s", line)
	}
}

func forks(x *trial) {
	for _, kind := range []string{"os", "c"} {
		d := x.start(1)
		d.ids(5, "generate 5")
		for range 2 {
			before := len(d.got("Acquire"))
			by := map[uint32]int{}
			for _, raw := range d.ids(40, "fork %s 20", kind) {
				by[raw.Fields().Node]++
			}
			calls := d.got("Acquire")[before:]
			x.must(len(calls) == 1 && !calls[0].request.Retry, "%d acquisitions after a fork, want one of the child", len(calls))
			x.must(len(by) == 2 && by[calls[0].lease.FirstNode] == 20, "IDs by node %v, want 20 of the child's", by)
		}
		d.setAge(ttl * 2 / 3) // with an acquisition under way
		d.meet(hang, hang)
		d.until("an acquisition", func() bool { return len(d.got("Acquire")) > 3 })
		d.meet(right, right)
		d.ids(10, "fork %s 5", kind)

		d = x.start(1) // while an outcome is unknown
		d.meet(lost, right)
		d.refuses("unavailable", "generate 1")
		d.meet(right, right)
		d.setAge(20)
		d.ids(10, "fork %s 5", kind)
		owners := map[string]int{}
		for _, c := range d.got("Acquire") {
			owners[c.request.Owner]++
		}
		x.must(len(owners) == 2 && owners[d.owners()[0]] > 1,
			"owner tokens and their calls %v, want one twice, and one of the child", owners)
	}
}

func threads(x *trial) {
	d := x.start(1)
	d.meet(slow, right)
	old := d.ids(400, "threads 8 50")[0].Fields().Node
	x.must(len(d.got("Acquire")) == 1, "threads make %d acquisitions, want one", len(d.got("Acquire")))
	var busy atomic.Int32
	var several atomic.Bool
	done := make(chan bool)
	d.meet(func(w http.ResponseWriter, r *http.Request, good func() (int, []byte)) {
		if busy.Add(1) > 1 {
			several.Store(true)
		}
		defer busy.Add(-1)
		select {
		case <-done:
			right(w, r, good)
		case <-r.Context().Done():
		}
	}, right)
	d.setAge(ttl * 2 / 3)
	d.ids(1600, "threads 8 200")
	close(done)
	d.turned(old)
	d.ids(1600, "threads 8 200")
	x.must(!several.Load(), "more than one acquisition at a time")
}

func mints(x *trial) {
	d := x.start(1)
	mint := func(n int, since time.Time) {
		ids := d.parse(d.ask("mint %d", n))
		x.must(len(ids) == n, "%d IDs, want %d", len(ids), n)
		x.service.mu.Lock()
		defer x.service.mu.Unlock()
		for _, id := range ids {
			at, ok := x.service.minted[id]
			x.must(ok && at.After(since), "mint: ID %d is not of the service, not new, or too old", id)
			delete(x.service.minted, id)
		}
	}
	begin := time.Now()
	mint(1, begin)
	calls := d.got("Mint")
	x.must(len(calls) == 1 && calls[0].request.Count == 512, "mint: %d calls, want one for 512", len(calls))
	mint(300, begin)
	x.must(len(d.got("Mint")) == 1, "mint: a call with more than a quarter left")
	mint(300, begin)
	mint(1000, begin)
	d.setAge(301)
	mint(10, time.Now())
	d.refuses("invalid_argument", "mint -1")
	d.setAge(700)
	d.meet(fails("permission_denied"), right)
	d.refuses("permission_denied", "mint 1")
}

func counters(x *trial) {
	d := x.start(2)
	d.gives("numbers 3", "next invoices 1")
	d.gives("numbers 6 9 12 15", "next invoices 4")
	d.meet(lost, right) // and maybe sent once more by the client's transport
	line := d.ask("next invoices 2")
	x.must(line == fmt.Sprintf("numbers %d %d", x.service.number-3, x.service.number), "next: %s, want the newest", line)
	calls := len(d.got(""))
	d.refuses("invalid_argument", "next invoices -1")
	x.must(len(d.got("")) == calls, "next -1 is not refused before the call")
	d.refuses("not_found", "next receipts 1")
}

func copies(x *trial) {
	d := x.start(1)
	d.node()
	d.refuses("copy", "copy")
	d.node()
}
