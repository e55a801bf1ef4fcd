// Package mask keeps a sortable ID inside and shows an encrypted one outside.
//
// A table works best with keys that grow, as Snowflake IDs and the raw values of Randflake do. A URL should not reveal
// when a row was made, by which machine, or how many rows there are. An [ID] serves both: the database reads and writes
// its inner value, a BIGINT, and everything else (JSON, text, XML, gob, templates, package fmt and slog) shows its
// masked form, the text of a [randflake.Typed].
//
//	type orders struct{}
//
//	var orderMasker = &mask.Masker[snowflake.ID]{Cipher: cipher}
//
//	func (orders) Masker() *mask.Masker[snowflake.ID] { return orderMasker }
//	func (orders) IDPrefix() string                   { return "ord" }
//
//	type OrderID = mask.ID[orders, snowflake.ID]
//
//	id := mask.Of[orders](key)                           // key is a snowflake.ID
//	row := db.QueryRow("SELECT ... WHERE id = $1", id)     // asks for key
//	fmt.Fprintf(w, "/orders/%v", id)                       // writes something like /orders/ord_3vgoe12ccb8gh
//	id, err := mask.Parse[orders]("ord_3vgoe12ccb8gh")
//
// The type parameter is the kind of thing, which is also the space, so a zero ID knows its Masker and can read JSON or a
// column. Over randflake.Raw, with the generator's own cipher, the masked form is the
// Randflake ID itself.
//
// If one kind of thing has many keys, for instance one for each tenant, a type can't tell which key to use. Then use
// each tenant's [Masker] directly; the masked form is a randflake.ID, or with a prefix randflake.Typed[orders](masked):
//
//	masked, err := tenant.Orders.Mask(key)
//	key, err := tenant.Orders.Open(masked)
//
// # What masking is not
//
// Masking hides; it does not authenticate. A made-up text opens to some value: always over an unsigned type such as
// snowflake.ID and randflake.Raw, and half the time over a signed type, as inner IDs are never negative. A Check finds
// most of them. The others look like the ID of a row that does not exist: look the row up, and decide whether the
// caller may see it.
//
// Use a separate secret for each space; [randflake.Secret.Derive] makes them from one secret. If two spaces share a
// secret, equal inner values have equal digits, and a stranger who changes the prefix has the ID of another kind.
//
// A masked ID has no version. A new secret makes a new space: texts that were handed out under the old secret open to
// other values, mostly without an error. So give the new space URLs of its own, for instance.
//
// # Where inner values still show
//
// Two methods return the inner value: Inner and, for the database, Value. So a log of the arguments of SQL statements
// contains inner values, and the database's own error messages may contain them: don't send those to clients. Nor does
// this package hide columns that say when a row was made.
//
// Everything else sees the masked form or useless bits. That includes code that looks into structs by reflection, as
// package fmt does with unexported fields: an ID holds its inner value encrypted under a key that each process makes
// for itself.
package mask
