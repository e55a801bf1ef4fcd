//go:build unix

// Package conformance plays the service, the clock and the system for the clients in all languages, and opens every ID.
package conformance

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
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
	if os.Getenv("CONFORMANCE_DRIVER") != "" {
		drive()
		return
	}
	flag.Parse()
	flag.Set("test.parallel", "8") // most of them wait
	code := m.Run()
	os.Remove(languages[1].command[0])
	os.Exit(code)
}

// A part of the suite. Those of the core ask for no more than generate, fill, format and the clocks, of one address. If a
// driver plants the fault, the part must fail like that.
type part struct {
	name           string
	core           bool
	run            func(*trial)
	fault, failure string
}

var parts = []part{
	{"text", true, text, "text", "format"}, {"claims", true, claims, "", ""}, {"turns", true, turns, "", ""}, {"backoff", true, backoff, "", ""}, {"end", true, end, "end", "want an error"},
	{"clock", true, clock, "clamp", "outside"}, {"lost", true, lostAnswers, "", ""}, {"parse", false, parse, "", ""}, {"secrets", false, secrets, "", ""}, {"answers", false, answers, "", ""},
	{"failover", false, failover, "failover", "unavailable"}, {"tokens", false, tokens, "", ""}, {"forks", false, forks, "fork", "made twice|acquisitions after a fork"},
	{"threads", false, threads, "", ""}, {"mint", false, mints, "", ""}, {"counter", false, counters, "", ""}, {"copy", false, copies, "", ""},
}

func TestClients(t *testing.T) {
	each(t, parts, func(t *testing.T, l language, p part) {
		if failed := try(t, l, "", p.run); failed != "" && failed != unsupported {
			t.Error(failed)
		}
	})
}

func TestFindsFaults(t *testing.T) {
	faulty := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return p.fault == "" })
	each(t, faulty, func(t *testing.T, l language, p part) {
		if failed := try(t, l, p.fault, p.run); failed != unsupported && !regexp.MustCompile(p.failure).MatchString(failed) {
			t.Errorf("with the fault %s the failure is %q, want one that says %q", p.fault, failed, p.failure)
		}
	})
}

func each(t *testing.T, parts []part, do func(*testing.T, language, part)) {
	for _, l := range here(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range parts {
				if l.name != "minimal" || p.core {
					t.Run(p.name, func(t *testing.T) { do(t, l, p) })
				}
			}
		})
	}
}

type vector struct {
	Secret    string `json:"secret"`
	ID        string `json:"id"`
	Text      string `json:"text"`
	Timestamp int64  `json:"timestamp"`
}

func vectors(x *trial) []vector {
	var file struct{ Vectors []vector }
	data, err := os.ReadFile(root + "/testdata/randflake.json")
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil || len(file.Vectors) == 0 {
		x.t.Fatal(len(file.Vectors), err)
	}
	return append(file.Vectors, vector{ID: "0", Text: "0"}, vector{ID: "-1", Text: "fvvvvvvvvvvvv"}, vector{ID: fmt.Sprint(int64(math.MinInt64)), Text: "8000000000000"}, vector{ID: "32", Text: "10"})
}

func text(x *trial) {
	d := x.start(1)
	for _, v := range vectors(x) {
		got := d.ask("format %s", v.ID)
		x.must(got == "text "+v.Text, "format %s: %s, want %s", v.ID, got, v.Text)
	}
}

func parse(x *trial) {
	d := x.start(1)
	for _, v := range vectors(x) {
		got := d.ask("parse %s", v.Text)
		x.must(got == "id "+v.ID, "parse %s: %s, want %s", v.Text, got, v.ID)
	}
	for _, bad := range []string{"w", "A", "01", "g000000000000", "10000000000000", "-1", "1=", "\u0660", "1.0", "0x1"} {
		x.must(d.refused("parse %s", bad) == "invalid_argument", "parse %s: another code", bad)
	}
}

