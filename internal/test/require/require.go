// Package require has what tests say most often: NoError, Done and Must end a test, and the others let it go on.
//
// Helper is called after a check has failed, as it takes much longer than most checks.
package require

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// That checks what must be so. A format says what is so instead.
func That(t testing.TB, so bool, format string, args ...any) {
	if !so {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// Must ends the test unless it is so. A format says what is so instead.
func Must(t testing.TB, so bool, format string, args ...any) {
	if !so {
		t.Helper()
		t.Fatalf(format, args...)
	}
}

// NoError ends the test on an error.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Err returns the error of a call, for a row of a table.
func Err(_ any, err error) error { return err }

// Done ends the test unless a call succeeds, whatever it returns: require.Done(t)(counter.Next()).
func Done(t testing.TB) func(any, error) {
	return func(_ any, err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
}

// Contains checks that a text has a part. A format says whose it is.
func Contains(t testing.TB, text, part, format string, args ...any) {
	t.Helper()
	That(t, strings.Contains(text, part), "%s: %q, want %q in it", fmt.Sprintf(format, args...), text, part)
}

// Omits checks that a text does not have a part. A format says whose it is.
func Omits(t testing.TB, text, part, format string, args ...any) {
	t.Helper()
	That(t, !strings.Contains(text, part), "%s: %q, want no %q in it", fmt.Sprintf(format, args...), text, part)
}

// Equal checks a value. A format says whose it is.
func Equal[T comparable](t testing.TB, got, want T, format string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Gives checks what a call returns: no error, and this value. A format says which call it is:
//
//	require.Gives(t, int64(7), "after a pause of %v", pause)(counter.Next())
func Gives[T comparable](t testing.TB, want T, format string, args ...any) func(T, error) {
	return func(got T, err error) {
		if got != want || err != nil {
			t.Helper()
			t.Errorf("%s: %v, error %v, want %v", fmt.Sprintf(format, args...), got, err, want)
		}
	}
}

// Refuses checks what a call returns: this error, and a value that is zero. A format says which call it is:
//
//	require.Refuses(t, counter.ErrClosed, "once it is closed")(counter.Next())
func Refuses(t testing.TB, want error, format string, args ...any) func(any, error) {
	return func(got any, err error) {
		value := reflect.ValueOf(got)
		isZero := !value.IsValid() || value.IsZero()
		if !isZero || !errors.Is(err, want) {
			t.Helper()
			t.Errorf("%s: %v, error %v, want %v", fmt.Sprintf(format, args...), got, err, want)
		}
	}
}

// ErrorIs checks the error of a call that returns nothing else. A format says which call it is.
func ErrorIs(t testing.TB, err, want error, format string, args ...any) {
	if !errors.Is(err, want) {
		t.Helper()
		t.Errorf("%s: error %v, want %v", fmt.Sprintf(format, args...), err, want)
	}
}

// Says checks what a call returns: an error with this text. A format says which call it is:
//
//	require.Says(t, "want 0 to 1023", "node %d", node)(snowflake.NewNode(node))
func Says(t testing.TB, text, format string, args ...any) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		ErrorSays(t, err, text, format, args...)
	}
}

// ErrorSays checks the text of an error, of a call that returns nothing else. A format says which call it is.
func ErrorSays(t testing.TB, err error, text, format string, args ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, want %q in it", fmt.Sprintf(format, args...), err, text)
	}
}
