package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/internal/config"
)

// A given is what calls of everybody were given.
type given struct {
	*testing.T
	url  string
	seen map[string]bool // numbers by counter and period
}

// call calls a procedure, and notes the numbers of its answer. It returns the code of an error, or "".
func (g *given) call(who, procedure, body string) (first int64, code string) {
	g.Helper()
	r, err := http.NewRequest(http.MethodPost, g.url+"/randflake.v1."+procedure, strings.NewReader(body))
	must(g.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer token-of-"+who)
	a, err := http.DefaultClient.Do(r)
	must(g.T, err)
	text, err := io.ReadAll(a.Body)
	a.Body.Close()
	must(g.T, err)
	var asked struct{ Counter string }
	json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&asked) // a thief may send what is no JSON
	var answer struct {
		Code, Message      string
		Period             string
		Numbers            []string
		First, Count, Step json.Number
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		g.Fatalf("%s %s: %s", procedure, body, text)
	}
	if who == "owner" && answer.Code != "" {
		g.Errorf("%s %s: %s", procedure, body, answer.Message)
	}
	first, _ = answer.First.Int64()
	count, _ := answer.Count.Int64()
	step, _ := answer.Step.Int64()
	for i := range count {
		answer.Numbers = append(answer.Numbers, strconv.FormatInt(first+i*step, 10))
	}
	for _, n := range answer.Numbers {
		key := asked.Counter + " " + answer.Period + " " + n
		require.Must(g, !g.seen[key], "%s %s: number %s was given before", procedure, body, key)
		g.seen[key] = true
	}
	return first, answer.Code
}

// newPostgres makes a space of IDs in a PostgreSQL, and returns its URL and the name of a file with its secret.
func newPostgres(t *testing.T) (store, secretFile string) {
	t.Helper()
	if _, err := exec.LookPath("pg_config"); err != nil {
		t.Skip("PostgreSQL is not installed")
	}
	server, err := servers.StartPostgres(t.TempDir(), nil)
	must(t, err)
	t.Cleanup(func() { server.Stop() })
	secret := randflake.NewSecret()
	space, err := url.Create(t.Context(), server.URL(), lease.Config{NeverUsed: true, CheckValue: secret.CheckValue()})
	must(t, err)
	must(t, space.Close())
	secretFile = filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secretFile, []byte(secret.Hex()), 0o600))
	return server.URL(), secretFile
}

// hashOf returns the hash of the token of a principal.
func hashOf(who string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte("token-of-"+who))) }

// TestThief: a principal that has the right count alone tries all that the protocol has. Numbers of
// others go on, and none repeats.
func TestThief(t *testing.T) {
	store, _ := newPostgres(t)
	text := fmt.Sprintf(`listen: localhost:0
audit: {file: %s}
spaces:
- name: orders
  kind: randflake
  store: %q
  counters:
  - {name: invoices, start: 1000}
  - {name: daily, periods: day, zone: Asia/Tokyo}
  - {name: "many/*", periods: fiscal-year-04}
principals: [{name: thief, tokenHashes: [%s]}, {name: owner, tokenHashes: [%s]}]
rules:
- {principals: [thief], spaces: [orders], verbs: [count], quota: {batch: 20, rate: 1000000}}
- {principals: [owner], spaces: [orders], verbs: [count, set], quota: {rate: 1000000}}
`, filepath.Join(t.TempDir(), "audit"), store, hashOf("thief"), hashOf("owner"))
	c, err := config.Parse("test", []byte(text))
	must(t, err)
	p := start(t, func() (*config.Config, error) { return c, nil }, http.DefaultClient)
	g := &given{t, p.url, map[string]bool{}}

	random := rand.New(rand.NewPCG(47, 1))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	last := map[string]int64{}
	given := 0
	for i := range 1000 {
		procedure := "CounterService/" + one("TakeNumbers", "TakeNumbers", "TakeNumbers", "Next", "Next", "GetCounter", "SetCounter", "ListCounters")
		if random.IntN(10) == 0 {
			procedure = one("LeaseService/Take", "LeaseService/GetLimits", "IDService/Mint", "IDService/Inspect")
		}
		many := `"many/` + strconv.Itoa(random.IntN(50)) + `"`
		body := `{"space":` + one(`"orders"`, `"orders"`, `"orders"`, `"other"`, `"../orders"`, `7`) +
			`,"counter":` + one(`"invoices"`, `"invoices"`, `"daily"`, `"daily"`, `"many/1"`, many, `"many/*"`, `"Invoices"`, `""`) +
			`,"count":` + one(`1`, `5`, `"1000000000"`, `"9223372036854775807"`, `-1`, `65537`) +
			`,"period":` + one(`""`, `"2026"`, `"zz"`, `"9999-12-31"`, `"fy9999"`) +
			`,"periodBegin":` + one(`0`, `"-9223372036854775808"`, `"9223372036854775807"`, `"1800000000"`) +
			`,"period_begin":"1","start":1,"step":-1,"next":` + one(`0`, `1`, `"9223372036854775807"`) + one(`}`, `}`, `}`, `}`, ``)
		mayCall := strings.HasPrefix(procedure, "CounterService/") && !strings.HasSuffix(procedure, "/SetCounter")
		if _, code := g.call("thief", procedure, body); code == "" {
			given++
			require.Must(t, mayCall, "%s %s is not denied", procedure, body)
		}
		for _, counter := range []string{"invoices", "daily"} {
			if i%10 > 0 {
				continue
			}
			first, code := g.call("owner", "CounterService/TakeNumbers", `{"space":"orders","counter":"`+counter+`","count":3}`)
			_, next := g.call("owner", "CounterService/Next", `{"space":"orders","counter":"`+counter+`"}`)
			isBack := counter == "invoices" && first <= last[counter] // daily begins again each day
			if code != "" || next != "" || isBack {
				t.Fatalf("after %s %s: the owner of %s has %d after %d, codes %q and %q",
					procedure, body, counter, first, last[counter], code, next)
			}
			last[counter] = first
		}
	}
	require.That(t, given >= 50 && last["invoices"] >= 1000,
		"%d calls of the thief were answered, and the owner is at %v", given, last)
	_, code := g.call("owner", "CounterService/SetCounter", `{"space":"orders","counter":"invoices","next":"10000000"}`)
	require.Equal(t, code, "", "set")
	first, code := g.call("owner", "CounterService/TakeNumbers", `{"space":"orders","counter":"invoices"}`)
	require.That(t, first == 10000000 && code == "", "after set: %d, %s", first, code)
}