func secrets(x *trial) {
	d := x.start(1)
	ids := make([]randflake.ID, 50)
	for i, v := range vectors(x) {
		s, err := randflake.ParseSecret(v.Secret)
		if err != nil {
			x.must(v.Secret == "" || d.refused("secret %s", v.Secret) == "invalid_argument", "secret: another code")
			continue
		}
		got := d.ask("secret %s", v.Secret)
		x.must(got == fmt.Sprintf("check %x", s.CheckValue()), "secret: %s, want %x", got, s.CheckValue())
		ids[i%50] = randflake.ID(v.Timestamp * 0x5851f42d4c957f2d)
	}
	for _, bad := range []string{"beef", x.service.secret.Hex()[1:], x.service.secret.Hex() + "00", "0x" + x.service.secret.Hex()[2:], strings.Repeat("g", 32)} {
		line := d.ask("secret %s", bad)
		x.must(strings.HasPrefix(line, "error invalid_argument ") && !strings.Contains(line, bad), "secret %s: %s", bad, line)
	}
	for _, id := range ids {
		f := x.service.cipher.Inspect(id)
		want := fmt.Sprintf("%d %d %d", f.Time.Unix(), f.Node, f.Sequence)
		got, back := d.ask("inspect %d", int64(id)), d.ask("compose %s", want)
		x.must(got == "fields "+want && back == fmt.Sprintf("id %d", int64(id)), "ID %d: inspect %s, compose %s, want %s", int64(id), got, back, want)
	}
	for _, bad := range []string{"1729999999 0 0", "2809869184 0 0", "1730000000 131072 0", "1730000000 0 131072", "1730000000 -1 0", "1730000000 0 -1"} {
		x.must(d.refused("compose %s", bad) == "invalid_argument", "compose %s: another code", bad)
	}
}

// follows reports whether an ID's raw value is the next one of a lease of one node, or the first one of a later second.
func follows(raw, before randflake.Raw) bool {
	return raw == before+1 && raw.Fields().Sequence > 0 || raw.Fields().Sequence == 0 && raw.Fields().Time.After(before.Fields().Time)
}

func claims(x *trial) {
	d := x.start(1)
	refuse := func() {
		for _, bad := range []string{"0", "-1", fmt.Sprint(ttl<<17 + 1), "99999999999"} {
			x.must(d.refused("fill %s", bad) == "invalid_argument", "fill %s: another code", bad)
		}
	}
	refuse()
	x.must(len(d.got("")) == 0, "a call that is refused leads to an acquisition")
	for _, n := range []int{3, 1000} { // of either kind, as IDs made one by one may be from a batch
		one := fmt.Sprint(map[bool]string{true: "generate ", false: "fill "}[n == 3], n)
		raws := d.ids(n, "%s", one)
		refuse()
		raws = append(raws, d.ids(n, "%s", one)...)
		for i := range raws[1:] {
			x.must(follows(raws[i+1], raws[i]), "IDs %d and %d of %q do not follow each other: %v, %v", i, i+1, one, raws[i].Fields(), raws[i+1].Fields())
		}
	}
	x.must(len(d.got("Acquire")) == 1 && !d.got("Acquire")[0].request.Retry, "%d acquisitions, want one", len(d.got("Acquire")))
}

func turns(x *trial) {
	d := x.start(1)
	d.ids(10, "generate 10")
	d.setAge(ttl*2/3 - 20)
	d.ids(50, "generate 50")
	d.setAge(ttl*2/3 - 10)
	d.ids(50, "fill 50")
	x.must(len(d.got("Acquire")) == 1, "an acquisition before two thirds of the TTL")
	d.setAge(ttl * 2 / 3)
	d.acquired(2)
	d.until("the new lease is used", func() bool { return d.ids(1, "generate 1")[0].Fields().Node == d.got("Acquire")[1].lease.FirstNode })
	d.ids(50, "generate 50")
	d.acquired(2)
	x.must(d.got("Acquire")[0].request.Owner != d.got("Acquire")[1].request.Owner, "two leases with one owner token")
}

func backoff(x *trial) {
	d := x.start(1)
	old := d.ids(1, "generate 1")[0].Fields().Node
	d.meet(always(fails(503, "unavailable")))
	age, calls := ttl*2/3, func() []call { return d.got("Acquire")[1:] }
	d.setAge(age)
	d.until("an acquisition", func() bool { return len(calls()) > 0 })
	for i, wait := range []int{1, 2, 4, 8, 16} {
		time.Sleep(20 * time.Millisecond) // until the failure has arrived
		d.setAge(age + wait - 1)
		d.ids(5, "generate 5")
		last := calls()
		x.must(len(last) == i+1 || time.Since(last[i].arrived) > 700*time.Millisecond, "an acquisition less than %d s after failure %d", wait, i+1)
		age += wait + 1
		d.setAge(age)
		d.until("another acquisition", func() bool { return len(calls()) > i+1 })
		x.must(calls()[i+1].request.Retry && calls()[i+1].request.Owner == last[0].request.Owner, "acquisition %d is not the same one again", i+2)
	}
	d.meet(nil)
	d.setAge(ttl*2/3 + 90)
	d.until("the new lease is used", func() bool { return d.ids(1, "generate 1")[0].Fields().Node != old })
}

