package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
)

// TestRates: calls under two rules don't refill each other's buckets.
func TestRates(t *testing.T) {
	w := newTestbed(t, spaces+"principals: [{name: web, tokens: ["+hashOf("web")+"]}]\n"+
		"rules:\n- {principals: [web], spaces: [mint], verbs: [mint], limits: {rate: 0.001}}\n"+
		"- {principals: [web], spaces: [mint], verbs: [count], limits: {rate: 0.002}}\n")
	passed := 0
	for range 20 {
		for _, path := range []string{"/v1/spaces/mint/ids", "/v1/counters/others/next"} {
			if w.send(http.MethodPost, path, "", as("web")).status == http.StatusOK {
				passed++
			}
		}
	}
	if passed != 2 {
		t.Errorf("%d calls passed, want one by each rule", passed)
	}
}

// TestNoRoom: a call for many IDs, or for a page of a list or of holders, waits while answers are not read, until its time is over,
// and one for few does not.
func TestNoRoom(t *testing.T) {
	w := newTestbed(t, spaces)
	var all []func()
	for range 4 {
		done, err := w.usage.Answer(t.Context(), config.Anyone, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, done)
	}
	many := "/v1/spaces/ulid/ids?count=1000"
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	gone := func(r *http.Request) { *r = *r.WithContext(canceled) }
	late := func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") }
	if a := w.send(http.MethodPost, many, "", gone); a.body.Code != "canceled" {
		t.Errorf("a caller hung up: %d %s", a.status, a.text)
	}
	for _, procedure := range []string{"IDService/Mint", "LeaseService/List", "CounterService/List"} {
		if a := w.call(procedure, `{"space":"mint","count":1000}`, late); a.body.Code != "resource_exhausted" {
			t.Errorf("%s, and there is no room: %d %s", procedure, a.status, a.text)
		}
	}
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids?count=5", ""); a.status != http.StatusOK {
		t.Errorf("for few IDs there is no room: %d %s", a.status, a.text)
	}
	short := func(r *http.Request) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		t.Cleanup(cancel)
		*r = *r.WithContext(ctx)
	}
	if a := w.send(http.MethodGet, "/spaces/mint", "", short); !strings.Contains(a.text, `<td colspan="4">resource_exhausted`) {
		t.Errorf("the page lists holders, and there is no room: %d %s", a.status, a.text)
	}
	for _, done := range all {
		done()
	}
	for range 20 {
		if a := w.send(http.MethodGet, "/spaces/mint", ""); strings.Contains(a.text, `<td colspan="4">resource_exhausted`) {
			t.Fatalf("the page has room again: %d %s", a.status, a.text)
		}
	}
	for range 300 { // as each gives its room back
		if a := w.send(http.MethodPost, many, ""); a.status != http.StatusOK {
			t.Fatalf("there is room again: %d %s", a.status, a.text)
		}
	}
}

// TestLimitOfLeases: calls that fail neither use up the limit of leases nor free what is held, whatever they show.
func TestLimitOfLeases(t *testing.T) {
	w := newTestbed(t, spaces+"principals: [{name: web, tokens: ["+hashOf("web")+"]}]\n"+
		"rules:\n- {principals: [web], spaces: [none], verbs: [lease], limits: {leases: 2}}\n")
	acquire := func(owner string, nodes int) answer {
		return w.call("LeaseService/Acquire", fmt.Sprintf(`{"space":"none","nodes":%d,"ttlSeconds":60,"owner":%q}`, nodes, owner), as("web"))
	}
	for range 5 {
		if a := acquire(lease.NewToken(time.Now()).String(), 200_000); a.body.Code != "invalid_argument" {
			t.Errorf("too many nodes: %s", a.text)
		}
	}
	granted := 0
	for range 20 {
		owner := lease.NewToken(time.Now()).String()
		a := acquire(owner, 1)
		if a.status != http.StatusOK {
			continue
		}
		granted++
		acquire(owner, 200_000)
		for name, value := range map[string]any{"firstNode": 77_000, "lastNode": 99_000, "version": "7", "highWater": "1"} {
			held := map[string]any{}
			for name, value := range a.body.Lease {
				held[name] = value
			}
			if held[name] = value; name == "firstNode" {
				held["lastNode"] = value
			}
			text, _ := json.Marshal(held)
			w.call("LeaseService/Release", fmt.Sprintf(`{"space":"none","held":%s}`, text), as("web"))
			w.call("LeaseService/Renew", fmt.Sprintf(`{"space":"none","held":%s,"ttlSeconds":60,"token":%q}`, text, lease.NewToken(time.Now())), as("web"))
		}
	}
	if granted != 2 {
		t.Errorf("%d leases under a limit of 2", granted)
	}
}

