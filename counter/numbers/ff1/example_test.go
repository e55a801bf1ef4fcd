package ff1_test

import (
	"crypto/aes"
	"fmt"

	"github.com/randflake/randflake/counter/numbers/ff1"
)

func Example() {
	block, err := aes.NewCipher([]byte("sixteen bytes, s")) // a key that is used for nothing else
	if err != nil {
		panic(err)
	}
	tickets, err := ff1.New(block, 10, 6, []byte("tickets"))
	if err != nil {
		panic(err)
	}
	for n := range uint64(3) {
		encrypted := tickets.Encrypt(n)
		fmt.Printf("%06d %06d\n", encrypted, tickets.Decrypt(encrypted))
	}
	// Output:
	// 134258 000000
	// 027175 000001
	// 687614 000002
}
