package leaseprom_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leaseprom"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// A report is a Reporter that says what it was told.
type report struct {
	mu     sync.Mutex
	status lease.Status
}

func (r *report) Status() lease.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *report) set(s lease.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = s
}

// wantShown checks lines of what g shows, without help and type.
func wantShown(t *testing.T, g prometheus.Gatherer, want string) {
	t.Helper()
	var names []string
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "# TYPE ") {
			names = append(names, strings.Fields(line)[2])
		}
	}
	if err := testutil.GatherAndCompare(g, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// Each scrape shows what the keeper says then.
func TestScrape(t *testing.T) {
	r := new(report)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(leaseprom.NewCollector(r, nil))
	for _, n := range []uint64{0, 1, 1 << 40} {
		r.set(lease.Status{Held: 2, Left: -1500 * time.Millisecond, Issued: n, Err: errors.New("not shown")})
		wantShown(t, registry, fmt.Sprintf(`
# HELP randflake_ids_issued_total IDs made.
# TYPE randflake_ids_issued_total counter
randflake_ids_issued_total %v
# HELP randflake_lease_seconds_left Seconds until the lease ends, negative after its end.
# TYPE randflake_lease_seconds_left gauge
randflake_lease_seconds_left -1.5
# HELP randflake_leases_held Leases held, 2 while one replaces the other.
# TYPE randflake_leases_held gauge
randflake_leases_held 2
`, float64(n)))
	}
}

// All that a keeper reports is shown, as the kind that it is.
func TestEveryMetricIsShown(t *testing.T) {
	r := new(report)
	r.set(lease.Status{Healthy: true, Held: 1, Acquired: 2, Renewed: 3, Issued: 4, Refusals: 5})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(leaseprom.NewCollector(r, nil))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if c := m.GetCounter(); c != nil {
				shown[f.GetName()+" counter"] = c.GetValue()
			} else {
				shown[f.GetName()+" gauge"] = m.GetGauge().GetValue()
			}
		}
	}
	want := r.Status().Metrics()
	for _, m := range want {
		kind := " gauge"
		if m.Counter {
			kind = " counter"
		}
		if got, ok := shown[m.Name+kind]; !ok || got != m.Value {
			t.Errorf("%s%s: %v, shown: %v, want %v", m.Name, kind, got, ok, m.Value)
		}
	}
	if len(shown) != len(want) {
		t.Errorf("%d metrics shown, want %d", len(shown), len(want))
	}
}

// Names and help follow the rules of Prometheus.
func TestNames(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(leaseprom.NewCollector(new(report), nil))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Several keepers in one process, told apart by their labels.
func TestSeveralKeepers(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for i, name := range []string{"invoices", "orders"} {
		r := new(report)
		r.set(lease.Status{Renewed: uint64(i) + 7})
		registry.MustRegister(leaseprom.NewCollector(r, prometheus.Labels{"ids": name}))
	}
	wantShown(t, registry, `
# HELP randflake_lease_renewals_total Renewals.
# TYPE randflake_lease_renewals_total counter
randflake_lease_renewals_total{ids="invoices"} 7
randflake_lease_renewals_total{ids="orders"} 8
`)
	again := leaseprom.NewCollector(new(report), prometheus.Labels{"ids": "orders"})
	if err := registry.Register(again); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("the same labels twice: error %v, want AlreadyRegisteredError", err)
	}
	if !registry.Unregister(again) {
		t.Error("a collector can't be unregistered")
	}
}

// A real keeper, scraped while it works.
func TestKeeper(t *testing.T) {
	keeper, err := lease.Keep(t.Context(), leasetest.NewMemory(store.DefaultLimits(), nil), randflake.NewSecret(),
		lease.WithNodes(8), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(leaseprom.NewCollector(keeper, nil))
	const makers, each, size = 4, 20, 100
	var wg sync.WaitGroup
	for range makers {
		wg.Go(func() {
			for range each {
				if n, err := keeper.Generator().Fill(make([]randflake.ID, size)); n != size || err != nil {
					t.Errorf("Fill: %d, %v", n, err)
				}
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantShown(t, registry, fmt.Sprintf(`
# HELP randflake_ids_issued_total IDs made.
# TYPE randflake_ids_issued_total counter
randflake_ids_issued_total %d
# HELP randflake_lease_healthy 1 if the lease is in force with more than a third of its TTL left, otherwise 0.
# TYPE randflake_lease_healthy gauge
randflake_lease_healthy 1
`, makers*each*size))
}
