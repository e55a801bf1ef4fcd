//go:build valgrind && linux && amd64

package mask

import (
	"testing"
	"unsafe"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/valgrind"
)

// hideKeys hides the round keys of a cipher, which its first word points to.
func hideKeys(c *randflake.Cipher) { valgrind.Hide((**(**[104]uint32)(unsafe.Pointer(c)))[:]) }

// TestSecretsTraced masks and opens under Memcheck with keys and inner values undefined. Only the sign of an opened
// value is public, as the error tells it.
func TestSecretsTraced(t *testing.T) {
	c := randflake.NewCipher(randflake.NewSecret())
	masker := &Masker[randflake.Raw]{Cipher: c}
	want := c.Encrypt(12345)
	hideKeys(c)
	hideKeys(veilKey)

	inner, masked := []randflake.Raw{12345}, make([]randflake.ID, 1)
	var err error
	valgrind.Hide(inner)
	valgrind.Trace(t, "Mask", masked, func() { masked[0], err = masker.Mask(inner[0]) })
	if err != nil || masked[0] != want {
		t.Errorf("masked as %v, want %v; %v", masked[0], want, err)
	}
	valgrind.Hide(masked)
	valgrind.Trace(t, "Open", inner, func() { inner[0], err = masker.Open(masked[0]) })
	if err != nil || inner[0] != 12345 {
		t.Errorf("opened to %d, %v", uint64(inner[0]), err)
	}
	valgrind.Hide(inner)
	valgrind.Trace(t, "veil", inner, func() { inner[0] = unveil(veil(inner[0])) })
	if inner[0] != 12345 {
		t.Errorf("unveiled %d", uint64(inner[0]))
	}

	signed := &Masker[int64]{Cipher: c}
	if valgrind.Reports(func() { signed.Open(want) }) == 0 {
		t.Error("the branch on the sign of an opened value is not reported")
	}
}
