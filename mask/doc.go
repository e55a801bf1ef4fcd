// Package mask keeps a sortable ID inside and shows an encrypted one outside.
//
// A table wants keys that grow, as Snowflake IDs and the raw values of Randflake do. A URL should not tell when a row
// was made, by which machine, and how many there are. An [ID] does both: the database reads and writes its inner value,
// a BIGINT, and everything else, JSON, text, XML, gob, templates, package fmt and slog, shows the masked one, up to 13
// base32hex digits.
//
//	type orders struct{}
//
//	var orderMasker = &mask.Masker[snowflake.ID]{Cipher: cipher}
//
//	func (orders) Masker() *mask.Masker[snowflake.ID] { return orderMasker }
//
//	type OrderID = mask.ID[orders, snowflake.ID]
//
//	id := mask.Of[orders](key)                           // key is a snowflake.ID
//	row := db.QueryRow("SELECT ... WHERE id = $1", id)     // asks for key
//	fmt.Fprintf(w, "/orders/%v", id)                       // writes something like /orders/3vgoe12ccb8gh
//	id, err := mask.Parse[orders]("3vgoe12ccb8gh")
//
// The type parameter names the space, so that a zero ID can read JSON or a column. Two kinds of things in one process
// are two spaces. Over randflake.Raw, with the generator's own cipher, the masked form is the Randflake ID itself.
//
// Where one kind has many keys, one for each tenant for instance, no type can tell which it is. There the [Masker] of
// the tenant masks and opens, and what is shown is a plain randflake.ID:
//
//	masked, err := tenant.Orders.Mask(key)
//	key, err := tenant.Orders.Open(masked)
//
// # What masking is not
//
// Masking hides; it does not authenticate. A made-up text opens to some value: always, over an unsigned type such as
// snowflake.ID and randflake.Raw, and half the time over a signed one, as no inner ID is negative. A Check refuses most
// of them. What remains is an ID like any other whose row does not exist: look it up, and decide whether the caller may
// see it.
//
// Take a secret of its own for each space; [randflake.Secret.Derive] makes them from one. With one secret for two, an
// order's masked ID is a customer's too, and equal inner values are equal outside.
//
// A masked ID has no version. Another secret is another space: texts that were handed out under the old one open to
// something else, mostly without an error. Give the new space URLs of its own, for instance.
//
// # Where inner values still show
//
// Two methods give the inner value away: Inner and, for the database, Value. So whatever logs the arguments of SQL
// statements logs inner values, and so may the database's own error messages: don't send those to clients. Columns that
// say when a row was made are not this package's business either.
//
// All else sees the masked form or nothing of use, code that looks into structs by reflection included, as package fmt
// does with unexported fields: an ID holds its inner value encrypted under a key that each process makes for itself.
package mask
