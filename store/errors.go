package store

import (
	"errors"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
)

// The errors of stores. Those that carry more detail wrap one of these, so compare with errors.Is.
var (
	// ErrNoStore says that there is no store where one was expected: it was never created, or it was lost.
	ErrNoStore = errors.New("store: no store")

	// ErrCorrupt says that the data can't be trusted. Nothing is granted and nothing is overwritten.
	ErrCorrupt = errors.New("store: data is corrupt")

	// ErrUnsafe says that the engine's settings are such that it may forget what it acknowledges.
	ErrUnsafe = errors.New("store: settings are not safe")

	// ErrClock says that a clock can't be right, so that nothing can be decided by it.
	ErrClock = errors.New("store: clock is wrong")

	// ErrWrongSecret says that the space belongs to another secret.
	ErrWrongSecret = errors.New("store: space of another secret")

	// ErrInvalidOption says that an option can't be used; the error that wraps it says why. It wraps that of the root package.
	ErrInvalidOption = alike.Error("store: invalid option", randflake.ErrInvalidOption)
)
