package mask

import (
	"errors"
	"fmt"

	"github.com/randflake/randflake"
)

// A Space names the IDs of one kind of thing, and has the cipher that masks them. Its methods are
// called on a zero value, from any goroutine: a struct without fields does. The cipher must be the
// same for as long as masked IDs are out there.
type Space interface {
	// Cipher returns the space's cipher. While it is nil, masking and opening are errors that
	// wrap ErrNoCipher.
	Cipher() *randflake.Cipher
}

// A Checker is a Space that knows which inner values there can be. Its Check is asked about values
// that were opened, never about those that come from the database: a layout's Inspect that finds
// no time in the future refuses most forgeries. To be sure that the method is found, state it:
//
//	var _ mask.Checker[snowflake.ID] = orders{}
type Checker[T Inner] interface {
	Space
	Check(inner T) error
}

// Inner is what an ID can hold: an integer that fits a BIGINT, such as snowflake.ID, or randflake.Raw.
// A signed one is never negative.
type Inner interface{ ~int64 | ~uint64 }

// An ID holds the inner ID of something in the space S, and shows the masked one. IDs are equal when
// their inner IDs are; the zero ID holds zero. They have no order: compare what Inner returns. IDs of two
// spaces can't be converted into each other.
type ID[S Space, T Inner] struct {
	_      [0]*S
	_      [0]*T
	veiled randflake.ID
}

// The errors of this package; compare with [errors.Is].
var (
	// ErrInvalidID says that something is not an ID of its space: a text that no ID has, or one that
	// opens to a value that can't be. It is randflake.ErrInvalidID.
	ErrInvalidID = randflake.ErrInvalidID

	// ErrNoCipher says that the Cipher method of a space returned nil.
	ErrNoCipher = errors.New("mask: space has no cipher")
)

// Of returns the ID with the given inner value. A negative one has no masked form, nor can it be
// written to a database: the errors wrap ErrInvalidID.
func Of[S Space, T Inner](inner T) ID[S, T] { return ID[S, T]{veiled: veil(randflake.Raw(inner))} }

// Inner gives the inner value away.
func (id ID[S, T]) Inner() T { return T(unveil(id.veiled)) }

// mask returns the masked form.
func (id ID[S, T]) mask() (randflake.ID, error) {
	inner := id.Inner()
	if inner < 0 {
		return 0, errNegative
	}
	cipher, err := cipherOf[S]()
	if err != nil {
		return 0, err
	}
	return cipher.Encrypt(randflake.Raw(inner)), nil
}

// open sets id to what masked stands for, or leaves it as it is.
func (id *ID[S, T]) open(masked randflake.ID) error {
	cipher, err := cipherOf[S]()
	if err != nil {
		return err
	}
	inner := T(cipher.Decrypt(masked))
	if inner < 0 {
		return &implausible{masked, errNegative}
	}
	var space S
	if checker, ok := any(space).(interface{ Check(T) error }); ok {
		if err := checker.Check(inner); err != nil {
			return &implausible{masked, err}
		}
	}
	*id = Of[S](inner)
	return nil
}

func cipherOf[S Space]() (*randflake.Cipher, error) {
	var space S
	if any(space) != nil { // S may be an interface
		if cipher := space.Cipher(); cipher != nil {
			return cipher, nil
		}
	}
	return nil, fmt.Errorf("%w: %T: set it before IDs are masked or opened", ErrNoCipher, space)
}

var errNegative = fmt.Errorf("%w: inner value is negative", ErrInvalidID)

// An implausible is the error for a masked ID that opens to what can't be. The cause may tell the
// inner value, so errors.Is finds it and nothing prints it.
type implausible struct {
	masked randflake.ID
	cause  error
}

func (e *implausible) Error() string {
	return fmt.Sprintf("%v: %q opens to no plausible value: it was not masked in this space", ErrInvalidID, e.masked)
}

func (e *implausible) Unwrap() error { return ErrInvalidID }

func (e *implausible) Is(target error) bool { return errors.Is(e.cause, target) }