// TestUnknownLease: a call whose outcome is unknown counts under a limit, and is not remembered where there is none.
func TestUnknownLease(t *testing.T) {
	for limit := range 2 {
		w := newTestbed(t, strings.Replace(spaces, "check: CHECK", fmt.Sprintf("check: CHECK, limits: {leases: %d}", limit), 1))
		owner := lease.NewToken(time.Now())
		w.hangs.Store(true)
		w.call("LeaseService/Acquire", fmt.Sprintf(`{"space":"none","nodes":1,"ttlSeconds":60,"owner":%q}`, owner), func(r *http.Request) { r.Header.Set("Connect-Timeout-Ms", "20") })
		w.hangs.Store(false)
		if counted := w.usage.Holder("none", owner) != ""; counted != (limit > 0) {
			t.Errorf("limit %d: it counts as a lease: %v", limit, counted)
		}
	}
}

// TestMadeUpCounters: names that a caller makes up neither make series nor refuse the names of others.
func TestMadeUpCounters(t *testing.T) {
	w := newTestbed(t, spaces+"- {name: invoices/*, space: none, most: 50}\nprincipals: [{name: web, tokens: ["+hashOf("web")+"]}, {name: cron, tokens: ["+hashOf("cron")+"]}]\n"+
		"rules:\n- {principals: [web, cron], spaces: ['*'], verbs: [count, observe]}\n")
	next := func(i int, who string) answer {
		return w.send(http.MethodPost, fmt.Sprintf("/v1/counters/invoices%%2F%d/next", i), "", as(who))
	}
	for i := range 200 {
		a := next(i, "web")
		if want := map[bool]string{true: "", false: "resource_exhausted"}[i < 50]; a.body.Code != want {
			t.Fatalf("counter %d: %s, want code %q", i, a.text, want)
		}
	}
	if a := next(1000, "cron"); a.status != http.StatusOK {
		t.Errorf("one caller's names refuse those of another: %s", a.text)
	}
	shown := w.send(http.MethodGet, "/metrics", "", as("web")).text
	series := 0
	for line := range strings.Lines(shown) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, `counter="`) {
			series++
		}
	}
	if want := "\n" + `randflake_counter_issued_total{counter="invoices/*",space="none"} 51` + "\n"; series > 20 || !strings.Contains(shown, want) {
		t.Errorf("%d series of counters, want those of one, with %s:\n%s", series, want, shown)
	}
}

// TestConfigureCounters: a configuration that adds or removes a counter refuses no call of others, and leaves the
// leases.
func TestConfigureCounters(t *testing.T) {
	w := newTestbed(t, strings.Replace(spaces, "check: CHECK", "check: CHECK, limits: {rate: 1000000}", 1))
	kept := w.setup.Load().spaces["none"]
	stop, done := make(chan struct{}), make(chan struct{})
	var calls, refused atomic.Int64
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if calls.Add(1); w.send(http.MethodPost, "/v1/counters/orders/next", "").status != http.StatusOK {
				refused.Add(1)
			}
		}
	}()
	for i := range 20 {
		next := *w.setup.Load().config
		next.Counters = slices.Clone(next.Counters)
		added, removed := "fresh", "few"
		if i%2 == 1 {
			added, removed = removed, added
		}
		next.Counters[1] = config.Counter{Name: added, Space: "none"}
		if err := w.Configure(&next, w.files); err != nil {
			t.Fatal(err)
		}
		for name, code := range map[string]string{added: "", removed: "not_found"} {
			if a := w.send(http.MethodPost, "/v1/counters/"+name+"/next", ""); a.body.Code != code {
				t.Errorf("%s: %s, want code %q", name, a.text, code)
			}
		}
		if w.setup.Load().spaces["none"] != kept {
			t.Fatal("the space was closed, and its leases given back")
		}
	}
	for before := calls.Load(); calls.Load() < before+10; {
		time.Sleep(time.Millisecond)
	}
	close(stop)
	<-done
	if refused.Load() > 0 {
		t.Errorf("%d of %d calls were refused", refused.Load(), calls.Load())
	}
}

// TestGoneSpace: a space that is taken out of the configuration, and whose store does not answer, delays no reload.
func TestGoneSpace(t *testing.T) {
	w := newTestbed(t, spaces)
	w.hangs.Store(true)
	defer w.hangs.Store(false)
	done := make(chan error, 1)
	go func() { done <- w.Configure(w.config("spaces: [{name: ulid, kind: ulid}]"), w.files) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second): // half of what the store takes
		t.Error("a reload waits for a store that does not answer")
	}
}
