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
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

var scratch string // has the packages and the projects of all languages

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // most of them wait
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		panic(err)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// width is how many seconds the windows have, but for some parts.
const width = 60

// A part of the suite. If a driver plants the fault, the part must fail like that.
type part struct {
	name           string
	run            func(*trial)
	window         time.Duration
	fault, failure string
}

var parts = []part{
	{"text", text, 0, "text", "format"},
	{"parse", parse, 0, "", ""},
	{"secrets", secrets, 0, "", ""},
	{"claims", claims, 0, "", ""},
	{"turns", turns, 0, "", ""},
	{"backoff", backoff, time.Hour, "", ""},
	{"end", end, 0, "end", "want an error"},
	{"full", full, 0, "", ""},
	{"clock", clock, 0, "end", "outside"},
	{"late", lates, 0, "late", "made twice|beyond its end"},
	{"stale", stale, 2 * time.Second, "end", "outside"},
	{"answers", answers, 0, "", ""},
	{"failover", failover, 0, "failover", "unavailable"},
	{"tokens", tokens, 0, "", ""},
	{"forks", forks, time.Hour, "fork", "made twice|calls after a fork"},
	{"threads", threads, time.Hour, "", ""},
	{"mint", mints, 0, "", ""},
	{"counter", counters, 0, "", ""},
	{"copy", copies, 0, "", ""},
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
					require.Equal(t, try(t, l, "", p), "", "failure")
					if p.fault == "" {
						return
					}
					failed := try(t, l, p.fault, p)
					found := regexp.MustCompile(p.failure).MatchString(failed)
					require.That(t, found, "with the fault %s: %q, want a failure that says %q", p.fault, failed, p.failure)
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
	require.Must(x.t, err == nil && len(file.Vectors) > 0, "%d vectors, %v", len(file.Vectors), err)
	return append(file.Vectors,
		vector{ID: "0", Text: "g000000000000"},
		vector{ID: "32", Text: "g000000000010"},
		vector{ID: "-1", Text: "vvvvvvvvvvvvv"},
		vector{ID: fmt.Sprint(math.MaxInt64), Text: "nvvvvvvvvvvvv"},
		vector{ID: fmt.Sprint(math.MinInt64), Text: "o000000000000"},
	)
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
	for look, all := range map[string]string{
		"a decimal number: convert it by " + x.language.integer: "10 0 -1 01 10000000000000 4594531474933654033 -9223372036854775808",
		"as gosuda/randflake prints it":                         "a 1e3 false 3vgoe12ccb8gh fvvvvvvvvvvvv",
		"has capitals":                                          "JVGOE12CCB8GH jvgoe12ccb8gH",
		"want 13 digits":                                        "w A v - --1 1= \u0660 1.0 true null jvgoe12ccb8g jvgoe12ccb8ghh wvgoe12ccb8gh jvgoe12ccb8g\u0660",
	} {
		for _, bad := range strings.Fields(all) {
			line := d.refuses("invalid_argument", "parse %s", bad)
			x.must(strings.Contains(line, look), "parse %s: %s, want %s", bad, line, look)
		}
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
		for _, bad := range []int{0, -1, 1<<17 + 1, 99999999999} {
			d.refuses("invalid_argument", "fill %d", bad)
		}
	}
	refuse()
	x.must(len(d.got("")) == 0, "an argument that is refused leads to a call")
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
	calls := d.got("")
	x.must(len(calls) == 2 || len(calls) == 3 && x.inTime(calls[2]), "%d calls, want two", len(calls))
	x.must(calls[0].procedure == "GetLimits" && calls[1].procedure == "Take", "calls of %s and %s", calls[0].procedure, calls[1].procedure)
	off := time.Until(d.ids(1, "generate 1")[0].Fields().Time.Add(-time.Duration(x.service.ahead.Load()) * time.Second))
	x.must(off.Abs() < 5*time.Second, "an ID has a time that is %v off", off)
}

