package prom_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/metrics"
	"github.com/randflake/randflake/lease/metrics/prom"
)

func Example() {
	ctx := context.Background()
	space, err := lease.Create(ctx, leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true}) // for a test; a service opens one that lasts
	if err != nil {
		fmt.Println(err)
		return
	}
	keeper, err := lease.Keep(ctx, space, randflake.NewSecret(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keeper.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prom.NewCollector(metrics.Build(""), metrics.With(map[string]string{"ids": "orders"}, keeper)))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	keeper.Generator().Fill(make([]randflake.ID, 1000))

	page, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Body.Close()
	for lines := bufio.NewScanner(page.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "ids_made") {
			fmt.Println(lines.Text())
		}
	}
	// Output:
	// # HELP randflake_ids_made_total IDs made. Each processor adds up to 4,096 late, and most of its last ones under a lease never.
	// # TYPE randflake_ids_made_total counter
	// randflake_ids_made_total{ids="orders"} 1000
}
