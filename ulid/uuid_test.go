package ulid

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestUUIDText(t *testing.T) {
	for _, c := range []struct{ ulid, uuid string }{
		{"00000000000000000000000000", "00000000-0000-0000-0000-000000000000"},
		{"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		// The UUID version 7 of RFC 9562, appendix A.6.
		{"01FWHE4YDGFK1SHH6W1G60EECF", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"},
	} {
		id := MustParse(c.ulid)
		if got := FormatUUID(id); got != c.uuid {
			t.Errorf("%s as a UUID is %s, want %s", c.ulid, got, c.uuid)
		}
		for _, text := range []string{c.uuid, strings.ToUpper(c.uuid)} {
			if back, err := ParseUUID(text); err != nil || back != id {
				t.Errorf("%s is %v, %v, want %s", text, back, err, c.ulid)
			}
		}
	}
}

// The time of a UUID version 7 is that of the ULID: RFC 9562 says which, in appendix A.6.
func TestUUIDVersion7HasTheSameTime(t *testing.T) {
	id, err := ParseUUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	if err != nil || id.milliseconds() != 0x017f22e279b0 {
		t.Errorf("%x, %v", id.milliseconds(), err)
	}
}

func TestUUIDTextSortsAsIDs(t *testing.T) {
	ids := generateMany(t, mustNew(), 1000)
	slices.SortFunc(ids, ID.Compare)
	if !slices.IsSortedFunc(ids, func(a, b ID) int { return strings.Compare(FormatUUID(a), FormatUUID(b)) }) {
		t.Error("the texts of sorted IDs are not sorted")
	}
}

func TestParseUUIDIsStrict(t *testing.T) {
	for _, text := range []string{
		"",
		"017f22e279b07cc398c4dc0c0c07398f",
		"{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
		"urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
		"017f22e2-79b0-7cc3-98c4-dc0c0c-7398f",
		"017f22e27-9b0-7cc3-98c4-dc0c0c07398f",
		"017f22e2-79b07-cc3-98c4-dc0c0c07398f",
		"017f22e2-79b0-7cc39-8c4-dc0c0c07398f",
		"017f22e2-79b0-7cc3-98c4d-c0c0c07398f",
		"017f22e2_79b0_7cc3_98c4_dc0c0c07398f",
		strings.Repeat("0", 1000),
	} {
		id, err := ParseUUID(text)
		if !errors.Is(err, ErrInvalidUUID) || id != (ID{}) {
			t.Errorf("%q is %v, %v, want ErrInvalidUUID", text, id, err)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("the error is %d bytes long", len(err.Error()))
		}
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	f.Add("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	f.Add("FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398g")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c-7398f")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseUUID(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidUUID) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if got := FormatUUID(id); got != strings.ToLower(text) {
			t.Errorf("%q comes back as %q", text, got)
		}
	})
}
