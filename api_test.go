package randflake_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// TestPointer: a pointer to an ID is an ID or none in JSON and XML. The tests of examples/databases have it in columns.
func TestPointer(t *testing.T) {
	testPointer(t, randflake.ID(-5), `"fvvvvvvvvvvvr"`)
	testPointer(t, randflake.TextID(32), `"10"`)
	testPointer(t, ShipmentID(32), `"shp_10"`)
	testPointer(t, snowflake.ID(32), `"32"`)
	testPointer(t, ulid.ID{15: 1}, `"00000000000000000000000001"`)
	testPointer(t, randflake.ID(0), `"0"`) // is there, though it is zero
}

func testPointer[T comparable](t *testing.T, id T, text string) {
	t.Helper()
	type record struct {
		ID   *T
		Left *T `json:",omitempty"`
	}
	for want, r := range map[string]record{`{"ID":` + text + `,"Left":` + text + `}`: {&id, &id}, `{"ID":null}`: {}} {
		data, err := json.Marshal(r)
		if string(data) != want || err != nil {
			t.Errorf("JSON of %T: %s, %v, want %s", id, data, err, want)
		}
		back := record{ID: new(T)}
		if err := json.Unmarshal(data, &back); err != nil || (back.ID == nil) != (r.ID == nil) || r.ID != nil && *back.ID != id {
			t.Errorf("%T from JSON %s: %v, %v", id, data, back, err)
		}
		var element record
		data, err = xml.Marshal(r)
		if err == nil {
			err = xml.Unmarshal(data, &element)
		}
		if err != nil || (element.ID == nil) != (r.ID == nil) || r.ID != nil && *element.ID != id {
			t.Errorf("%T by XML %s: %v, %v", id, data, element, err)
		}
	}
}

// The same names for the same things. (Snowflake IDs are ordered integers, and have operators for them.)
func TestNamesOfAllKinds(t *testing.T) {
	testNames(t, randflake.MustParse, "8000000000000", "7vvvvvvvvvvvv", "0") // as signed numbers
	testNames(t, ulid.MustParse, "00000000000000000000000009", "0000000000000000000000000A", "00000000000000000000000000")
}

func testNames[T interface {
	comparable
	fmt.Stringer
}](t *testing.T, mustParse func(string) T, low, high, zero string) {
	t.Helper()
	var none T
	a, b := mustParse(low), mustParse(high)
	if a.String() != low || b.String() != high || mustParse(zero) != none {
		t.Errorf("MustParse: %v, %v, %v", a, b, mustParse(zero))
	}
	data, err := json.Marshal(struct {
		ID T `json:",omitzero"`
	}{none})
	if string(data) != "{}" || err != nil {
		t.Errorf("zero with omitzero: %s, %v", data, err)
	}
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), `"?`) && !strings.Contains(err.Error(), "got 1 char") {
			t.Errorf("MustParse panics with %v", err)
		}
	}()
	mustParse("?")
	t.Error("MustParse takes a question mark")
}

// What each verb of package fmt prints of each kind.
func TestVerbs(t *testing.T) {
	for _, test := range []struct {
		format string
		id     any
		want   string
	}{
		{"%v", randflake.ID(-1), "fvvvvvvvvvvvv"},
		{"%+v", randflake.ID(-1), "fvvvvvvvvvvvv"},
		{"%s", randflake.ID(-1), "fvvvvvvvvvvvv"},
		{"%15s|%-15s|", randflake.ID(-1), "  fvvvvvvvvvvvv|fvvvvvvvvvvvv  |"},
		{"%q", randflake.ID(-1), `"fvvvvvvvvvvvv"`},
		{"%d", randflake.ID(-1), "-1"},
		{"%05d", randflake.ID(7), "00007"},
		{"%#v", randflake.ID(-1), "-1"},
		{"%x", randflake.ID(32), "20"},
		{"%X", randflake.ID(-2), "FFFFFFFFFFFFFFFE"},
		{"%#x %016x", randflake.ID(32), "0x20 0000000000000020"},
		{"%x", randflake.TextID(32), "20"},
		{"%v %s", randflake.TextID(32), "10 10"},
		{"%v", []randflake.ID{32, 1}, "[10 1]"},
		{"%x", []randflake.ID{32, 1}, "[20 1]"},
		{"%v %s %+v %d", snowflake.ID(32), "32 32 32 32"},
		{"%q", snowflake.ID(32), `"32"`},
		{"%#v", snowflake.ID(32), "0x20"},
		{"%x", snowflake.ID(32), "20"},
		{"%v %s %+v", ulid.ID{}, strings.TrimSpace(strings.Repeat("00000000000000000000000000 ", 3))},
		{"%q", ulid.ID{}, `"00000000000000000000000000"`},
		{"%d", ulid.ID{15: 31}, "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 31]"},
		{"%x", ulid.ID{15: 31}, "0000000000000000000000000000001f"},
	} {
		args := make([]any, strings.Count(test.format, "%"))
		for i := range args {
			args[i] = test.id
		}
		if got := fmt.Sprintf(test.format, args...); got != test.want {
			t.Errorf("%s of a %T: %s, want %s", test.format, test.id, got, test.want)
		}
	}
}

// kinds are generators, as functions that return when a new ID was made. (ULIDs, in a module of their own, have the same test.)
type kinds map[string]func() (time.Time, error)

func newKinds(t *testing.T) kinds {
	secret := randflake.NewSecret()
	always := randflake.Lease{LastNode: randflake.MaxNode, Start: time.Unix(randflake.Epoch, 0), End: time.Unix(randflake.MaxTimestamp+1, 0)}
	flakes, err := randflake.New(secret, always)
	if err != nil {
		t.Fatal(err)
	}
	layout := snowflake.Twitter()
	snow, err := snowflake.New(layout, snowflake.Forever(1))
	if err != nil {
		t.Fatal(err)
	}
	return kinds{
		"randflake": func() (time.Time, error) { id, err := flakes.Generate(); return flakes.Cipher().Inspect(id).Time, err },
		"snowflake": func() (time.Time, error) {
			id, err := snow.Generate()
			if err != nil {
				return time.Time{}, err
			}
			f, err := layout.Inspect(id)
			return f.Time, err
		},
	}
}

// since checks that what is made has a time near begin. Clocks may be late on a loaded machine; those of bubbles are years off.
func (k kinds) since(t *testing.T, begin time.Time, where string) {
	t.Helper()
	for kind, generate := range k {
		if made, err := generate(); err != nil || made.Sub(begin).Abs() > time.Hour/2 {
			t.Errorf("%s, %s: made at %v, %v; want about %v", kind, where, made, err, begin)
		}
	}
}

// What was made in a bubble has the bubble's time, and everything else the system's, in a bubble and after it, be
// the process at rest before or not.
func TestTimesInAndAfterBubbles(t *testing.T) {
	for name, rest := range map[string]time.Duration{"at rest": 2 * time.Second, "in use": 0} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			all := newKinds(t)
			if rest == 0 {
				all.since(t, begin, "before the bubble")
			}
			time.Sleep(rest)
			synctest.Test(t, func(t *testing.T) {
				all.since(t, begin, "made outside of the bubble")
				time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
				newKinds(t).since(t, time.Now(), "in a bubble")
				time.Sleep(time.Hour)
			})
			for range 3 {
				all.since(t, begin, "after the bubble")
				newKinds(t).since(t, begin, "made after the bubble")
				time.Sleep(time.Second / 4)
			}
		})
	}
}
