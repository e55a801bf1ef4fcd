package decoders

import (
	"github.com/google/uuid"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
)

// secret is that of all kinds here.
var secret = randflake.NewSecret()

// order is a kind of things that masks its IDs.
type order struct{}

type orderID = mask.ID[order, snowflake.ID]

var orderMasker = mask.NewMasker[snowflake.ID](secret, "order", nil)

func (order) IDPrefix() string                   { return "ord" }
func (order) Masker() *mask.Masker[snowflake.ID] { return orderMasker }

// document is a kind of things that masks its UUIDs.
type document struct{}

type documentID = mask.UUID[document, uuid.UUID]

var documentMasker = mask.NewUUIDMasker[uuid.UUID](secret, "document", nil)

func (document) Masker() *mask.UUIDMasker[uuid.UUID] { return documentMasker }

// known are texts of IDs. The numbers are Python's int(text, 32) - 2**64, as signed.
var known = map[string]randflake.ID{
	"g000000000000": 0,
	"g000000000010": 32,
	"jvgoe12ccb8gh": 4594531474933654033,
	"o000000000000": -9223372036854775808,
	"r0bb8nt7619tu": -5751825978219255874,
	"vvvvvvvvvvvvv": -1,
}
