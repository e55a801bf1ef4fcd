package randflake_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/randflake/randflake/compat"
)

func Example() {
	secret := []byte("super-secret-key") // 16 bytes
	now := time.Now().Unix()
	generator, err := randflake.NewGenerator(42, now, now+3600, secret)
	if err != nil {
		log.Fatal(err)
	}
	id, err := generator.Generate()
	if err != nil {
		log.Fatal(err)
	}
	timestamp, node, _, err := generator.Inspect(id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("node", node, "in the lease:", timestamp >= now && timestamp <= now+3600)
	// Output: node 42 in the lease: true
}

func ExampleGenerator_UpdateLease() {
	const start = 1750000000
	generator, err := randflake.NewGenerator(7, start, start+59, []byte("super-secret-key"))
	if err != nil {
		log.Fatal(err)
	}
	for _, now := range []int64{start - 1, start, start + 60} {
		generator.TimeSource = func() int64 { return now }
		_, err := generator.Generate()
		fmt.Println(now, errors.Is(err, randflake.ErrInvalidLease))
	}
	fmt.Println(generator.UpdateLease(start, start+119), generator.GetLeaseInfo())
	// Output:
	// 1749999999 true
	// 1750000000 false
	// 1750000060 true
	// true {7 1750000000 1750000119}
}

func ExampleGenerator_InspectString() {
	secret := []byte("\xdf\xfd\x60\x21\xbb\x2b\xd5\xb0\xaf\x67\x62\x90\x80\x9e\xc3\xa5")
	generator, err := randflake.NewGenerator(1, 1730000000, 1730000000, secret)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(generator.InspectString("3vgoe12ccb8gh"))
	fmt.Println(randflake.DecodeString("3vgoe12ccb8gh"))
	fmt.Println(randflake.EncodeString(4594531474933654033))
	// Output:
	// 1733706297 42 1 <nil>
	// 4594531474933654033 <nil>
	// 3vgoe12ccb8gh
}
