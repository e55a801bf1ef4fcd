package randflake_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/randflake/randflake/compat/v2"
)

func Example() {
	now := randflake.UnixSeconds(1750000000)
	lease := randflake.Lease{NodeID: 7, Start: now, EndExclusive: now + 60}
	generator, err := randflake.New(randflake.Config{
		Lease:  lease,
		Secret: []byte("super-secret-key"),                                // 16 bytes
		Clock:  func() (randflake.UnixSeconds, error) { return now, nil }, // without one it is the system's
	})
	if err != nil {
		log.Fatal(err)
	}
	id, err := generator.Generate()
	fmt.Printf("%+v %v\n", generator.Inspect(id), err)

	now += 60
	_, err = generator.Generate()
	fmt.Println(errors.Is(err, randflake.ErrInvalidLease))
	lease.EndExclusive += 60
	fmt.Println(generator.ExtendLease(lease), generator.Lease())
	fmt.Println(generator.GenerateString())
	// Output:
	// {Timestamp:1750000000 NodeID:7 Sequence:0} <nil>
	// true
	// <nil> {7 1750000000 1750000120}
	// 67l1nas67kb09 <nil>
}
