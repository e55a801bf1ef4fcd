package randflake

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var soakPairs = flag.Int("soak", 100_000, "pairs of key and block that TestSoak compares for each backend")

// TestSoak compares every backend with the oracle on random keys and blocks. `make soak` runs it with
// many more of them.
func TestSoak(t *testing.T) {
	forEachBackend(t, func(t *testing.T) {
		var plain, sealed, run [200]uint64
		for done := 0; done < *soakPairs; {
			secret := NewSecret()
			c, oracle := NewCipher(secret), newReferenceCipher(*secret.bytes())
			n := 1 + rand.IntN(len(plain))
			first := rand.Uint64()
			if done%3 == 0 {
				first |= 0xff80 // a carry within the run
			}
			for i := range n {
				plain[i] = rand.Uint64()
			}
			encryptSlice(c, sealed[:n], plain[:n])
			encryptRun(c.keys(), run[:n], first)
			for i := range n {
				if want := oracle.encrypt(plain[i]); sealed[i] != want {
					t.Fatalf("secret %s: block %x of %d became %x, want %x", secret.Hex(), plain[i], n, sealed[i], want)
				}
			}
			if i := rand.IntN(n); run[i] != oracle.encrypt(first+uint64(i)) {
				t.Fatalf("secret %s: run of %d from %x: value %d is %x", secret.Hex(), n, first, i, run[i])
			}
			decryptSlice(c, sealed[:n], sealed[:n])
			for i := range n {
				if sealed[i] != plain[i] {
					t.Fatalf("secret %s: block %x of %d came back as %x", secret.Hex(), plain[i], n, sealed[i])
				}
			}
			done += n
		}
	})
}
