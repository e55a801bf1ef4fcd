// Package alike makes errors that mean what another package's error does, in words of their own.
package alike

// Error returns an error with a text of its own that wraps other, so that errors.Is finds it by either.
func Error(text string, other error) error { return &alike{text, other} }

type alike struct {
	text  string
	other error
}

func (e *alike) Error() string { return e.text }

func (e *alike) Unwrap() error { return e.other }
