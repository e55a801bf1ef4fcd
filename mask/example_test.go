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

// The secret of a service is kept somewhere safe. Each kind gets a key of its own from it.
var secret = secretOf("dffd6021000000000000000000000000")

// orders is the kind of orders.
type orders struct{}

var orderMasker = mask.NewMasker(secret, "order", inThePast)

func (orders) Masker() *mask.Masker[key] { return orderMasker }
func (orders) IDPrefix() string          { return "ord" }

// inThePast refuses most IDs that nobody made: keys here are milliseconds since 1970, times 2^20.
func inThePast(inner key) error {
	if made := time.UnixMilli(int64(inner >> 20)); made.After(time.Now().Add(time.Minute)) {
		return errors.New("made in the future")
	}
	return nil
}

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
	fmt.Println(column, made.ID.Inner())

	_, err = mask.Parse[orders]("ord_jvgoe12ccb8gh")
	fmt.Println(err)
	// Output:
	// {"id":"ord_torlptdnpleht","item":"tea"}
	// /orders/ord_torlptdnpleht, {ID:ord_torlptdnpleht Item:tea}
	// true <nil>
	// 1849688064000000000 1849688064000000000
	// randflake: invalid ID: "jvgoe12ccb8gh" opens to no plausible value: it was not masked under this secret
}

// A uuid is what uuid.UUID is in Go 1.27 and in other libraries.
type uuid [16]byte

// documents is the kind of documents.
type documents struct{}

var documentMasker = mask.NewUUIDMasker[uuid](secret, "document", nil)

func (documents) Masker() *mask.UUIDMasker[uuid] { return documentMasker }

func secretOf(text string) randflake.Secret {
	secret, err := randflake.ParseSecret(text)
	if err != nil {
		panic(err)
	}
	return secret
}

// Stored as version 7, in the order of time, and shown as version 4.
func ExampleUUID() {
	key := uuid{0x01, 0x9a, 0xa9, 0x1c, 0x8e, 0x00, 0x7a, 0xbc, 0x9d, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab}
	id := mask.OfUUID[documents](key)
	column, err := id.Value()
	fmt.Println(column, err)
	fmt.Println(id)

	read, err := mask.ParseUUID[documents](id.String())
	fmt.Println(read == id, read.Inner() == key, err)
	// Output:
	// 019aa91c-8e00-7abc-9def-0123456789ab <nil>
	// 2f2dd4f4-04d9-41b5-a5cc-c5a8397562f8
	// true true <nil>
}

// Two tenants of one process have orders, each under a key of its own.
func ExampleMasker() {
	for _, name := range []string{"ada", "bob"} {
		tenant := mask.NewMasker[key](secret.Derive(name, 1), "order", nil)
		masked, _ := tenant.Mask(7)
		inner, err := tenant.Unmask(masked)
		fmt.Println(masked, inner, err)
	}
	// Output:
	// itpfkasl4tr2u 7 <nil>
	// gni2l7spqtp3j 7 <nil>
}

// A table has a Randflake's raw values as its keys, which grow, and everybody else sees the Randflake IDs.
func ExampleMaskerOf() {
	cipher := randflake.NewCipher(secret) // or the method Cipher of the generator
	masker := mask.MaskerOf[randflake.Raw](cipher, nil)

	id := randflake.MustParse("jvgoe12ccb8gh")
	raw, _ := masker.Unmask(id)
	fmt.Println(masker.Mask(raw))
	fmt.Println(raw == cipher.Decrypt(id))
	// Output:
	// jvgoe12ccb8gh <nil>
	// true
}
