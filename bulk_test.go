package randflake

import "testing"

// TestRunWhereWordsCarry encrypts runs of consecutive raw values that begin just before, at and after a
// carry out of their lowest 16, 32, 48 and 64 bits.
func TestRunWhereWordsCarry(t *testing.T) {
	secret := NewSecret()
	c, oracle := NewCipher(secret), newReferenceCipher(*secret.bytes())
	forEachBackend(t, func(t *testing.T) {
		for _, carry := range []uint64{1 << 16, 1 << 32, 1 << 48, 0} {
			for before := range uint64(130) {
				first := carry - before
				var got [131]uint64
				encryptRun(c.keys(), got[:], first)
				for i, id := range got {
					if want := oracle.encrypt(first + uint64(i)); id != want {
						t.Fatalf("value %d of the run from %#x on: %x, want %x", i, first, id, want)
					}
				}
			}
		}
	})
}