func end(x *trial) {
	d := x.start(1)
	d.ids(5, "generate 5")
	d.meet(always(fails(503, "unavailable")))
	d.setAge(ttl + 1)
	x.must(d.refused("generate 1") == "unavailable", "generate after the TTL: another code")
	d.meet(nil)
	d.setAge(ttl + 30)
	d.ids(5, "generate 5")

	d = x.start(1, "NODES=2") // all of a second's places
	oneSecond := grants(func(l map[string]any) { l["highWater"] = l["start"] })
	d.meet(always(oneSecond))
	raws := d.ids(1<<17+1, "fill %d", 1<<17+1)
	raws = append(raws, d.ids(1<<17-1, "fill %d", 1<<17-1)...)
	for i, raw := range raws {
		x.must(raw == raws[0]+randflake.Raw(i), "ID %d of a second is %v, the first one %v", i, raw.Fields(), raws[0].Fields())
	}
	x.must(len(d.got("Acquire")) == 1, "an acquisition before the last ID of a lease")
	d.ids(1, "fill 1")
	calls := d.got("Acquire")
	x.must(len(calls) == 2 && calls[0].request.Owner != calls[1].request.Owner, "after the last ID of a lease: want an acquisition with a new token")
	d.meet(always(fails(429, "resource_exhausted")))
	x.must(d.refused("fill %d", 1<<18) == "resource_exhausted", "fill of more than the lease has left: another code")
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
	high := d.got("Acquire")[0].lease.HighWater
	x.must(raws[2].Fields().Time.Unix() < high && raws[3].Fields().Time.Unix() == high, "by a clock that is ahead IDs lie at %v, want the lease's last second, %d", raws[3].Fields().Time, high)
	x.must(len(d.got("Acquire")) == 1, "a wrong clock leads to an acquisition")
	for i, off := range []int{3600, -3600, -100} { // without a lease, as the owner token has the clock's second
		d.setAge((i + 1) * (ttl + 100))
		d.setClock(off)
		if off == -100 { // which the service bears
			first := d.ids(3, "generate 3")[0].Fields().Time.Unix()
			calls := d.got("Acquire")
			x.must(first == calls[len(calls)-1].lease.Start, "by a clock that is behind IDs lie at %d, want the lease's first second", first)
			continue
		}
		x.must(d.refused("generate 1") == "invalid_argument", "acquisition by a wrong clock: want the service's code")
		d.setClock(0)
		d.setAge((i+1)*(ttl+100) + 20)
		d.ids(3, "generate 3")
	}
}

