package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/store"
)

// with returns a lease as JSON, with some of its fields as they are in more.
func with(held map[string]any, more map[string]any) string {
	changed := map[string]any{}
	for _, fields := range []map[string]any{held, more} {
		for name, value := range fields {
			changed[name] = value
		}
	}
	text, _ := json.Marshal(changed)
	return string(text)
}

// ask asks for a procedure with a lease that is held.
func (w *testbed) ask(procedure, held string, change ...func(*http.Request)) answer {
	w.Helper()
	return w.call("LeaseService/"+procedure, `{"space":"none","ttlSeconds":300,"token":"`+lease.NewToken(time.Now()).String()+`","held":`+held+`}`, change...)
}

const twoTenants = spaces + `
principals: [{name: web, tokens: [WEB]}, {name: db, tokens: [DB]}]
rules: [{principals: [web, db], spaces: [none], verbs: [lease, list], limits: {leases: 2}}]
`

func newTenants(t *testing.T) *testbed {
	return newTestbed(t, strings.NewReplacer("WEB", hashOf("web"), "DB", hashOf("db")).Replace(twoTenants))
}

// floor returns the first second that may be granted.
func (w *testbed) floor() time.Time {
	w.Helper()
	state, err := w.setup.Load().spaces["none"].State()
	if err != nil {
		w.Fatal(err)
	}
	limits, err := state.Leases.Limits(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return limits.Floor
}

// TestForged: a lease that nobody was granted, with whatever version, makes nobody believe that data was lost, and one that
// was granted, and is newer than the data, does.
func TestForged(t *testing.T) {
	w := newTenants(t)
	held := w.acquire("none", "", as("web")).body.Lease
	before := w.floor()
	for _, more := range []map[string]any{
		{"version": "1000000", "highWater": "99999999999"},
		{"version": "1000000", "highWater": "99999999999", "signature": ""},
		{"version": "1000000", "highWater": "99999999999", "owner": lease.NewToken(time.Now()).String()},
		{"version": "9223372036854775807", "highWater": "9223372036854775807", "firstNode": 4000, "lastNode": 4000},
	} {
		for _, procedure := range []string{"Renew", "Lookup", "Release"} {
			if a := w.ask(procedure, with(held, more), as("web")); a.status == http.StatusOK && a.body.Lost == nil || a.status >= 500 {
				t.Errorf("%s of a lease with %v: %d %s", procedure, more, a.status, a.text)
			}
		}
	}
	if after := w.floor(); after != before {
		t.Fatalf("the floor is %v, it was %v: somebody's word was taken for a loss of data", after, before)
	}
	old := w.data["none"].Snapshot()
	newer := w.ask("Renew", with(held, nil), as("web"))
	if newer.body.Lease == nil {
		t.Fatalf("renew: %s", newer.text)
	}
	w.data["none"].Restore(old)
	other := &testbed{TB: t, written: new(buffer), secret: w.secret, data: w.data} // which has not seen what is lost
	other.begin(w.setup.Load().config)
	if a := other.ask("Renew", with(newer.body.Lease, nil), as("web")); a.body.Lost == nil || !other.floor().After(before) {
		t.Errorf("renewal of a lease that is newer than the data: %d %s, floor %v", a.status, a.text, other.floor())
	}
}

// TestOthersLease: a lease is its principal's alone, whoever knows its tokens.
func TestOthersLease(t *testing.T) {
	w := newTenants(t)
	mine := w.acquire("none", "", as("web")).body.Lease
	w.acquire("none", `,"label":"pod 7"`, as("db"))
	var listed struct{ Leases []map[string]any }
	if a := w.call("LeaseService/List", `{"space":"none"}`, as("db")); json.Unmarshal([]byte(a.text), &listed) != nil || len(listed.Leases) != 2 || strings.Contains(a.text, fmt.Sprint(mine["owner"])) ||
		strings.Contains(a.text, "signature") || strings.Contains(a.text, "change\"") {
		t.Fatalf("list: %s, want two leases without what is needed to renew them", a.text)
	}
	for _, want := range []string{"web", "pod_7"} { // the principal, or what it says
		if !slices.ContainsFunc(listed.Leases, func(l map[string]any) bool { return l["label"] == want }) {
			t.Errorf("list: %v, want one with the label %s", listed.Leases, want)
		}
	}
	for _, shown := range listed.Leases {
		for _, procedure := range []string{"Renew", "Lookup", "Release"} {
			if a := w.ask(procedure, with(shown, nil), as("db")); a.body.Lease != nil || a.status == http.StatusOK && a.body.Lost == nil {
				t.Errorf("%s of what List shows: %d %s", procedure, a.status, a.text)
			}
		}
	}
	if a := w.ask("Renew", with(mine, nil), as("web")); a.body.Lease == nil {
		t.Errorf("renewal by the holder, after that: %d %s", a.status, a.text)
	}
	held := w.acquire("none", "", as("web")).body.Lease
	for _, procedure := range []string{"Renew", "Lookup", "Release"} {
		if a := w.ask(procedure, with(held, nil), as("db")); a.body.Code != "permission_denied" {
			t.Errorf("%s by another principal: %d %s", procedure, a.status, a.text)
		}
	}
	if a := w.call("LeaseService/Acquire", fmt.Sprintf(`{"space":"none","nodes":1,"ttlSeconds":300,"owner":%q}`, held["owner"]), as("db")); a.body.Code != "permission_denied" {
		t.Errorf("acquisition with its token, by another principal: %d %s", a.status, a.text)
	}
	if !strings.Contains(w.written.String(), `"msg":"denial","principal":"db","space":"none","why":"access: denied: the lease is another principal's`) {
		t.Errorf("no line tells of it: %s", w.written)
	}
	if a := w.ask("Renew", with(held, nil), as("web")); a.body.Lease == nil {
		t.Errorf("renewal by its principal: %d %s", a.status, a.text)
	}
	if a := w.ask("Renew", with(held, nil), as("web")); a.body.Lost == nil {
		t.Errorf("renewal of an older state: %d %s", a.status, a.text)
	}
	if a := w.acquire("none", "", as("web")); a.body.Code != "permission_denied" {
		t.Errorf("a third lease, after one was called lost that is not: %d %s", a.status, a.text)
	}
}

// TestOtherStore: a client that comes with a lease of another store shows no loss of data.
func TestOtherStore(t *testing.T) {
	a, b := newTenants(t), newTenants(t)
	answer := a.acquire("none", "", as("web"))
	answer = a.ask("Renew", with(answer.body.Lease, nil), as("web"))
	before := b.floor()
	got := b.ask("Renew", with(answer.body.Lease, nil), as("web"))
	if after := b.floor(); after != before {
		t.Errorf("renewal of a lease of another store: %d %s; the floor is %v, it was %v", got.status, got.text, after, before)
	}
}

// TestEvidenceIsNotSent: the error of a change that shows a loss of data has the engine's evidence, which is not for clients.
func TestEvidenceIsNotSent(t *testing.T) {
	data := leasetest.NewMemory()
	armed := false
	space, err := store.Create(t.Context(), leasetest.Intercept(data.Connect(), func(ctx context.Context, c leasetest.Call, e store.Engine) (store.Answer, error) {
		if c.Swap && armed {
			armed = false
			data.SetLineage("system 7312345678901234567 timeline 2")
		}
		return c.On(ctx, e)
	}), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	counters := counter.On(space)
	if _, err := counters.Create(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	armed = true
	_, _, err = counters.Allocate(t.Context(), "orders", 10, counter.NewToken(time.Now()))
	if sent, _ := wire.Error(err, space.String()); strings.Contains(sent.Error(), "7312345678901234567") {
		t.Errorf("clients are told: %v", sent)
	}
}
