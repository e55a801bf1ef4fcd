//go:build valgrind && linux && amd64

package ff1

import (
	"crypto/aes"
	"testing"

	"github.com/randflake/randflake/internal/testing/valgrind"
)

// TestSecretsTraced encrypts under Memcheck with the key of AES and the number undefined. It leaves out the check that
// the number is in the domain, which is public.
func TestSecretsTraced(t *testing.T) {
	for _, length := range []int{6, 12, 18, 19} {
		key := []byte("0123456789abcdef")
		cipher := func() *Cipher {
			block, err := aes.NewCipher(key)
			if err != nil {
				t.Fatal(err)
			}
			c, err := New(block, 10, length, []byte("tweak"))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		number, result := []uint64{123456}, make([]uint64, 1)
		want := cipher().Encrypt(number[0])
		valgrind.Hide(key)
		valgrind.Hide(number)
		var c *Cipher
		valgrind.Trace(t, "Encrypt", result, func() {
			c = cipher()
			a, b := c.encrypt(number[0]/c.right, number[0]%c.right)
			result[0] = a*c.right + b
		})
		if result[0] != want {
			t.Errorf("%d digits: %d, want %d", length, result[0], want)
		}
		number[0] = want
		valgrind.Hide(number)
		valgrind.Trace(t, "Decrypt", result, func() {
			a, b := c.decrypt(number[0]/c.right, number[0]%c.right)
			result[0] = a*c.right + b
		})
		if result[0] != 123456 {
			t.Errorf("%d digits: back to %d", length, result[0])
		}
		if valgrind.Reports(func() { c.Encrypt(number[0]) }) == 0 {
			t.Error("the branch on the domain is not reported")
		}
	}
}
