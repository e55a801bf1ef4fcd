package digits

import "testing"

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
