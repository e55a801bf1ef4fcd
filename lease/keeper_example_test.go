package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var silent = lease.WithLogger(slog.New(slog.DiscardHandler))

// Memory forgets everything, so it is for tests: a service opens a store that keeps its records.
func ExampleKeep() {
	store := storetest.NewLeases(store.DefaultLimits(), nil)
	keeper, err := lease.Keep(context.Background(), store, randflake.NewSecret(), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := keeper.Generator().Generate()
	fmt.Println(id != 0, err)
	fmt.Println(keeper.Close())
	// Output:
	// true <nil>
	// <nil>
}

// What makes IDs under a lease need not be a generator itself, if only it knows how to go on with another one.
type invoices struct{ *randflake.Generator }

func (i invoices) number() (string, error) {
	id, err := i.Generate()
	if err != nil {
		return "", err
	}
	return "INV-" + id.String(), nil
}

func ExampleKeepFor() {
	leases := storetest.NewLeases(store.DefaultLimits(), nil)
	keeper, err := lease.KeepFor(context.Background(), leases, func(l randflake.Lease, onRefusal func(error, bool)) (invoices, error) {
		g, err := randflake.New(randflake.NewSecret(), l, randflake.OnRefusal(onRefusal))
		return invoices{g}, err
	}, silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	office := keeper.Generator()
	number, err := office.number()
	fmt.Println(strings.HasPrefix(number, "INV-"), err)
	fmt.Println(keeper.Close()) // which closes the office
	_, err = office.number()
	fmt.Println(err)
	// Output:
	// true <nil>
	// <nil>
	// randflake: generator is closed
}
