// Package mask keeps a sortable ID inside and shows an encrypted one outside.
//
// A table works best with keys that grow, as Snowflake IDs and the raw values of Randflake do. A
// URL should not reveal when a row was made, by which machine, or how many rows the table has. An
// [ID] serves both: the database reads and writes its inner value, a BIGINT, and what asks for a
// text (JSON, XML, templates, package fmt and slog) gets its masked form, the text of a
// [randflake.Typed]. So does package gob.
//
//	type orders struct{}
//
//	var orderMasker = mask.NewMasker[snowflake.ID](secret, "order", nil)
//
//	func (orders) Masker() *mask.Masker[snowflake.ID] { return orderMasker }
//	func (orders) IDPrefix() string                   { return "ord" }
//
//	type OrderID = mask.ID[orders, snowflake.ID]
//
//	id := mask.Of[orders](key)                           // key is a snowflake.ID
//	row := db.QueryRow("SELECT ... WHERE id = $1", id)     // asks for key
//	fmt.Fprintf(w, "/orders/%v", id)                       // writes something like /orders/ord_jvgoe12ccb8gh
//	id, err := mask.Parse[orders]("ord_jvgoe12ccb8gh")
//
// The type parameter is the kind of thing, so a zero ID knows its Masker and can read JSON or a
// column.
//
// If one kind of thing has many keys, for instance one for each tenant, a type can't tell which key
// to use. Then use each tenant's [Masker] directly; the masked form is a randflake.ID, or with a
// prefix randflake.Typed[orders](masked):
//
//	masked, err := tenant.Orders.Mask(key)
//	key, err := tenant.Orders.Unmask(masked)
//
// A [UUID] does the same for keys that are UUIDs of version 7: it shows UUIDs of version 4.
//
// # What masking is not
//
// Masking hides; it does not authenticate. A made-up text opens to some value: always over an
// unsigned type such as snowflake.ID and randflake.Raw, and half the time over a signed type, as
// inner IDs are never negative. A check finds most of them. The others look like the ID of a row
// that does not exist: look the row up, and decide whether the caller may see it.
//
// NewMasker gives each kind a key of its own: the text of one kind, with the prefix of another, is a
// made-up text. If kinds share a Cipher, equal inner values have equal digits, and a stranger who
// changes the prefix has the ID of another kind.
//
// A masked ID has no version. A new secret is a new start: texts that were handed out under the old
// secret open to other values, mostly without an error. So give the new texts URLs of their own,
// for instance.
//
// # Where inner values still show
//
// To libraries that go by Go's kinds an ID is an int64, and a UUID is 16 bytes. They work as with
// any other, and see the inner value. It shows in:
//
//   - what Inner and Value return: the logged arguments of SQL statements have it, and the
//     database's own error messages, which are not for clients
//   - BSON, package encoding/binary, and whatever else encodes by kind: hclog does so with lists, and
//     OpenTelemetry's otelslog with UUIDs (tried on 2026-11-28)
//   - fields that are not exported, where %v and package slog print a struct, as their methods can't
//     be called; the verbs %p and %w; and what printers make of an ID that call no methods
//   - the elements of a UUID, as in a template's range
//
// Nor does this package hide columns that say when a row was made.
//
// # What the compiler allows
//
//   - OrderID(5) and id == 5 compile, and take 5 for an inner value.
//   - An ID of one kind converts to another kind, and libraries that copy structs do so unasked. To
//     eq in a template it equals one of another kind with the same inner value.
//   - To validator's eqfield any two UUIDs are equal, as those of other packages are.
//   - omitempty omits the zero ID, although it has a masked form.
package mask
