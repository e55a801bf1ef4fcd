package ulid

import (
	"database/sql/driver"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

// kind has texts by a library that knows nothing of them, and reads columns of bytes, texts and UUIDs.
func kind() idtest.Forms[ID] {
	const text = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	k := idtest.Forms[ID]{
		IDs: map[string]ID{}, Parse: Parse, Must: MustParse, Invalid: errInvalidID, Fold: true,
		Column: func(id ID) driver.Value { return id[:] },
		Sources: func(id ID) []any {
			return []any{id.String() + "      ", fmt.Appendf(nil, "%-36s", id), FormatUUID(id) + " ", id.String(),
				[]byte(id.String()), strings.ToLower(id.String()), FormatUUID(id), []byte(strings.ToUpper(FormatUUID(id)))}
		},
		BadTexts: []string{
			"", text[1:], text + "0", " " + text[1:],
			text[:25] + "U", text[:25] + "I", text[:25] + "L", text[:25] + "O", text[:25] + "o", text[:25] + "u",
			text[:25] + "é", text[:25] + "-", text[:25] + "\x00", "8" + text[1:], "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
			"017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		},
		BadJSON: []string{"1", "true", "{}", `"`},
		BadColumns: []any{nil, int64(1), make([]byte, 15), make([]byte, 17), string(make([]byte, 16)), true,
			text[:25] + "U", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g"},
	}
	ids := []ID{{}, {15: 1}, ID([]byte(strings.Repeat("\xff", 16)))}
	for range 20 {
		ids = append(ids, ID(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rand.Uint64()), rand.Uint64())))
	}
	for _, id := range ids {
		text := fmt.Sprintf("%026s", new(big.Int).SetBytes(id[:]).Text(32))
		k.IDs[strings.Map(func(r rune) rune { return rune(idtext.Crockford[strings.IndexRune(idtext.Base32hex, r)]) }, text)] = id
	}
	return k
}

var _ encoding.TextAppender = TextID{} // as an ID

func TestKind(t *testing.T) {
	k := kind()
	k.Test(t)
	asText := idtest.Forms[TextID]{IDs: map[string]TextID{}, Invalid: errInvalidID, BadTexts: k.BadTexts,
		BadJSON: k.BadJSON, BadColumns: k.BadColumns,
		Parse:   func(text string) (TextID, error) { id, err := Parse(text); return TextID(id), err },
		Column:  func(id TextID) driver.Value { return id.String() },
		Sources: func(id TextID) []any { return k.Sources(ID(id)) },
	}
	for text, id := range k.IDs {
		asText.IDs[text] = TextID(id)
		var lower ID
		bytes, _ := id.MarshalBinary()
		if composed, err := Compose(Inspect(id)); composed != id || err != nil ||
			lower.UnmarshalText([]byte(strings.ToLower(text))) != nil || lower != id || string(bytes) != string(id[:]) {
			t.Errorf("%s: composed as %v, %v; in lower case %v; in binary %x", text, composed, err, lower, bytes)
		}
	}
	asText.Test(t)
	id := ID{7: 7}
	if err := id.UnmarshalBinary(make([]byte, 15)); !errors.Is(err, errInvalidID) || id != (ID{7: 7}) {
		t.Errorf("15 bytes: %v, %v", id, err)
	}
	a, b := MustParse("00000000000000000000000009"), MustParse("0000000000000000000000000A")
	require.That(t, a.Compare(b) == -1 && b.Compare(a) == +1 && a.Compare(a) == 0,
		"%v is compared wrongly with %v", a, b)
}

func FuzzKind(f *testing.F) { kind().Fuzz(f) }

func TestInspect(t *testing.T) {
	id, err := Parse("01ARYZ6S410000000000000001")
	want := Fields{Time: time.Date(2016, 7, 30, 22, 36, 16, 385e6, time.UTC), Entropy: [10]byte{9: 1}}
	got := Inspect(id)
	require.That(t, err == nil && got == want, "Inspect(%v) = %v, %v, want %v", id, got, err, want)
	for _, at := range []time.Time{time.UnixMilli(-1), time.UnixMilli(1 << 48), {}} {
		require.Refuses(t, ErrTime, "Compose at %v", at)(Compose(Fields{Time: at}))
	}
}

const goodUUID = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"

// badUUIDs are none, and uuids are, with their texts as ULIDs.
var (
	badUUIDs = []string{
		"",
		"017f22e279b07cc398c4dc0c0c07398f",
		"{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
		"urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
		"017f22e2-79b0-7cc3-98c4-dc0c0c-7398f",
		"017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2_79b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2-79b007cc3-98c4-dc0c0c07398f",
		"017f22e2-79b0-7cc3_98c4-dc0c0c07398f",
		"017f22e2-79b0-7cc3-98c4.dc0c0c07398f",
		strings.Repeat("0", 36),
		strings.Repeat("0", 1000),
	}
	uuids = map[string]string{
		"00000000-0000-0000-0000-000000000000": "00000000000000000000000000",
		"FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF": "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
		"017F22E2-79B0-7CC3-98C4-DC0C0C07398F": "01FWHE4YDGFK1SHH6W1G60EECF", // RFC 9562's, appendix A.6
	}
)

func FuzzParseUUID(f *testing.F) {
	for _, text := range badUUIDs {
		f.Add(text)
	}
	for text := range uuids {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseUUID(text)
		switch {
		case err != nil:
			require.That(t, errors.Is(err, errInvalidID) && id == (ID{}) && len(err.Error()) <= 500,
				"%q is %v, %v", text, id, err)
		case FormatUUID(id) != strings.ToLower(text):
			t.Errorf("%q is %v, which is %s", text, id, FormatUUID(id))
		}
	})
}

// TestParseSays: an error says what is wrong, and counts bytes, as digits outside ASCII have several.
func TestParseSays(t *testing.T) {
	zeros := strings.Repeat("0", textSize-1)
	for text, want := range map[string]string{
		"é":         "want 26 digits, got 2 bytes",
		zeros + "U": "character 26 is not a digit",
		"8" + zeros: "more than 128 bits",
	} {
		_, err := Parse(text)
		require.Contains(t, fmt.Sprint(err), want, "the error of %q", text)
	}
}

func TestUUIDText(t *testing.T) {
	for text, want := range uuids {
		id, err := ParseUUID(text)
		require.That(t, err == nil && id.String() == want && FormatUUID(id) == strings.ToLower(text),
			"%s is %v, %v, want %s", text, id, err, want)
	}
	for _, text := range badUUIDs {
		id, err := ParseUUID(text)
		require.That(t, errors.Is(err, errInvalidID) && id == (ID{}) && len(err.Error()) <= 200,
			"%q is %v, %v, want errInvalidID", text, id, err)
	}
	for i := range goodUUID { // any other character, at each place
		text := []byte(goodUUID)
		for _, text[i] = range []byte{'g', 'G', '_', ' ', 0, '/', ':', '@', 0x80} {
			require.Refuses(t, errInvalidID, "%q", text)(ParseUUID(string(text)))
		}
	}
}