// inTime reports whether a window was taken when it may be: once it has begun, in the second half of the one before or,
// by a process older than a window, of up to four before. On a slow machine that comes early in a trial.
func (x *trial) inTime(take call) bool {
	ahead, present := int64(4), take.clock.Unix()/width
	if present == x.service.first {
		ahead = 1
	}
	if secondHalf := take.clock.Unix()%width >= width/2; !secondHalf {
		ahead = 0
	}
	return take.request.Window <= present+ahead
}

func turns(x *trial) {
	d := x.start(1)
	first := x.service.first
	taken := func(want int64) func() bool {
		return func() bool {
			calls := d.got("Take")
			for i, c := range calls {
				x.must(c.request.Window == first+int64(i), "take %d is of window %d, want each once, in order", i, c.request.Window-first)
			}
			for _, more := range calls[min(len(calls), int(want)):] {
				x.must(x.inTime(more), "%d windows taken, want %d", len(calls), want)
			}
			return len(calls) >= int(want)
		}
	}
	in := func(window int64) {
		at := x.service.space.Limits().WindowOf(d.ids(1, "generate 1")[0].Fields().Time) - first
		x.must(at == window, "an ID of window %d, want %d", at, window)
	}
	d.ids(1, "generate 1")
	d.pass(20)
	d.ids(50, "generate 50")
	d.ids(50, "fill 50")
	x.must(taken(1)(), "no window taken")
	d.pass(width - 5) // in the first window a process takes one more
	d.until("the next window is taken", taken(2))
	d.ids(50, "generate 50")
	d.meet(hang, hang)
	d.pass(width + 1)
	in(1)
	d.meet(right, right)
	x.must(taken(2)(), "a window is taken in the first half of the one before")
	d.pass(2*width - 5)
	d.until("three minutes are taken ahead", taken(6))
	d.meet(fails("unavailable"), right)
	for window := range int64(4) {
		d.pass(int(window+2)*width + 1)
		in(window + 2)
	}
}

func backoff(x *trial) {
	d := x.start(1)
	d.ids(5, "generate 5")
	d.setClock(3600) // into the next window, while this one serves
	d.meet(fails("unavailable"), right)
	age, waits := 0, []int{1, 2, 4, 8, 16, 16}
	calls := func() []call { return d.got("Take")[1:] }
	d.until("a call", func() bool { return len(calls()) > 0 })
	for i, wait := range waits {
		time.Sleep(20 * time.Millisecond) // until the failure has arrived, on most machines
		d.setAge(age + wait - 1)
		d.ids(5, "generate 5")
		age += 2 * wait
		d.setAge(age)
		d.until("another call", func() bool { return len(calls()) > i+1 })
	}
	all := calls()
	for i, wait := range waits {
		waited := all[i+1].arrived.Sub(all[i].arrived) + time.Duration(all[i+1].to-all[i].from)*time.Second // at least
		x.must(waited >= time.Duration(wait)*time.Second, "less than %d s after a failure: %v", wait, waited)
	}
	d.meet(right, right)
	d.setAge(age + 30)
	d.until("the next window is used", func() bool {
		return d.ids(1, "generate 1")[0].Fields().Time.After(d.got("Take")[0].lease.End.Add(-1))
	})
}

func end(x *trial) {
	d := x.start(1)
	d.ids(5, "generate 5")
	d.meet(fails("unavailable"), right)
	d.pass(width + 10)
	d.refuses("unavailable", "generate 1")
	d.meet(right, right)
	d.ids(5, "generate 5")
	d.meet(fails("resource_exhausted"), right)
	d.pass(5 * width)
	d.refuses("resource_exhausted", "generate 1")
}

// full uses a lease up, with a clock that is behind, and goes on with another one.
func full(x *trial) {
	d := x.start(1)
	d.pass(width - 6)
	d.node()
	d.setAge(0)
	d.setClock(-20)
	var raws []randflake.Raw
	for range 7 {
		n := 1<<17 - 1
		raws = append(raws, d.ids(n, "fill %d", n)...)
	}
	last := map[uint32]randflake.Raw{} // by node: each lease has its own
	for _, raw := range raws {
		node := raw.Fields().Node
		x.must(raw > last[node], "IDs of a lease are not in order")
		last[node] = raw
	}
	takes := d.got("Take")
	x.must(takes[len(takes)-1].request.Window == takes[0].request.Window, "a lease that is used up has no successor")
}

