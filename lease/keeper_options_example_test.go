package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var silent = lease.WithLogger(slog.New(slog.DiscardHandler))

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

// A service that makes up to 500,000 IDs a second takes four nodes.
func ExampleWithNodes() {
	leases := storetest.NewLeases(store.DefaultLimits(), nil)
	keeper, err := lease.Keep(context.Background(), leases, randflake.NewSecret(), lease.WithNodes(4), lease.WithTTL(time.Minute), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keeper.Close()
	n, err := keeper.Generator().Fill(make([]randflake.ID, 500_000))
	fmt.Println(n, err)
	// Output: 500000 <nil>
}

// A format with 10 bits for the node, which ends in 2040, has its leases from a store that knows of more and later
// ones.
func ExampleWithBelow() {
	leases := storetest.NewLeases(store.DefaultLimits(), nil)
	keeper, err := lease.Keep(context.Background(), leases, randflake.NewSecret(), silent,
		lease.WithBelow(1<<10), lease.WithUntil(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keeper.Close()
	fmt.Println(keeper.Generator().Lease().LastNode < 1<<10)
	// Output: true
}
