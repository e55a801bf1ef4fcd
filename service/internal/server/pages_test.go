package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// TestPages: the page and /metrics are for those who may observe, and a scrape asks no store.
func TestPages(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	w.call("CounterService/Next", `{"space":"none","counter":"orders"}`, as("web"))
	for _, tt := range []struct {
		path, who string
		status    int
		has, not  string
	}{
		{"/", "all", 200, "orders", "token"},
		{"/", "one", 200, "orders", "mint"},
		{"/", "web", 403, "denied", "orders"},
		{"/", "nobody", 401, "not known", "orders"},
		{"/metrics", "all", 200, `randflake_numbers_issued_total{counter="orders",space="none"} 1`, "token"},
		{"/metrics", "one", 403, "denied", "orders"},
		{"/metrics", "nobody", 401, "not known", "orders"},
		{"/metrics", "all", 200, `randflaked_space_ready{space="ulid"} 1`, "token"},
		{"/metrics", "all", 200, `randflake_lease_healthy{space="sorted"} 1`, "token"},
		{"/metrics", "all", 200, `randflake_space_floors_set{space="sorted"} 0`, "token"},
		{"/metrics", "all", 200, `randflake_space_floors_set{space="none"} 0`, "token"},
		{"/metrics", "all", 200, `randflake_space_first_node{space="none"} 65536`, "token"},
		{"/metrics", "all", 200, `randflake_space_last_node{space="none"} 131071`, "token"},
		{"/healthz", "nobody", 200, "ok", "not"},
		{"/readyz", "nobody", 200, "ok", "not"},
	} {
		before := w.asked.Load()
		a := w.send(http.MethodGet, tt.path, "", func(r *http.Request) { r.SetBasicAuth("x", "token-of-"+tt.who) })
		require.That(t, a.status == tt.status && strings.Contains(a.text, tt.has) && !strings.Contains(a.text, tt.not),
			"%s for %s: %d %s", tt.path, tt.who, a.status, a.text)
		if asks := strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic "); asks != (a.status == http.StatusUnauthorized) {
			t.Errorf("%s for %s: %d, and the browser asks for a password: %v",
				tt.path, tt.who, a.status, asks)
		}
		if tt.path == "/metrics" && w.asked.Load() > before {
			t.Error("a scrape asks stores")
		}
	}
	withPassword := func(r *http.Request) { r.SetBasicAuth("x", "token-of-web") }
	if a := w.call("IDService/Mint", `{"space":"mint"}`, withPassword); a.status != http.StatusUnauthorized {
		t.Errorf("a call with the password that browsers send for pages of other sites, too: %d %s", a.status, a.text)
	}
	w.broken.Store(true)
	away := w.send(http.MethodGet, "/", "", as("all")).text
	for _, want := range []string{"The store does not answer as it should", "IDs last until"} {
		require.Contains(t, away, want, "the stores are away")
	}
	for path, who := range map[string]string{"/": "one", "/metrics": "web"} {
		var a answer
		var asked int64
		for try := 0; try < 100 && a.status != http.StatusTooManyRequests; try++ { // a slow machine earns calls again
			for w.rates.allow(who, othersUsually) { // as after many calls
			}
			before := w.asked.Load()
			a = w.send(http.MethodGet, path, "", as(who))
			asked = int64(w.asked.Load() - before)
		}
		require.That(t, a.status == http.StatusTooManyRequests && asked == 0,
			"%s for %s after many calls: %d %s", path, who, a.status, a.text)
	}
	require.That(t, strings.Contains(w.written.String(), `"msg":"deny","principal":"web","space":"","procedure":"page"`),
		"no line tells of a page that was denied:\n%s", w.written)
}

// A stuck client reads nothing until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	writing  chan<- struct{}
	released <-chan struct{}
}

func (s stuck) Write(text []byte) (int, error) {
	select {
	case s.writing <- struct{}{}:
	case <-s.released:
	}
	<-s.released
	return len(text), nil
}

