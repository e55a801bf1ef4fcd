package randflake_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/randflake/randflake/compat/v2"
)

func Example() {
	now := randflake.UnixSeconds(time.Now().Unix())
	generator, err := randflake.New(randflake.Config{
		Lease:  randflake.Lease{NodeID: 42, Start: now, EndExclusive: now + 600},
		Secret: []byte("super-secret-key"), // 16 bytes
	})
	if err != nil {
		log.Fatal(err)
	}
	id, err := generator.Generate()
	if err != nil {
		log.Fatal(err)
	}
	parts := generator.Inspect(id)
	fmt.Println("node", parts.NodeID, "in the lease:", parts.Timestamp >= now && parts.Timestamp < now+600)
	// Output: node 42 in the lease: true
}

func ExampleGenerator_ExtendLease() {
	now := randflake.UnixSeconds(1750000060)
	lease := randflake.Lease{NodeID: 7, Start: 1750000000, EndExclusive: 1750000060}
	generator, err := randflake.New(randflake.Config{
		Lease:  lease,
		Secret: []byte("super-secret-key"),
		Clock:  func() (randflake.UnixSeconds, error) { return now, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = generator.Generate()
	fmt.Println(errors.Is(err, randflake.ErrInvalidLease))

	lease.EndExclusive += 60
	fmt.Println(generator.ExtendLease(lease), generator.Lease())
	text, err := generator.GenerateString()
	fmt.Println(text, err)
	// Output:
	// true
	// <nil> {7 1750000000 1750000120}
	// 67l1nas67kb09 <nil>
}
