package store

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
)

// The errors of stores. Those that carry more detail wrap one of these, so compare with errors.Is.
var (
	// ErrNoStore says that the store or the space does not exist: it was never created, or it was lost.
	ErrNoStore = errors.New("store: no store: make one with Create, or with randflake lease init")

	// ErrMoved says that the space was moved to another store; the error that wraps it names that store.
	ErrMoved = errors.New("store: space was moved")

	// ErrCorrupt says that the data is damaged. Nothing is granted and nothing is overwritten.
	ErrCorrupt = errors.New("store: data is corrupt")

	// ErrFormat says that the space was upgraded by a newer version of this package, so that this one can't use it.
	ErrFormat = errors.New("store: format is too new")

	// ErrUnsafe says that with its present settings the engine may forget acknowledged changes.
	ErrUnsafe = errors.New("store: settings are not safe")

	// ErrClock says that a clock is obviously wrong, so nothing is granted by it.
	ErrClock = errors.New("store: clock is wrong")

	// ErrUnknownOutcome says that data was lost, and that a change may have been made on what is left of it.
	ErrUnknownOutcome = errors.New("store: outcome of a change is unknown")

	// ErrWrongSecret says that the space is bound to another secret.
	ErrWrongSecret = errors.New("store: space of another secret")

	// ErrInvalidOption says that an option can't be used; the error that wraps it says why. It wraps that of the root package.
	ErrInvalidOption = alike.Error("store: invalid option", randflake.ErrInvalidOption)
)
