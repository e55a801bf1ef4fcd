package mask

import "github.com/randflake/randflake"

// A Space names the IDs of one kind of thing, and has what masks them. Its method is called on a zero value, from any
// goroutine: a struct without fields does. While it returns nil, masking and opening are errors that wrap ErrNoCipher.
type Space[T Inner] interface{ Masker() *Masker[T] }

// Inner is what an ID can hold: an integer that fits a BIGINT, such as snowflake.ID, or randflake.Raw. A signed one is
// never negative.
type Inner interface{ ~int64 | ~uint64 }

// An ID holds the inner ID of something in the space S, and shows the masked one. IDs are equal when their inner IDs
// are; the zero ID holds zero. They have no order: compare what Inner returns. IDs of two spaces can't be converted
// into each other.
type ID[S Space[T], T Inner] struct {
	_      [0]*S
	_      [0]*T
	veiled randflake.ID
}

// Of returns the ID with the given inner value. A negative one has no masked form, nor can it be written to a database:
// the errors wrap ErrInvalidID.
func Of[S Space[T], T Inner](inner T) ID[S, T] { return ID[S, T]{veiled: veil(randflake.Raw(inner))} }

// Inner gives the inner value away.
func (id ID[S, T]) Inner() T { return T(unveil(id.veiled)) }

// mask returns the masked form.
func (id ID[S, T]) mask() (randflake.ID, error) { return maskerOf[S]().Mask(id.Inner()) }

// open sets id to what masked stands for, or leaves it as it is.
func (id *ID[S, T]) open(masked randflake.ID) error {
	inner, err := maskerOf[S]().Open(masked)
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
