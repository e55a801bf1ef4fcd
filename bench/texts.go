package main

import (
	google "github.com/google/uuid"
	oklog "github.com/oklog/ulid/v2"
	"github.com/speps/go-hashids/v2"
	"github.com/sqids/sqids-go"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/link"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/ulid"
)

// What is read and printed. The key is the same in each run.
var (
	someID    = randflake.ID(4594531474933654033)
	someUUID  = must(ulid.ParseUUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"))
	secret    = must(randflake.SecretFromBytes([]byte("sixteen byte key")))
	receipts  = link.New(secret, "receipt")
	orders    = mask.NewUUIDMasker[ulid.ID](secret, "order", nil)
	short     = must(sqids.New())
	salted    = must(hashids.New())
	someLink  = receipts.Text(someID)
	someOrder = must(orders.Mask(someUUID))
)

// texts are what reads, prints and hides IDs: each group ours first, and then what people use instead.
var texts = []peer{
	{name: "randflake Parse", call: "randflake.Parse", open: reading(randflake.Parse, someID.String())},
	{name: "ULID Parse", call: "randflake/ulid, Parse", open: reading(ulid.Parse, someUUID.String())},
	{name: "ULID Parse oklog", call: "github.com/oklog/ulid/v2, ParseStrict", open: reading(oklog.ParseStrict, someUUID.String())},
	{name: "UUID Parse", call: "randflake/ulid, ParseUUID", open: reading(ulid.ParseUUID, ulid.FormatUUID(someUUID))},
	{name: "UUID Parse google", call: "github.com/google/uuid, Parse", open: reading(google.Parse, ulid.FormatUUID(someUUID))},
	{name: "sqids Decode", call: "github.com/sqids/sqids-go, Decode",
		open: reading(func(text string) ([]uint64, error) { return short.Decode(text), nil }, must(short.Encode([]uint64{uint64(someID)})))},
	{name: "hashids Decode", call: "github.com/speps/go-hashids/v2, DecodeInt64WithError",
		open: reading(salted.DecodeInt64WithError, must(salted.EncodeInt64([]int64{int64(someID)})))},

	{name: "randflake String", call: "randflake.ID.String", open: printing(infallible(someID.String))},
	{name: "ULID String", call: "randflake/ulid, ID.String", open: printing(infallible(someUUID.String))},
	{name: "ULID String oklog", call: "github.com/oklog/ulid/v2, ULID.String", open: printing(infallible(oklog.ULID(someUUID).String))},
	{name: "UUID String", call: "randflake/ulid, FormatUUID", open: printing(func() (string, error) { return ulid.FormatUUID(someUUID), nil })},
	{name: "UUID String google", call: "github.com/google/uuid, UUID.String", open: printing(infallible(google.UUID(someUUID).String))},
	{name: "sqids Encode", call: "github.com/sqids/sqids-go, Encode", open: printing(func() (string, error) { return short.Encode([]uint64{uint64(someID)}) })},
	{name: "hashids Encode", call: "github.com/speps/go-hashids/v2, EncodeInt64",
		open: printing(func() (string, error) { return salted.EncodeInt64([]int64{int64(someID)}) })},

	{name: "link Text", call: "randflake/link, Signer.Text", open: printing(func() (string, error) { return receipts.Text(someID), nil })},
	{name: "link Verify", call: "randflake/link, Signer.Verify", open: reading(receipts.Verify, someLink)},
	{name: "mask UUID", call: "randflake/mask, UUIDMasker.Mask", open: each(ends(func() (ulid.ID, error) { return orders.Mask(someUUID) }))},
	{name: "unmask UUID", call: "randflake/mask, UUIDMasker.Open", open: each(ends(func() (ulid.ID, error) { return orders.Open(someOrder) }))},
}

// reading opens sources that parse a text.
func reading[T any](parse func(string) (T, error), text string) opener {
	return each(func() (high, low uint64, err error) {
		_, err = parse(text)
		return 0, 0, err
	})
}

// printing opens sources that print.
func printing(text func() (string, error)) opener {
	return each(func() (high, low uint64, err error) {
		printed, err := text()
		return 0, uint64(len(printed)), err
	})
}
