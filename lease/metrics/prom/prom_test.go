package prom_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/metrics"
	"github.com/randflake/randflake/lease/metrics/prom"
)

// Each scrape shows what is reported then, with its kind and all labels.
func TestScrape(t *testing.T) {
	value := uint64(0)
	r := metrics.Func(func() []metrics.Metric {
		held := metrics.Gauge("held", "Nodes.", 1.5)
		held.Labels = map[string]string{"state": "all"}
		return []metrics.Metric{metrics.Counter("ids_total", "IDs.", value), held}
	})
	registry := prometheus.NewPedanticRegistry()
	for _, name := range []string{"orders", "invoices"} {
		registry.MustRegister(prom.NewCollector(metrics.With(map[string]string{"ids": name}, r)))
	}
	for value = range 3 {
		want := fmt.Sprintf(`
# HELP held Nodes.
# TYPE held gauge
held{ids="invoices",state="all"} 1.5
held{ids="orders",state="all"} 1.5
# HELP ids_total IDs.
# TYPE ids_total counter
ids_total{ids="invoices"} %[1]d
ids_total{ids="orders"} %[1]d
`, value)
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want)))
	}
}

// Reporters are asked at once: one whose store does not answer delays no other.
func TestConcurrent(t *testing.T) {
	other := make(chan struct{})
	waits := metrics.Func(func() []metrics.Metric {
		select {
		case <-other:
		case <-time.After(time.Minute):
			t.Error("the other reporter was not asked")
		}
		return nil
	})
	prom.NewCollector(waits, metrics.Func(func() []metrics.Metric { close(other); return nil })).Collect(nil)
}

// Names and help follow the rules of Prometheus.
func TestNames(t *testing.T) {
	space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	keeper, err := lease.Keep(t.Context(), space, randflake.NewSecret())
	require.NoError(t, err)
	defer keeper.Close()
	orders, err := counter.From(space).Open(t.Context(), "orders", counter.OrCreate(counter.Config{}))
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prom.NewCollector(keeper, metrics.Build(""), orders))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "randflake_counter_") && strings.HasSuffix(p.Text, "type 'counter'") {
			continue // here it is not the type
		}
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
