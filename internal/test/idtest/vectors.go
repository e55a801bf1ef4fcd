package idtest

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// A Vector is an ID of the format's test vectors.
type Vector struct {
	Secret         Hex
	Timestamp      int64
	Node, Sequence uint32
	Raw            uint64 `json:",string"`
	ID             int64  `json:",string"`
	Text           string
	GosudaText     string `json:"gosuda_text"`
}

// Hex is bytes in hexadecimal.
type Hex []byte

func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// ReadJSON reads a file into a value.
func ReadJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	require.NoError(t, err)
}

// Vectors reads the vectors from their file.
func Vectors(t testing.TB, path string) []Vector {
	t.Helper()
	var file struct{ Vectors []Vector }
	ReadJSON(t, path, &file)
	require.Must(t, len(file.Vectors) >= 100, "%s has only %d vectors", path, len(file.Vectors))
	return file.Vectors
}