// TestStuckScrapes: clients that don't read the metrics don't keep others from them.
func TestStuckScrapes(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	writing := make(chan struct{})
	released := make(chan struct{})
	var clients sync.WaitGroup
	for range maxScrapes {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		as("all")(r)
		clients.Go(func() { w.handler.ServeHTTP(stuck{httptest.NewRecorder(), writing, released}, r) })
		<-writing
	}
	if a := w.send(http.MethodGet, "/metrics", "", as("all")); a.status != http.StatusOK ||
		!strings.Contains(a.text, "randflaked_space_ready") {
		t.Errorf("%d clients don't read: %d %s", maxScrapes, a.status, a.text)
	}
	close(released)
	clients.Wait()
}

// A stopped keeper has had no lease since a time.
type stopped struct {
	space.Keeper
	since time.Time
}

func (s stopped) Status() lease.Status {
	return lease.Status{Stopped: s.since, End: s.since}
}

// TestPage: the page says how its spaces are, and how many windows are leased ahead; and no browser
// runs or keeps anything of it.
func TestPage(t *testing.T) {
	inBubble(t, spaces, func(t *testing.T, w *testbed) {
		page := func(want ...string) {
			t.Helper()
			a := w.send(http.MethodGet, "/", "")
			for _, text := range want {
				require.Contains(t, a.text, text, "the page")
			}
		}
		a := w.send(http.MethodGet, "/", "")
		for name, want := range map[string]string{
			"Content-Type":            "text/html",
			"Cache-Control":           "no-store",
			"X-Content-Type-Options":  "nosniff",
			"Content-Security-Policy": "default-src 'none'",
		} {
			require.That(t, strings.HasPrefix(a.header.Get(name), want),
				"%s: %q, want %s", name, a.header.Get(name), want)
		}
		for range 300 { // seconds, in which the next leases come
			if strings.Contains(a.text, "windows are leased ahead") {
				break
			}
			time.Sleep(time.Second)
			a = w.send(http.MethodGet, "/", "")
		}
		page("windows are leased ahead")
		w.call("CounterService/TakeNumbers", `{"space":"none","counter":"orders","count":41}`)
		w.call("CounterService/TakeNumbers", `{"space":"none","counter":"few","count":3}`)
		page("is ready, at ", `<h2>mint <span class="state ready">ready</span>`, `orders</span><td>42<td>none`, `few</span><td>none<td>3`, "The store answers. IDs last until ", "1 of 1024 nodes of this window are taken", "the space has 65536 to 131071")
		state, err := w.setup.Load().spaces["mint"].State()
		require.NoError(t, err)
		require.NoError(t, state.Leases.ReportLoss(t.Context(), "a mistake"))
		floor := state.Leases.Limits().WindowOf(time.Now()) + 7
		page("until " + time.Unix(60*floor, 0).UTC().Format("2006-01-02 15:04:05") + " leases that the store has forgotten may be in use.")
		state.Own = stopped{state.Own, time.Date(2026, 11, 27, 1, 2, 3, 0, time.UTC)}
		page("No IDs since 2026-11-27 01:02:03.", `<h2>mint <span class="state closed">not ready</span>`, `<span class="bad">space mint: `)
		w.broken.Store(true)
		page(`<h2>none <span class="state away">store away</span>`)
		require.NoError(t, w.reconfigure(func(c *config.Config) {
			c.Spaces = append(c.Spaces, config.Space{Name: "late", Kind: "snowflake", Layout: "twitter", Store: "sorted"})
		}))
		page("not ready: spaces are being opened", `<span class="bad">space: not open: space late: `)
	})
}

