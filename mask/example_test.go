package mask_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
)

// A key is what the database sorts by; snowflake.ID is one.
type key int64

// orders is the space of order IDs. A service has its cipher from a secret that is kept somewhere safe.
type orders struct{}

var orderCipher = cipherOf("dffd6021000000000000000000000000")

func cipherOf(text string) *randflake.Cipher {
	secret, err := randflake.ParseSecret(text)
	if err != nil {
		panic(err)
	}
	return randflake.NewCipher(secret)
}

func (orders) Cipher() *randflake.Cipher { return orderCipher }

// Check refuses most IDs that nobody made: keys here are milliseconds since 1970, times 2^20.
func (orders) Check(inner key) error {
	if made := time.UnixMilli(int64(inner >> 20)); made.After(time.Now().Add(time.Minute)) {
		return errors.New("made in the future")
	}
	return nil
}

var _ mask.Checker[key] = orders{}

type OrderID = mask.ID[orders, key]

func Example() {
	type order struct {
		ID   OrderID `json:"id"`
		Item string  `json:"item"`
	}
	made := order{mask.Of[orders](key(1764000000000 << 20)), "tea"}

	shown, _ := json.Marshal(made)
	fmt.Println(string(shown))
	fmt.Printf("/orders/%v, %+v\n", made.ID, made)

	var read order
	err := json.Unmarshal(shown, &read)
	fmt.Println(read.ID == made.ID, err)

	column, _ := made.ID.Value() // for database/sql alone
	fmt.Println(column)
	// Output:
	// {"id":"f5vh6rp7lekem","item":"tea"}
	// /orders/f5vh6rp7lekem, {ID:f5vh6rp7lekem Item:tea}
	// true <nil>
	// 1849688064000000000
}

func ExampleParse() {
	id, err := mask.Parse[orders, key]("f5vh6rp7lekem")
	fmt.Println(id, err)
	_, err = mask.Parse[orders, key]("forged")
	fmt.Println(err)
	fmt.Println(errors.Is(err, mask.ErrInvalidID))
	// Output:
	// f5vh6rp7lekem <nil>
	// randflake: invalid ID: "forged" opens to no plausible value: it was not masked in this space
	// true
}

func ExampleOf() {
	id := mask.Of[orders](key(7))
	fmt.Println(id.Inner(), id == mask.Of[orders](key(7)))
	// Output: 7 true
}
