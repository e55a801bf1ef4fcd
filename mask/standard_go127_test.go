//go:build go1.27

package mask

import (
	"testing"
	standard "uuid"

	"github.com/randflake/randflake/internal/test/require"
)

type orderOfUUID struct{}

var standardMasker = NewUUIDMasker[standard.UUID](secretOf("8b1f9a2c5d3e47608192a3b4c5d6e7f8"), "orders", nil)

func (orderOfUUID) Masker() *UUIDMasker[standard.UUID] { return standardMasker }

// The UUIDs of Go's own package are of version 7, and read back what is shown as one of version 4.
func TestStandardUUID(t *testing.T) {
	id := OfUUID[orderOfUUID](standard.NewV7())
	shown, err := standard.Parse(id.String())
	require.Must(t, err == nil && shown[6]>>4 == 4, "%v is %v, %v", id, shown, err)
	back, err := standardMasker.Unmask(shown)
	require.That(t, err == nil && back == id.Inner(), "%v opens to %v, %v, want %v", shown, back, err, id.Inner())
}
