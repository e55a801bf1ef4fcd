package mask

import "github.com/randflake/randflake"

// A Space is a kind of thing, as for [randflake.Typed], that also returns the Masker of its IDs. Its methods are called
// on a zero value, from any goroutine, so a struct without fields is enough. While Masker returns nil, masking and
// opening fail with errors that wrap ErrNoCipher.
type Space[T Inner] interface {
	randflake.Kind
	Masker() *Masker[T]
}

// Inner is what an ID can hold: an integer that fits a BIGINT, such as snowflake.ID, or randflake.Raw. A signed value
// must not be negative.
type Inner interface{ ~int64 | ~uint64 }

// An ID holds the inner ID of something in the space S, and shows the masked one. IDs are equal if their inner IDs are
// equal; the zero ID holds zero. IDs have no order; to order them, compare what Inner returns. IDs of two spaces can't
// be converted into each other.
type ID[S Space[T], T Inner] struct {
	_      [0]*S
	_      [0]*T
	hidden randflake.ID
}

// Of returns the ID with the given inner value. A negative value can't be masked or written to a database: both fail
// with an error that wraps ErrInvalidID.
func Of[S Space[T], T Inner](inner T) ID[S, T] { return ID[S, T]{hidden: hide(randflake.Raw(inner))} }

// Inner returns the inner value, which is not encrypted.
func (id ID[S, T]) Inner() T { return T(reveal(id.hidden)) }

// mask returns the masked form.
func (id ID[S, T]) mask() (randflake.Typed[S], error) {
	masked, err := maskerOf[S]().Mask(id.Inner())
	return randflake.Typed[S](masked), err
}

// open sets id to the ID whose masked form is given, or leaves id unchanged and returns an error.
func (id *ID[S, T]) open(masked randflake.Typed[S]) error {
	inner, err := maskerOf[S]().Open(randflake.ID(masked))
	if err == nil {
		*id = Of[S](inner)
	}
	return err
}

func maskerOf[S Space[T], T Inner]() *Masker[T] {
	var space S
	if any(space) == nil { // S is an interface
		return nil
	}
	return space.Masker()
}
