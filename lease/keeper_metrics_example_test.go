package lease_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"log/slog"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/metrics"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// keepers is what /debug/vars shows as "randflake".
var keepers = expvar.NewMap("randflake")

// publish adds what r reports, read whenever somebody looks.
func publish(name string, r metrics.Reporter) {
	keepers.Set(name, expvar.Func(func() any {
		values := make(map[string]float64)
		for _, m := range r.Metrics() {
			values[m.Name] = m.Value
		}
		return values
	}))
}

// Numbers of several keepers in one process are published with package expvar.
func ExampleKeeper_Metrics() {
	store, secret := storetest.NewLeases(store.DefaultLimits(), nil), randflake.NewSecret()
	for _, name := range []string{"orders", "invoices"} {
		keeper, err := lease.Keep(context.Background(), store, secret, lease.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer keeper.Close()
		publish(name, keeper)
		keeper.Generator().Fill(make([]randflake.ID, len(name)))
	}

	var seen map[string]map[string]float64
	if err := json.Unmarshal([]byte(expvar.Get("randflake").String()), &seen); err != nil {
		fmt.Println(err)
		return
	}
	for name, values := range seen {
		fmt.Println(name, values["randflake_leases_held"], values["randflake_ids_issued_total"])
	}
	// Unordered output:
	// orders 1 6
	// invoices 1 8
}