func clock(x *trial) {
	d := x.start(1)
	d.pass(width / 3)
	raws := d.ids(3, "generate 3")
	for _, wrong := range []int{-10, -3600, 3600, -3600, 0} {
		d.setClock(wrong)
		raws = append(raws, d.ids(3, "generate 3")...)
	}
	x.must(slices.IsSorted(raws), "the cursor goes back with the clock: %v", raws)
	calls := d.got("Take")
	for i, raw := range raws {
		late := calls[0].lease.End.Unix() - 1 - raw.Fields().Time.Unix()
		x.must(raw.Fields().Node == raws[0].Fields().Node && (i < 9) == (late > width/3), "ID %d is %d s before the lease's end", i, late)
	}
	d.pass(2 * width) // without a lease
	d.setClock(3600)
	d.refuses("unavailable", "generate 1") // by the service
	d.setClock(-3600)
	old := d.ids(3, "generate 3")[0].Fields().Time
	off := x.service.now().Sub(old) - time.Hour
	x.must(off.Abs() < 5*time.Second, "by a clock that is an hour behind, an ID is %v off that", off)
	d.setClock(0)
	d.until("the clock's window is used", func() bool { return d.ids(3, "generate 3")[0].Fields().Time.After(old.Add(time.Minute)) })
	d.setClock(-3600)
	d.ids(50, "generate 50")
}

// lates: the answer to a call that was given up is no answer to another one.
func lates(x *trial) {
	d := x.start(1, func(a *answerer) { a.limit = 2 })
	d.node()
	d.pass(5 * width) // without a lease
	d.meet(delayed(4*time.Second), right)
	begin := time.Now()
	for range 2 {
		d.refuses("unavailable", "generate 1")
	}
	last := func() uint32 { takes := d.got("Take"); return takes[len(takes)-1].lease.FirstNode }
	x.must(last() == 1, "the last call that was given up was for node %d, want 1", last())
	d.meet(right, right)
	before := d.node()
	x.must(before == last(), "a lease of node %d, want the newest, %d", before, last())
	time.Sleep(time.Until(begin.Add(7 * time.Second))) // until all answers have come
	d.setAge(6 * width)                                // as if the lease had ended, by one of the clocks
	after := d.node()
	x.must(before != after && after == last(), "a lease of node %d is used beyond its end, or an old answer: %d", before, after)
}

