package mask

import (
	"errors"
	"strconv"

	"github.com/randflake/randflake"
)

// sortable stands for an ID of 63 bits, with no methods to help.
type sortable int64

var (
	orderSecret    = randflake.NewSecret()
	orderCipher    = randflake.NewCipher(orderSecret)
	customerCipher = randflake.NewCipher(randflake.NewSecret())
)

type orders struct{}

func (orders) Cipher() *randflake.Cipher { return orderCipher }

type customers struct{}

func (customers) Cipher() *randflake.Cipher { return customerCipher }

// keyless is a space whose cipher was never set.
type keyless struct{}

func (keyless) Cipher() *randflake.Cipher { return nil }

// small is a space with inner values below 1000, which says so of others rather loudly.
type small[T Inner] struct{ orders }

var errNotSmall = errors.New("not small")

// A loudError is one that tells the inner value.
type loudError struct{ inner uint64 }

func (e *loudError) Error() string { return strconv.FormatUint(e.inner, 10) + " is not small" }
func (e *loudError) Unwrap() error { return errNotSmall }

func (small[T]) Check(inner T) error {
	if inner < 1000 {
		return nil
	}
	return &loudError{uint64(inner)}
}

var _ Checker[sortable] = small[sortable]{}

type (
	orderID = ID[orders, sortable]
	rawID   = ID[orders, randflake.Raw]
)