// TestMetrics: calls are counted by procedure, space and code, with those of strangers, and so is
// what the service has.
func TestMetrics(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	for range 2 {
		w.call("IDService/Mint", `{"space":"mint"}`, as("web"))
	}
	w.call("IDService/Mint", `{"space":"elsewhere"}`, as("web"))
	w.call("LeaseService/GetLimits", `{"space":"mint"}`, as("web"))
	w.call("IDService/Mint", `{"space":"mint"}`, as("nobody"))
	w.call("IDService/Mint", `{"space":"mint"}`, as("web"), func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
	w.send(http.MethodGet, "/", "", as("web"))
	w.send(http.MethodGet, "/metrics", "", as("nobody"))
	w.broken.Store(true)
	require.NoError(t, w.reconfigure(func(c *config.Config) {
		c.Spaces = append(c.Spaces, config.Space{Name: "late", Kind: "snowflake", Layout: "twitter", Store: "sorted"})
	}))
	w.Connected(3)
	a := w.send(http.MethodGet, "/metrics", "", as("all"))
	for _, want := range []string{
		`randflaked_calls_total{code="ok",procedure="randflake.v1.IDService/Mint",space="mint"} 2`,
		`randflaked_calls_total{code="not_found",procedure="randflake.v1.IDService/Mint",space=""} 1`,
		`randflaked_calls_total{code="permission_denied",procedure="randflake.v1.LeaseService/GetLimits",space="mint"} 1`,
		`randflaked_calls_total{code="unauthenticated",procedure="none",space=""} 1`,
		`randflaked_calls_total{code="invalid_argument",procedure="none",space=""} 1`,
		`randflaked_calls_total{code="permission_denied",procedure="page",space=""} 1`,
		`randflaked_calls_total{code="unauthenticated",procedure="metrics",space=""} 1`,
		`randflaked_call_duration_seconds_count{procedure="randflake.v1.IDService/Mint",space="mint"} 2`,
		`randflaked_space_ready{space="mint"} 1`,
		`randflaked_space_ready{space="late"} 0`,
		`randflaked_audit_lines_lost_total 0`,
		`randflaked_connections 3`,
		`randflake_build_info{`,
		`go_goroutines`,
		`process_start_time_seconds`,
	} {
		require.Contains(t, a.text, "\n"+want, "the beginnings of lines")
	}
	page, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile("# TYPE (randflake[a-z_]+)").FindAllStringSubmatch(a.text, -1) {
		require.That(t, strings.Contains(string(page), "`"+found[1]+"`"), "docs/operations.md lacks %s", found[1])
	}
}

// TestVersion: the version is the linker's, or else the go command's.
func TestVersion(t *testing.T) {
	info, _ := debug.ReadBuildInfo()
	require.Equal(t, Version(), info.Main.Version, "Version")
	defer func(before string) { version = before }(version)
	version = "v1.2.3"
	require.Equal(t, Version(), version, "Version")
}

// TestHealth: gRPC's health checks and descriptions are there, and a service that shuts down takes no more calls.
func TestHealth(t *testing.T) {
	w := newTestbed(t, spaces)
	for _, status := range []string{"SERVING_STATUS_SERVING", "SERVING_STATUS_NOT_SERVING"} {
		for _, service := range []string{"", "randflake.v1.IDService", "randflake.v1.LeaseService", "randflake.v1.CounterService"} {
			a := w.send(http.MethodPost, "/grpc.health.v1.Health/Check", `{"service":"`+service+`"}`)
			require.That(t, strings.Contains(a.text, `"`+status+`"`), "%q: %s, want %s", service, a.text, status)
		}
		w.Drain()
	}
	for _, version := range []string{"v1", "v1alpha"} {
		path := "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
		if a := w.send(http.MethodPost, path, ""); a.status == http.StatusNotFound {
			t.Errorf("reflection %s: %d", version, a.status)
		}
		stream := httptest.NewRequest(http.MethodPost, path, unread{t}) // which may go on after the answer
		stream.Header.Set("Content-Type", "application/grpc")
		require.Equal(t, readMessage(stream, nil), nil, "reflection %s", version)
	}
}