// stale: a lease whose window was over when it arrived is not used.
func stale(x *trial) {
	d := x.start(1)
	d.meet(delayed(2500*time.Millisecond), right)
	d.tell("generate 1")
	for len(d.got("Take")) == 0 {
		time.Sleep(time.Millisecond)
	}
	d.meet(right, right)
	raws, err := x.service.take(d.process, d.parse(d.hear()))
	x.must(err == nil, "%v", err)
	x.must(raws[0].Fields().Time.After(d.got("Take")[0].lease.End.Add(-1)), "a lease is used after its window")
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
		{"status alone", "", says(503, []byte("{}"))}, {"node 0", never, right},
		{"huge number", "", says(500, []byte(`{"code":"internal","message":1e999}`))},
		{"of later versions", never, grants(map[string]any{"a": map[string]any{"firstNode": 3, "start": "1730000000"}})}}
	for _, body := range []string{"\x00lease{", "", "{}", "[1]"} {
		all = append(all, answer{body, "", says(200, []byte(body))})
	}
	for name, l := range map[string]map[string]any{
		"more nodes": {"firstNode": 1, "lastNode": 2}, "no such node": {"firstNode": 131072, "lastNode": 131072},
		"negative node": {"firstNode": -1, "lastNode": -1}, "words for nodes": {"lastNode": "x"}, "no end": {"end": nil},
		"another window": {"start": "1730000040", "end": "1730000100"}, "longer": {"end": "2809869184"},
		"beyond 64 bits": {"end": "9999999999999999999"}, "no integer": {"lastNode": 1.5},
		"oversized": {"new": strings.Repeat(" ", 5<<20)},
	} {
		all = append(all, answer{name, "", grants(l)})
	}
	full := &lease.WaitError{Err: lease.ErrFull, Until: time.Unix(1800000000, 0)}
	all = append(all, answer{"full", "resource_exhausted FULL 1800000000 - ", says(sent(full))},
		answer{"odd details", "not_found - ", says(404, []byte(`{"code": "not_found", "details": [{"debug": {"reason": 7}}]}`))})
	for _, code := range finals {
		all = append(all, answer{code, code, fails(code)})
	}
	for _, code := range strings.Fields("internal unavailable aborted data_loss unknown deadline_exceeded") {
		all = append(all, answer{code, "", fails(code)})
	}
	one, two := x.start(1), x.start(2)
	for _, d := range []*driver{one, two} {
		d.node()
		for i, a := range all {
			x.doing = a.name + ": "
			d.pass((i + 1) * 5 * width) // without a lease
			d.meet(a.face, right)
			if a.code == never || a.code == "" && d == two {
				d.ids(2, "generate 2")
				continue
			}
			d.refuses(a.code, "generate 1")
			d.meet(right, right)
			d.ids(2, "generate 2")
		}
	}
	x.doing = ""
	x.must(strayed.Load() == 0, "a redirect was followed")
	for name, l := range map[string]map[string]any{"no window": {"windowSeconds": nil}, "window": {"windowSeconds": -1},
		"ahead": {"ahead": "x"}, "another secret": {"checkValue": "0123456789abcdef"}} {
		x.doing = name + ": "
		d := x.start(1)
		d.meet(grants(l), right)
		line := d.refuses("", "generate 1")
		x.must(l["checkValue"] == nil || strings.Contains(line, "failed_precondition WRONG_SECRET") && strings.Contains(line, "0123456789abcdef"), "%s", line)
		d.meet(right, right)
		d.node()
	}
	x.doing = "no check value: "
	d := x.start(1)
	d.meet(grants(map[string]any{"checkValue": nil}), right)
	d.node()
	d.pass(5 * width) // without a lease
	d.setClock(1 << 31)
	d.refuses("out_of_range END_OF_LIFE ", "generate 1")
}

func failover(x *trial) {
	d := x.start(2)
	d.servers[0].Close()
	for i := range 5 {
		d.pass(i * 5 * width)
		d.ids(3, "generate 3")
	}
	peers := map[string]bool{}
	for _, c := range d.got("Take") {
		peers[c.peer] = true
	}
	x.must(len(peers) < 4, "%d connections for five calls", len(peers))

	d = x.start(2, func(a *answerer) { a.limit = 4 })
	d.node()
	d.pass(5 * width)
	d.meet(hang, hang)
	for try, fair := 0, false; !fair; try++ { // as a machine may be busy for a while
		before, begin := len(d.got("Take")), time.Now()
		d.refuses("unavailable", "generate 1")
		took := time.Since(begin).Seconds()
		all := d.got("Take")
		first, last := all[before], all[len(all)-1]
		share := last.arrived.Sub(begin).Seconds()
		fair = len(all) == before+2 && first.replica == 0 && last.replica == 1 && took > 3.5 && took < 6 &&
			share > took/3 && share < took*2/3
		x.must(fair || try < 5, "replicas that hang: want a call of each for half of 4 s: %f of %f s, %+v",
			share, took, all[before:])
	}
	d.pass(10 * width) // then the one that answered is asked first
	d.meet(hang, right)
	for try := 0; strings.HasPrefix(d.ask("generate 1"), "error ") && try < 5; try++ {
	}
	d.meet(right, right)
	d.pass(15 * width)
	d.node()
	last := d.got("Take")
	x.must(last[len(last)-1].replica == 1, "the replica that answered last is not asked first")

	d = x.start(2, func(a *answerer) { a.limit = 4 })
	d.meet(drips("HTTP/1.1 200 OK\r\nX: "), drips("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"))
	begin := time.Now()
	d.refuses("unavailable", "generate 1")
	x.must(time.Since(begin) < 10*time.Second && len(d.got("")) == 2,
		"replicas that send a byte now and then are waited for beyond the time limit: %v", time.Since(begin))
}

