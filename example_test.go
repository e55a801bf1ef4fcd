package randflake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// A lease that this process alone holds: package lease is the way to get one.
func exampleLease() randflake.Lease {
	start := time.Now().Truncate(time.Second)
	return randflake.Lease{FirstNode: 42, LastNode: 42, Start: start, End: start.Add(time.Hour)}
}

// must is for examples: a program looks at the error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func Example() {
	generator, err := randflake.New(randflake.NewSecret(), exampleLease())
	if err != nil {
		panic(err)
	}
	defer generator.Close()

	id, err := generator.Generate()
	if err != nil {
		panic(err)
	}
	fields := generator.Cipher().Inspect(id)
	fmt.Println("node:", fields.Node)
	fmt.Println("digits:", len(id.String()))
	// Output:
	// node: 42
	// digits: 13
}

// A loop that makes ID after ID has Fill make 64 at once, and takes them one by one. IDs left over
// for a few seconds carry an earlier time, and are as good.
func ExampleGenerator_Fill() {
	generator := must(randflake.New(randflake.NewSecret(), exampleLease()))
	var ids [64]randflake.ID
	seen := make(map[randflake.ID]bool)
	for i := range 1000 {
		if i%len(ids) == 0 {
			if _, err := generator.Fill(ids[:]); err != nil {
				panic(err)
			}
		}
		seen[ids[i%len(ids)]] = true
	}
	fmt.Println(len(seen))
	// Output: 1000
}

// A node has 131,072 IDs a second: the others come with the next second, if the context lasts.
func ExampleGenerator_FillWait() {
	generator := must(randflake.New(randflake.NewSecret(), exampleLease()))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	n, err := generator.FillWait(ctx, make([]randflake.ID, 200_000))
	fmt.Println(n, err)
	// Output: 200000 <nil>
}

// A test sets the clock.
func ExampleWithClock() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lease := randflake.Lease{FirstNode: 42, LastNode: 42, Start: noon, End: noon.Add(time.Hour)}
	generator := must(randflake.New(randflake.NewSecret(), lease, randflake.WithClock(func() time.Time { return noon })))
	id, err := generator.Generate()
	fmt.Println(generator.Cipher().Inspect(id).Time, err)
	// Output: 2026-01-01 12:00:00 +0000 UTC <nil>
}

func ExampleGenerator_Generate_errors() {
	lease := exampleLease()
	lease.Start, lease.End = lease.Start.Add(-2*time.Hour), lease.Start.Add(-time.Hour)
	generator := must(randflake.New(randflake.NewSecret(), lease))
	_, err := generator.Generate()
	fmt.Println(err)
	// Output: randflake: lease has ended: get another one
}

func ExampleParse() {
	id, err := randflake.Parse("jvgoe12ccb8gh")
	fmt.Println(int64(id), err)
	_, err = randflake.Parse("10")
	fmt.Println(err)
	// Output:
	// 4594531474933654033 <nil>
	// randflake: invalid ID: "10": a decimal number: convert it to randflake.ID
}

// A column of integers takes an ID as it is, a column of text one that was converted.
func ExampleTextID() {
	id := randflake.ID(4594531474933654033)
	integer, _ := id.Value()
	text, _ := randflake.TextID(id).Value()
	fmt.Println(integer, text)

	var back randflake.ID
	err := (*randflake.TextID)(&back).Scan(text) // as rows.Scan does
	fmt.Println(back == id, err)
	// Output:
	// 4594531474933654033 jvgoe12ccb8gh
	// true <nil>
}

// A Shipment is what has IDs of its own kind: "shp_jvgoe12ccb8gh".
type Shipment struct {
	ID      ShipmentID `json:"id"` // a BIGINT in a database
	Parcels []ParcelID `json:"parcels"`
}

type ShipmentID = randflake.Typed[Shipment]

func (Shipment) IDPrefix() string { return "shp" }

type Parcel struct{ ID ParcelID }

type ParcelID = randflake.Typed[Parcel]

func (Parcel) IDPrefix() string { return "pcl" }

func ExampleTyped() {
	shipment := Shipment{ID: 4594531474933654033, Parcels: []ParcelID{32}} // ShipmentID(id) for an id of a generator
	data, _ := json.Marshal(shipment)
	fmt.Printf("%s\n/shipments/%v\n", data, shipment.ID)

	_, err := randflake.ParseTyped[Shipment]("pcl_g000000000010")
	fmt.Println(err)
	// Output:
	// {"id":"shp_jvgoe12ccb8gh","parcels":["pcl_g000000000010"]}
	// /shipments/shp_jvgoe12ccb8gh
	// randflake: invalid ID: "pcl_g000000000010": want shp_ and then the digits
}

