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
	reads("randflake Parse", "randflake.Parse", randflake.Parse, someID.String()),
	reads("ULID Parse", "randflake/ulid, Parse", ulid.Parse, someUUID.String()),
	reads("ULID Parse oklog", "github.com/oklog/ulid/v2, ParseStrict", oklog.ParseStrict, someUUID.String()),
	reads("UUID Parse", "randflake/ulid, ParseUUID", ulid.ParseUUID, ulid.FormatUUID(someUUID)),
	reads("UUID Parse google", "github.com/google/uuid, Parse", google.Parse, ulid.FormatUUID(someUUID)),
	reads("sqids Decode", "github.com/sqids/sqids-go, Decode", decodeSqid, must(sqid())),
	reads("hashids Decode", "github.com/speps/go-hashids/v2, DecodeInt64WithError",
		salted.DecodeInt64WithError, must(hashid())),

	prints("randflake String", "randflake.ID.String", infallible(someID.String)),
	prints("ULID String", "randflake/ulid, ID.String", infallible(someUUID.String)),
	prints("ULID String oklog", "github.com/oklog/ulid/v2, ULID.String", infallible(oklog.ULID(someUUID).String)),
	prints("UUID String", "randflake/ulid, FormatUUID", uuidText),
	prints("UUID String google", "github.com/google/uuid, UUID.String", infallible(google.UUID(someUUID).String)),
	prints("sqids Encode", "github.com/sqids/sqids-go, Encode", sqid),
	prints("hashids Encode", "github.com/speps/go-hashids/v2, EncodeInt64", hashid),

	prints("link Text", "randflake/link, Signer.Text", linkText),
	reads("link Verify", "randflake/link, Signer.Verify", receipts.Verify, someLink),
	converts("mask UUID", "randflake/mask, UUIDMasker.Mask", orders.Mask, someUUID),
	converts("unmask UUID", "randflake/mask, UUIDMasker.Unmask", orders.Unmask, someOrder),
}

func sqid() (string, error)                    { return short.Encode([]uint64{uint64(someID)}) }
func decodeSqid(text string) ([]uint64, error) { return short.Decode(text), nil }
func hashid() (string, error)                  { return salted.EncodeInt64([]int64{int64(someID)}) }
func uuidText() (string, error)                { return ulid.FormatUUID(someUUID), nil }
func linkText() (string, error)                { return receipts.Text(someID), nil }

// reads is a peer that parses a text.
func reads[T any](name, call string, parse func(string) (T, error), text string) peer {
	return peer{name: name, call: call, open: each(func() (high, low uint64, err error) {
		_, err = parse(text)
		return 0, 0, err
	})}
}

// prints is a peer that prints a text.
func prints(name, call string, text func() (string, error)) peer {
	return peer{name: name, call: call, open: each(func() (high, low uint64, err error) {
		printed, err := text()
		return 0, uint64(len(printed)), err
	})}
}

// converts is a peer that makes one UUID of another.
func converts(name, call string, convert func(ulid.ID) (ulid.ID, error), id ulid.ID) peer {
	return peer{name: name, call: call, open: each(ends(func() (ulid.ID, error) { return convert(id) }))}
}