func answers(x *trial) {
	var strayed atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer trap.Close()
	put := func(key string, value any) face { return grants(func(l map[string]any) { l[key] = value }) }
	bad := []struct {
		name, code string // the code if it is final
		face       face
	}{
		{"slow", "right", slow}, {"lost", "", lost}, {"reset", "", reset}, {"truncated", "", truncated}, {"oversized", "", oversized}, {"redirect", "", redirects(trap.URL)},
		{"garbage", "", says(200, "application/json", "\x00lease{")}, {"nothing", "", says(200, "application/json", "")}, {"no lease", "", says(200, "application/json", "{}")},
		{"a list", "", says(200, "application/json", "[1]")}, {"a proxy's page", "", says(502, "text/html", "<html>")}, {"a proxy's 500", "", says(500, "text/plain", "")}, {"a status alone", "", says(503, "application/json", "{}")},
		{"another owner", "", put("owner", strings.Repeat("0", 32))}, {"no owner", "", put("owner", "")}, {"more nodes", "", grants(func(l map[string]any) { l["firstNode"] = 0 })},
		{"no such node", "", grants(func(l map[string]any) { l["firstNode"], l["lastNode"] = 131072, 131072 })},
		{"negative node", "", grants(func(l map[string]any) { l["firstNode"], l["lastNode"] = -1, -1 })}, {"words for nodes", "", put("lastNode", "x")},
		{"end before start", "", put("highWater", "1730000001")}, {"no end", "", put("highWater", nil)}, {"before the epoch", "", put("start", "1729999999")},
		{"401", "unauthenticated", fails(401, "unauthenticated")}, {"403", "permission_denied", fails(403, "permission_denied")},
		{"429", "resource_exhausted", fails(429, "resource_exhausted")}, {"412", "failed_precondition", fails(400, "failed_precondition")}, {"404", "not_found", fails(404, "not_found")},
		{"500", "", fails(500, "internal")}, {"503", "", fails(503, "unavailable")}, {"409", "", fails(409, "aborted")}, {"data loss", "", fails(500, "data_loss")},
	}
	one, two := x.start(1), x.start(2)
	for i, b := range bad {
		for _, d := range []*driver{one, two} {
			x.doing = b.name + ": "
			d.setAge((2*i + 1) * (ttl + 100)) // without a lease
			d.meet(broken(b.face))
			if b.code == "right" || b.code == "" && d == two {
				d.ids(2, "generate 2")
				continue
			}
			code := d.refused("generate 1")
			x.must(code == cmp.Or(b.code, code), "the code is %s, want %s", code, b.code)
			d.meet(nil)
			d.setAge((2*i+1)*(ttl+100) + 20)
			d.ids(2, "generate 2")
		}
	}
	x.doing = ""
	x.must(strayed.Load() == 0, "a redirect was followed")
	one.setAge((2*len(bad) + 1) * (ttl + 100))
	one.meet(always(grants(func(l map[string]any) { // node 0, which JSON leaves out
		delete(l, "firstNode")
		delete(l, "lastNode")
	})))
	line := one.ask("generate 1")
	x.must(strings.HasPrefix(line, "ids "), "lease of node 0: %s", line)
	f := x.service.cipher.Inspect(parseIDs(strings.Fields(line)[1:])[0])
	x.must(f.Node == 0, "lease of node 0: the ID has node %d", f.Node)
}

func lostAnswers(x *trial) {
	d := x.start(1)
	for i, wait := range []int{20, 61} {
		d.setAge(i * 1000)
		before := len(d.got("Acquire"))
		d.meet(always(lost))
		d.refused("generate 1")
		last := len(d.got("Acquire"))
		d.meet(nil)
		d.setAge(i*1000 + wait)
		d.ids(3, "generate 3")
		calls := d.got("Acquire")
		first, then := calls[before], calls[last]
		x.must(!first.request.Retry, "the first call with a token is a retry")
		again := then.request.Owner == first.request.Owner
		x.must(len(calls) == last+1 && again == (wait < 60) && again == then.request.Retry, "%d s after a lost answer, same token %v, retry %v, %d calls", wait, again, then.request.Retry, len(calls)-last)
		x.must(again == (first.lease.FirstNode == then.lease.FirstNode), "a call that is repeated gets another lease")
	}
}

func failover(x *trial) {
	d := x.start(2)
	d.servers[0].Close()
	d.ids(3, "generate 3")
	d.setAge(ttl + 1)
	d.ids(3, "generate 3")

	// With one address and with two that hang a call takes the same time, and the two have equal shares.
	one, two := x.start(1, "LIMIT=2"), x.start(2, "LIMIT=2")
	var last [2]time.Duration
	for _, d := range []*driver{one, two} {
		d.ids(1, "generate 1")
		d.setAge(ttl + 1)
		d.meet(always(hang))
		d.tell("generate 1")
	}
	for i, d := range []*driver{one, two} {
		x.must(strings.HasPrefix(d.hear(), "error unavailable "), "replicas that hang: want unavailable")
		last[i] = time.Since(d.got("Acquire")[1].arrived)
	}
	alike := func(a, b time.Duration) bool { return a < b*8/5 && b < a*8/5 }
	x.must(alike(last[0], last[1]), "calls of one replica and two take %v and %v", last[0], last[1])
	calls := two.got("Acquire")[1:]
	x.must(len(calls) == 2 && calls[0].replica == 0 && calls[1].replica == 1, "%d calls, want one of each replica", len(calls))
	x.must(calls[0].request.Owner == calls[1].request.Owner, "two replicas are asked with two tokens")
	share := calls[1].arrived.Sub(calls[0].arrived)
	x.must(alike(share, last[1]-share), "of %v the first replica has %v", last[1], share)

	two.setAge(2 * ttl) // then the one that answered is asked first
	two.meet(first(hang, right))
	two.ids(1, "generate 1")
	two.setAge(4 * ttl)
	two.ids(1, "generate 1")
	calls = two.got("Acquire")[3:]
	x.must(len(calls) == 3 && calls[1].replica == 1 && calls[2].replica == 1, "the replica that answered last is not asked first")
	x.must(two.connections.Load() < 5, "%d connections for six calls", two.connections.Load())
}