// A pointer is an ID or none: NULL in a column, null in JSON.
func ExampleID_Scan() {
	var order struct {
		ID     randflake.ID  `json:"id"`
		Parent *randflake.ID `json:"parent"` // rows.Scan(&order.ID, &order.Parent)
	}
	order.ID.Scan(int64(4594531474933654033)) // as rows.Scan does
	data, _ := json.Marshal(order)
	fmt.Println(string(data))
	json.Unmarshal([]byte(`{"parent": "g000000000010"}`), &order)
	fmt.Println(order.Parent)
	// Output:
	// {"id":"jvgoe12ccb8gh","parent":null}
	// g000000000010
}

// Rows that have keys of their own show IDs, and IDs lead to the rows.
func ExampleCipher_EncryptSlice() {
	secret := must(randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5"))
	cipher := randflake.NewCipher(secret)
	rows := []randflake.Raw{1, 2, 3}
	ids := make([]randflake.ID, len(rows))
	cipher.EncryptSlice(ids, rows)
	fmt.Println(ids)

	cipher.DecryptSlice(rows, ids)
	fmt.Println(int64(rows[0]), int64(rows[1]), int64(rows[2]))
	// Output:
	// [iljc7jtu105l6 ocf2lg4tbd911 ga83127efu1o8]
	// 1 2 3
}

func ExampleCipher_Inspect() {
	secret := must(randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5"))
	fields := randflake.NewCipher(secret).Inspect(4594531474933654033)
	fmt.Println(fields.Time.Format(time.RFC3339), fields.Node, fields.Sequence)
	// Output: 2024-12-09T01:04:57Z 42 1
}

// An ID that nobody made opens as well. What can be known of those that were made is a window of
// time, and perhaps their nodes.
func ExampleFields_Within() {
	secret := must(randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5"))
	cipher := randflake.NewCipher(secret)
	launch := time.Date(2024, 12, 1, 0, 0, 0, 0, time.UTC)
	window := randflake.Lease{LastNode: randflake.MaxNode, Start: launch, End: time.Now()}
	fmt.Println(cipher.Inspect(4594531474933654033).Within(window))
	err := cipher.Inspect(4594531474933654034).Within(window)
	fmt.Println(errors.Is(err, randflake.ErrImplausible))
	// Output:
	// <nil>
	// true
}

func ExampleSecret_Derive() {
	master := must(randflake.ParseSecret("000102030405060708090a0b0c0d0e0f"))
	orders := master.Derive("orders", 1)
	users := master.Derive("users", 1)
	fmt.Println(orders == users)
	// Output: false
}

// A secret is changed by another one. Old IDs are opened with the old one: under the new one they
// have a random time.
func ExampleSecret_rotation() {
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	old, now := randflake.NewCipher(randflake.NewSecret()), randflake.NewCipher(randflake.NewSecret())
	open := func(id randflake.ID) randflake.Fields {
		f := now.Inspect(id)
		if f.Within(randflake.Lease{LastNode: randflake.MaxNode, Start: december, End: december.AddDate(0, 0, 1)}) != nil {
			f = old.Inspect(id)
		}
		return f
	}
	fmt.Println(open(must(old.Compose(randflake.Fields{Time: december.Add(-time.Second)}))).Time)
	fmt.Println(open(must(now.Compose(randflake.Fields{Time: december}))).Time)
	// Output:
	// 2026-11-30 23:59:59 +0000 UTC
	// 2026-12-01 00:00:00 +0000 UTC
}

func ExampleSecret() {
	secret := randflake.NewSecret()
	fmt.Printf("%v %x\n", secret, secret)
	// Output: [redacted] [redacted]
}

// A table keeps the raw value, which sorts by time; everyone else sees the ID. Package mask makes one
// type of the two.
func ExampleRaw() {
	generator := must(randflake.New(randflake.NewSecret(), exampleLease()))
	id := must(generator.Generate())
	raw := generator.Cipher().Decrypt(id)
	fmt.Println("node:", raw.Fields().Node)
	fmt.Println("the same:", raw.Fields() == generator.Cipher().Inspect(id))
	fmt.Println("printed:", raw)
	// Output:
	// node: 42
	// the same: true
	// printed: [inner]
}

// Old rows get IDs with the times at which they were made. Nobody had a lease of the secret then, so it is enough that
// the rows of one second have different sequence numbers.
func ExampleCipher_Compose() {
	cipher := randflake.NewCipher(randflake.NewSecret())
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	created := []time.Time{noon, noon.Add(300 * time.Millisecond), noon.Add(5 * time.Second)} // in order

	var fields randflake.Fields
	for _, at := range created {
		second := at.Truncate(time.Second)
		if second.Equal(fields.Time) {
			fields.Sequence++
		} else {
			fields = randflake.Fields{Time: second}
		}
		id := must(cipher.Compose(fields))
		fmt.Println(cipher.Inspect(id))
	}
	_, err := cipher.Compose(randflake.Fields{Time: time.Unix(randflake.Epoch-1, 0)})
	fmt.Println(errors.Is(err, randflake.ErrInvalidID))
	// Output:
	// {2025-03-01 12:00:00 +0000 UTC 0 0}
	// {2025-03-01 12:00:00 +0000 UTC 0 1}
	// {2025-03-01 12:00:05 +0000 UTC 0 0}
	// true
}
