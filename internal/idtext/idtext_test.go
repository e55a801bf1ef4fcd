package idtext

import (
	"errors"
	"testing"
)

func TestValues(t *testing.T) {
	values := Values("01ab")
	for c, value := range values {
		want := byte(None)
		switch c {
		case '0', '1':
			want = byte(c - '0')
		case 'a', 'b':
			want = byte(c - 'a' + 2)
		}
		if value != want {
			t.Errorf("%q is %d, want %d", rune(c), value, want)
		}
	}
}

func TestMust(t *testing.T) {
	if got := Must(7, nil); got != 7 {
		t.Errorf("got %d", got)
	}
	want := errors.New("no ID")
	defer func() {
		if got := recover(); got != want {
			t.Errorf("panics with %v, want %v", got, want)
		}
	}()
	Must(7, want)
	t.Error("takes an error")
}
