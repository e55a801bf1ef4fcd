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

func (orders) Masker() *Masker[sortable] { return &Masker[sortable]{Cipher: orderCipher} }

// rawOrders are orders by their raw values.
type rawOrders struct{}

func (rawOrders) Masker() *Masker[randflake.Raw] { return &Masker[randflake.Raw]{Cipher: orderCipher} }

type customers[T Inner] struct{}

func (customers[T]) Masker() *Masker[T] { return &Masker[T]{Cipher: customerCipher} }

// keyless is a space whose masker was never set, and empty one whose masker has no cipher.
type (
	keyless struct{}
	empty   struct{}
)

func (keyless) Masker() *Masker[sortable] { return nil }
func (empty) Masker() *Masker[sortable]   { return new(Masker[sortable]) }

func (orders) IDPrefix() string       { return "ord" }
func (rawOrders) IDPrefix() string    { return "" }
func (customers[T]) IDPrefix() string { return "" }
func (keyless) IDPrefix() string      { return "" }
func (empty) IDPrefix() string        { return "" }
func (small[T]) IDPrefix() string     { return "" }

// small is a space with inner values below 1000, which says so of others rather loudly.
type small[T Inner] struct{}

func (small[T]) Masker() *Masker[T] { return &Masker[T]{Cipher: orderCipher, Check: checkSmall[T]} }

var errNotSmall = errors.New("not small")

// A loudError is one that tells the inner value.
type loudError struct{ inner uint64 }

func (e *loudError) Error() string { return strconv.FormatUint(e.inner, 10) + " is not small" }
func (e *loudError) Unwrap() error { return errNotSmall }

func checkSmall[T Inner](inner T) error {
	if inner < 1000 {
		return nil
	}
	return &loudError{uint64(inner)}
}

type (
	orderID = ID[orders, sortable]
	rawID   = ID[rawOrders, randflake.Raw]
)