func tokens(x *trial) {
	x.start(1, "TOKEN=").ids(1, "generate 1")
	d := x.start(1, "TOKEN=first\tsecond\u00e9")
	fmt.Fprintln(d.in, "generate 1")
	for line := range d.lines {
		d.silent(line)
		x.must(strings.HasPrefix(line, "error invalid_argument "), "a token that is not visible ASCII: %s", line)
		break
	}
	x.must(len(d.got("")) == 0, "a token that is not visible ASCII is sent")
}

func forks(x *trial) {
	forkBy(x, "os")
	forkBy(x, "c")
}

func forkBy(x *trial, kind string) {
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
	d.meet(first(hang, right))
	before := len(d.got("Acquire"))
	d.until("an acquisition", func() bool { return len(d.got("Acquire")) > before })
	d.ids(10, "fork %s 5", kind)

	d = x.start(1) // while an outcome is unknown
	d.meet(always(lost))
	d.refused("generate 1")
	d.meet(nil)
	d.setAge(20)
	d.ids(10, "fork %s 5", kind)
	owners := map[string]int{}
	for _, c := range d.got("Acquire") {
		owners[c.request.Owner]++
	}
	x.must(len(owners) == 2 && owners[d.got("Acquire")[0].request.Owner] > 1, "owner tokens and their calls %v, want one twice, and one of the child", owners)
}

func threads(x *trial) {
	d := x.start(1, "LIMIT=2")
	d.meet(always(slow))
	d.ids(400, "threads 8 50")
	x.must(len(d.got("Acquire")) == 1, "threads make %d acquisitions, want one", len(d.got("Acquire")))
	d.setAge(ttl * 2 / 3)
	d.meet(always(hang))
	d.ids(1600, "threads 8 200")
	d.meet(nil)
	d.setAge(ttl*2/3 + 20)
	d.until("another lease", func() bool { c := d.got("Acquire"); return c[len(c)-1].lease != nil })
	d.ids(1600, "threads 8 200")
	x.must(d.most == 1, "%d acquisitions at a time", d.most)
}

func mints(x *trial) {
	d := x.start(1)
	seen := map[randflake.ID]bool{}
	mint := func(n int, since time.Time) {
		line := d.ask("mint %d", n)
		ids := parseIDs(strings.Fields(line)[1:])
		x.must(strings.HasPrefix(line, "ids ") && len(ids) == n, "mint %d: %.100s", n, line)
		x.service.mu.Lock()
		defer x.service.mu.Unlock()
		for _, id := range ids {
			at, ok := x.service.minted[id]
			x.must(ok && !seen[id], "mint: ID %d is not of the service, or not new", id)
			x.must(at.After(since), "mint: ID %d is too old", id)
			seen[id] = true
		}
	}
	begin := time.Now()
	mint(1, begin)
	x.must(len(d.got("Mint")) == 1 && d.got("Mint")[0].request.Count == 512, "mint: %d calls, want one for 512", len(d.got("Mint")))
	mint(300, begin)
	x.must(len(d.got("Mint")) == 1, "mint: a call with more than a quarter left")
	mint(300, begin)
	mint(1000, begin)
	d.setAge(301)
	mint(10, time.Now())
	x.must(d.refused("mint -1") == "invalid_argument", "mint -1: another code")
	d.setAge(700)
	d.meet(always(fails(403, "permission_denied")))
	x.must(d.refused("mint 1") == "permission_denied", "mint: another code")
}

func counters(x *trial) {
	d := x.start(2)
	for i, want := range []string{"3", "6 9 12 15", "24 27"} {
		if i == 2 {
			d.meet(first(lost, right))
		}
		got := d.ask("next invoices %d", len(strings.Fields(want)))
		x.must(got == "numbers "+want, "next: %s, want %s", got, want)
	}
	calls := len(d.got(""))
	x.must(d.refused("next invoices -1") == "invalid_argument" && len(d.got("")) == calls, "next -1 is not refused before the call")
	x.must(d.refused("next receipts 1") == "not_found", "next of no counter: another code")
}

func copies(x *trial) {
	d := x.start(1)
	d.ids(1, "generate 1")
	x.must(d.refused("copy") == "copy", "copy: want it refused")
	d.ids(1, "generate 1")
}