func tokens(x *trial) {
	x.start(1, func(a *answerer) { a.token = "" }).node()
	d := x.start(1, func(a *answerer) { a.token = "first\tsecond\u00e9" })
	d.refuses("invalid_argument", "generate 1")
	x.must(len(d.got("")) == 0, "a token that is not visible ASCII is sent")

	d = x.start(1, func(a *answerer) { a.token = "a/<token>" })
	for key, status := range map[string]int{"message": 500, "code": 500, "windowSeconds": 200} {
		d.meet(says(status, encode(map[string]any{"code": "internal", key: "\n1 < 2 " + d.token})), right)
		line := d.refuses("", "generate 1")
		x.must(!strings.Contains(line, "token>"), "with the token as %s: %s", key, line)
		x.must(key != "message" || strings.Contains(line, "1 < 2"), "the service's message is lost: %s", line)
	}
}

const late = 3600 * 19 / 20 // in a window of an hour, when the next one is taken

func forks(x *trial) {
	for _, kind := range []string{"os", "c"} {
		d := x.start(1)
		d.ids(5, "generate 5")
		for range 2 {
			before := len(d.got("Take"))
			by := map[uint32]int{}
			for _, raw := range d.ids(40, "fork %s 20", kind) {
				by[raw.Fields().Node]++
			}
			calls := d.got("Take")[before:]
			x.must(len(calls) == 1, "%d calls after a fork, want one of the child", len(calls))
			x.must(len(by) == 2 && by[calls[0].lease.FirstNode] == 20, "IDs by node %v, want 20 of the child's", by)
		}
		d.pass(late) // with a call under way
		d.meet(hang, hang)
		d.until("a call", func() bool { return len(d.got("Take")) > 3 })
		d.meet(right, right)
		d.ids(10, "fork %s 5", kind)
	}
}

func threads(x *trial) {
	d := x.start(1)
	d.meet(slow, right)
	d.ids(400, "threads 8 50")
	x.must(len(d.got("Take")) == 1, "threads make %d calls, want one", len(d.got("Take")))
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
	d.pass(late)
	d.ids(1600, "threads 8 200")
	close(done)
	d.until("the next window is taken", func() bool { return len(d.got("Take")) == 2 })
	d.ids(1600, "threads 8 200")
	x.must(!several.Load(), "more than one call at a time")
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
	d.batch = 100
	d.setAge(602)
	mint(10, time.Now())
	mint(200, begin)
	calls = d.got("Mint")
	x.must(calls[len(calls)-2].request.Count == 100, "a batch of %d IDs, where 100 are allowed", calls[len(calls)-2].request.Count)
	d.refuses("invalid_argument", "mint -1")
	d.setAge(1000)
	d.meet(fails("permission_denied"), right)
	d.refuses("permission_denied", "mint 1")
}

func counters(x *trial) {
	d := x.start(2)
	d.gives("numbers 3 in", "next invoices 1")
	d.gives("numbers 6 9 12 15 in 2026-11-26", "next daily 4")
	d.meet(lost, right) // and maybe sent once more by the client's transport
	line := d.ask("next invoices 2")
	x.must(line == fmt.Sprintf("numbers %d %d in", x.service.number-3, x.service.number), "next: %s, want the newest", line)
	calls := len(d.got(""))
	d.refuses("invalid_argument", "next invoices -1")
	x.must(len(d.got("")) == calls, "next -1 is not refused before the call")
	d.refuses("not_found NO_COUNTER - - ", "next receipts 1")
	d.refuses("permission_denied LIMIT - 10000 ", "next invoices 10001")
}

func copies(x *trial) {
	d := x.start(1)
	d.node()
	d.refuses("copy", "copy")
	d.node()
}
