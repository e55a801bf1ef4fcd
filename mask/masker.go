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
// column. Over randflake.Raw, if the Cipher of a [Masker] is the generator's own, the masked form
// is the Randflake ID itself.
//
// If one kind of thing has many keys, for instance one for each tenant, a type can't tell which key
// to use. Then use each tenant's [Masker] directly; the masked form is a randflake.ID, or with a
// prefix randflake.Typed[orders](masked):
//
//	masked, err := tenant.Orders.Mask(key)
//	key, err := tenant.Orders.Open(masked)
//
// A [UUID] does the same for keys that are UUIDs of version 7: it shows UUIDs of version 4.
//
// # What masking is not
//
// Masking hides; it does not authenticate. A made-up text opens to some value: always over an
// unsigned type such as snowflake.ID and randflake.Raw, and half the time over a signed type, as
// inner IDs are never negative. A Check finds most of them. The others look like the ID of a row
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

import (
	"errors"
	"fmt"

	"github.com/randflake/randflake"
)

// A Masker masks and opens the inner IDs of one kind of thing, under one secret. It is safe for
// concurrent use. It must not change as long as masked IDs made with it are in use.
type Masker[T Inner] struct {
	// Cipher has a key of this kind alone, or is the generator's.
	Cipher *randflake.Cipher

	// Check, if not nil, returns an error if inner can't exist. It is called with opened values,
	// not with values from the database. For example, a Check that calls a layout's Inspect and
	// returns an error for a time in the future finds most forgeries.
	Check func(inner T) error
}

// NewMasker returns the masker of a kind of thing, whose name must never change. Its key is that of
// the secret Derive("mask "+kind, 1), which "randflake secret derive" makes for "randflake mask".
// check may be nil. It panics if secret is zero.
func NewMasker[T Inner](secret randflake.Secret, kind string, check func(inner T) error) *Masker[T] {
	return &Masker[T]{
		Cipher: randflake.NewCipher(secret.Derive("mask "+kind, 1)),
		Check:  check,
	}
}

// Mask returns the masked form of inner. The error is ErrNoCipher if there is no cipher, or for a
// negative value wraps randflake.ErrInvalidID.
func (m *Masker[T]) Mask(inner T) (randflake.ID, error) {
	if m == nil || m.Cipher == nil {
		return 0, ErrNoCipher
	}
	if inner < 0 {
		return 0, errNegative
	}
	return m.Cipher.Encrypt(randflake.Raw(inner)), nil
}

// Open returns the value that was masked. The error is ErrNoCipher if there is no cipher, or wraps
// randflake.ErrInvalidID if the value is negative or Check returns an error. That error's text contains
// neither the inner value nor the text of Check's error, but [errors.Is] finds Check's error.
func (m *Masker[T]) Open(masked randflake.ID) (T, error) {
	if m == nil || m.Cipher == nil {
		return 0, ErrNoCipher
	}
	inner := T(m.Cipher.Decrypt(masked))
	if inner < 0 {
		return 0, newImplausible(masked.String(), errNegative)
	}
	if m.Check != nil {
		if err := m.Check(inner); err != nil {
			return 0, newImplausible(masked.String(), err)
		}
	}
	return inner, nil
}

// The errors of this package; compare with [errors.Is].
var (
	// ErrNoCipher says that there is no Masker, or that it has no cipher.
	ErrNoCipher = errors.New("mask: kind has no cipher: set it before IDs are masked or opened")
)

var (
	errNegative = fmt.Errorf("%w: inner value is negative", randflake.ErrInvalidID)

	// errNumber doesn't show the number, which may be an inner value.
	errNumber = fmt.Errorf("%w: a decimal number: want a masked ID", randflake.ErrInvalidID)
)

// An implausible is the error for a masked ID that opens to a value that can't exist.
type implausible struct {
	masked string

	// Is finds the cause, which may contain the inner value: a function shows it to no printer.
	is func(target error) bool
}

func newImplausible(masked string, cause error) error {
	return &implausible{masked, func(target error) bool { return errors.Is(cause, target) }}
}

func (e *implausible) Error() string {
	return fmt.Sprintf("%v: %q opens to no plausible value: it was not masked under this secret",
		randflake.ErrInvalidID, e.masked)
}

func (e *implausible) Unwrap() error { return randflake.ErrInvalidID }

func (e *implausible) Is(target error) bool { return e.is(target) }
