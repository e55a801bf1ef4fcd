package mask

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
)

var _ interface {
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.BinaryMarshaler
	fmt.Stringer
	fmt.Formatter
	slog.LogValuer
	driver.Valuer
} = orderID{}

var _ interface {
	encoding.TextUnmarshaler
	encoding.BinaryUnmarshaler
	sql.Scanner
} = (*orderID)(nil)

func TestRoundTrips(t *testing.T) {
	edges := []uint64{0, 1, 2, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	random := make([]uint64, 1000)
	for i := range random {
		random[i] = rand.Uint64() >> rand.IntN(64)
	}
	for _, inner := range append(edges, random...) {
		testRoundTrips[orders](t, sortable(inner&math.MaxInt64))
		testRoundTrips[customers[randflake.Raw]](t, randflake.Raw(inner))
		testRoundTrips[customers[randflake.Raw]](t, randflake.Raw(^inner))
	}
}

func testRoundTrips[S Space[T], T Inner](t *testing.T, inner T) {
	t.Helper()
	id := Of[S](inner)
	if id.Inner() != inner || id != Of[S](inner) {
		t.Fatalf("Of(%d) holds %d", uint64(inner), uint64(id.Inner()))
	}
	parsed, err := Parse[S, T](id.String())
	if parsed != id || err != nil {
		t.Fatalf("Parse(%q) = %v, %v", id.String(), parsed, err)
	}
	for name, trip := range map[string]func(to *ID[S, T]) error{
		"text":   func(to *ID[S, T]) error { b, err := id.MarshalText(); return errors.Join(err, to.UnmarshalText(b)) },
		"append": func(to *ID[S, T]) error { b, err := id.AppendText(nil); return errors.Join(err, to.UnmarshalText(b)) },
		"binary": func(to *ID[S, T]) error {
			b, err := id.MarshalBinary()
			return errors.Join(err, to.UnmarshalBinary(b))
		},
		"JSON":          func(to *ID[S, T]) error { b, err := json.Marshal(id); return errors.Join(err, json.Unmarshal(b, to)) },
		"SQL":           func(to *ID[S, T]) error { v, err := id.Value(); return errors.Join(err, to.Scan(v)) },
		"SQL, unsigned": func(to *ID[S, T]) error { return to.Scan(uint64(inner)) },
		"SQL, as text":  func(to *ID[S, T]) error { return to.Scan(strconv.AppendUint(nil, uint64(inner), 10)) },
	} {
		var to ID[S, T]
		if err := trip(&to); err != nil || to != id {
			t.Fatalf("%s of %d: came back as %d, %v", name, uint64(inner), uint64(to.Inner()), err)
		}
	}
	if v, err := driver.DefaultParameterConverter.ConvertValue(id); v != int64(inner) || err != nil {
		t.Fatalf("the database gets %v, %v for %d", v, err, uint64(inner))
	}
}

// The masked form is the cipher's, as a randflake.Typed: other programs with the secret can open it.
func TestMaskedForm(t *testing.T) {
	for range 100 {
		inner := rand.Uint64() >> 1
		masked := orderCipher.Encrypt(randflake.Raw(inner))
		want := randflake.Typed[orders](masked)
		id := Of[orders](sortable(inner))
		if id.String() != want.String() {
			t.Fatalf("masked as %q, want %q", id, want)
		}
		if b, err := id.AppendText([]byte("/orders/")); string(b) != "/orders/"+want.String() || err != nil {
			t.Fatalf("AppendText made %q, %v", b, err)
		}
		got, _ := id.MarshalBinary()
		if len(got) != 8 || randflake.ID(binary.LittleEndian.Uint64(got)) != masked {
			t.Fatalf("masked as %x, want %x", got, uint64(masked))
		}
		if b, _ := json.Marshal(id); string(b) != `"`+want.String()+`"` {
			t.Fatalf("JSON %s, want %q", b, want)
		}
	}
}

func TestComparable(t *testing.T) {
	a, b := Of[orders](sortable(1)), Of[orders](sortable(2))
	counts := map[orderID]int{a: 1, b: 2}
	if counts[Of[orders](sortable(1))] != 1 || a == b {
		t.Error("as map keys, IDs are not their inner values")
	}
	text, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	var back map[orderID]int
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, counts) {
		t.Errorf("as JSON keys: %s came back as %v, %v", text, back, err)
	}
	for _, other := range []any{ID[customers[sortable], sortable]{}, rawID{}} {
		if reflect.TypeOf(a).ConvertibleTo(reflect.TypeOf(other)) {
			t.Errorf("%T can be converted to %T", a, other)
		}
	}
	zero, err := json.Marshal(struct {
		ID orderID `json:"id,omitzero"`
	}{})
	if (orderID{}) != Of[orders](sortable(0)) || string(zero) != `{}` || err != nil || reflect.TypeOf(a).Size() != 8 {
		t.Errorf("the zero ID holds %d, as JSON %s, %v", orderID{}.Inner(), zero, err)
	}
}

func TestFormat(t *testing.T) {
	id := Of[orders](sortable(12345))
	text := id.String()
	for format, want := range map[string]string{
		"%v": text, "%s": text, "%d": text, "%x": text, "%#v": text, "%+v": text, "%b": text, "%z": text,
		"%q": `"` + text + `"`, "%20v|": strings.Repeat(" ", 20-len(text)) + text + "|", "%-20d|": text + strings.Repeat(" ", 20-len(text)) + "|",
	} {
		if got := fmt.Sprintf(format, id); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	id := Of[orders](sortable(12345))
	kept := id
	for _, text := range []string{
		"", "ord_", "ord_ ", "ord_w", "ord_-1", "ord_0x1", "ord_é", "ord_00", "ord_vvvvvvvvvvvvv", "ord_00000000000000",
		strings.ToUpper(id.String()), "ord_0" + id.String()[4:], id.String() + " ", " " + id.String(), id.String() + "=",
		id.String()[4:], "cus_" + id.String()[4:], // of no kind, or of another one
		"ord_" + orderCipher.Encrypt(1<<63).String(), // opens to a negative value
	} {
		quoted, _ := json.Marshal(text)
		parsed, err := Parse[orders](text)
		if parsed != (orderID{}) {
			t.Errorf("Parse(%q) = %v beside an error", text, parsed)
		}
		for name, err := range map[string]error{
			"Parse":         err,
			"UnmarshalText": id.UnmarshalText([]byte(text)),
			"UnmarshalJSON": json.Unmarshal(quoted, &id),
		} {
			if !errors.Is(err, ErrInvalidID) {
				t.Errorf("%s of %q: %v, want ErrInvalidID", name, text, err)
			}
		}
	}
	for _, data := range []string{"12345", "1.5", "true", "{}", `["1"]`, "-1"} {
		if err := json.Unmarshal([]byte(data), &id); err == nil {
			t.Errorf("JSON %s is %v", data, id)
		}
	}
	if err := json.Unmarshal([]byte("null"), &id); err != nil {
		t.Errorf("from JSON null: %v", err)
	}
	for _, data := range [][]byte{nil, make([]byte, 7), make([]byte, 9)} {
		if err := id.UnmarshalBinary(data); !errors.Is(err, ErrInvalidID) {
			t.Errorf("from %d bytes: %v", len(data), err)
		}
	}
	for _, src := range []any{nil, id.String(), []byte("v"), 1.5, int64(-1), int64(math.MinInt64), "-1", uint64(math.MaxUint64)} {
		if err := id.Scan(src); !errors.Is(err, ErrInvalidID) {
			t.Errorf("Scan(%#v): %v", src, err)
		}
	}
	if id != kept {
		t.Errorf("a failed read changed the ID to %v", id)
	}
}

func TestNegative(t *testing.T) {
	id := Of[orders](sortable(-5))
	if err := unmaskable(id); !errors.Is(err, ErrInvalidID) {
		t.Errorf("masking a negative value: %v", err)
	}
	if v, err := id.Value(); v != nil || !errors.Is(err, ErrInvalidID) {
		t.Errorf("Value = %v, %v", v, err)
	}
	if text := fmt.Sprintf("%v %d", id, id); !strings.Contains(text, "negative") || strings.Contains(text, "5") {
		t.Errorf("prints as %s", text)
	}
	raw := Of[rawOrders](randflake.Raw(1<<63 + 5)) // of a second after 2041: negative as BIGINT, and fine
	var back rawID
	if v, _ := raw.Value(); back.Scan(v) != nil || back != raw {
		t.Errorf("%d came back from the database as %d", uint64(raw.Inner()), uint64(back.Inner()))
	}
}

// unmaskable returns the error that all ways to mask id have in common, or nil.
func unmaskable[S Space[T], T Inner](id ID[S, T]) error {
	_, marshalText := id.MarshalText()
	_, appendText := id.AppendText(nil)
	_, marshalBinary := id.MarshalBinary()
	for _, err := range []error{appendText, marshalBinary} {
		if err == nil || err.Error() != marshalText.Error() {
			return nil
		}
	}
	return marshalText
}

func TestNoCipher(t *testing.T) {
	testNoCipher[keyless](t)
	testNoCipher[empty](t)
	testNoCipher[Space[sortable]](t) // an interface has no zero value to ask
}

func testNoCipher[S Space[sortable]](t *testing.T) {
	t.Helper()
	id := Of[S](sortable(12345))
	if err := unmaskable(id); !errors.Is(err, ErrNoCipher) {
		t.Errorf("masking: %v", err)
	}
	for _, format := range []string{"%v", "%d", "%s", "%#v"} {
		if text := fmt.Sprintf(format, id); !strings.HasPrefix(text, "[mask: space has no cipher") {
			t.Errorf("%s: %s", format, text)
		}
	}
	if text := id.LogValue().String(); !strings.Contains(text, "no cipher") {
		t.Errorf("logged as %s", text)
	}
	_, err := Parse[S]("1")
	for name, err := range map[string]error{
		"Parse":           err,
		"UnmarshalBinary": id.UnmarshalBinary(make([]byte, 8)),
		"json.Unmarshal":  json.Unmarshal([]byte(`"1"`), &id),
	} {
		if !errors.Is(err, ErrNoCipher) || errors.Is(err, ErrInvalidID) {
			t.Errorf("%s: %v, want ErrNoCipher", name, err)
		}
	}
	if v, err := id.Value(); v != int64(12345) || err != nil { // the database needs no cipher
		t.Errorf("Value = %v, %v", v, err)
	}
	if err := id.Scan(int64(6)); err != nil || id.Inner() != 6 {
		t.Errorf("Scan: %d, %v", id.Inner(), err)
	}
}

func TestCheck(t *testing.T) {
	testCheck[sortable](t)
	testCheck[randflake.Raw](t)
}

func testCheck[T Inner](t *testing.T) {
	t.Helper()
	good := Of[small[T]](T(999))
	if id, err := Parse[small[T]](good.String()); id != good || err != nil {
		t.Errorf("Parse of a plausible one: %v, %v", id, err)
	}
	const inner uint64 = 1234567890123456789
	var id ID[small[T], T]
	forged := Of[small[T]](T(inner))
	err := id.UnmarshalText([]byte(forged.String()))
	if !errors.Is(err, ErrInvalidID) || !errors.Is(err, errNotSmall) || id != (ID[small[T], T]{}) {
		t.Errorf("of an implausible one: %v", err)
	}
	if loud := new(loudError); errors.As(err, &loud) {
		t.Error("the cause, which tells the inner value, can be had from the error")
	}
	for err := err; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err); leaks(text, inner) {
			t.Errorf("the error leaks the inner value: %s", text)
		}
	}
	if !strings.Contains(err.Error(), forged.String()) {
		t.Errorf("%q does not say which", err)
	}
	if err := id.Scan(int64(inner)); err != nil { // what the database has is not up for discussion
		t.Errorf("Scan: %v", err)
	}
}

// A Masker by itself does as the IDs of its space, and two of them, of two tenants, mask apart.
func TestMasker(t *testing.T) {
	tenants := []*Masker[sortable]{orders{}.Masker(), customers[sortable]{}.Masker()}
	var masked []randflake.ID
	for _, tenant := range tenants {
		m, err := tenant.Mask(7)
		if err != nil {
			t.Fatal(err)
		}
		if inner, err := tenant.Open(m); inner != 7 || err != nil {
			t.Errorf("came back as %d, %v", inner, err)
		}
		masked = append(masked, m)
	}
	if masked[0] == masked[1] || randflake.Typed[orders](masked[0]).String() != Of[orders](sortable(7)).String() {
		t.Errorf("masked as %v, as an ID %v", masked, Of[orders](sortable(7)))
	}
	if inner, err := tenants[1].Open(masked[0]); inner == 7 {
		t.Errorf("one tenant opened what the other has masked: %d, %v", inner, err)
	}
	if _, err := tenants[0].Mask(-1); !errors.Is(err, ErrInvalidID) {
		t.Errorf("masking a negative value: %v", err)
	}
	loud := small[sortable]{}.Masker()
	forged, err := loud.Mask(1000)
	if inner, open := loud.Open(forged); err != nil || inner != 0 || !errors.Is(open, ErrInvalidID) || !errors.Is(open, errNotSmall) {
		t.Errorf("opening what Check refuses: %d, %v, %v", inner, open, err)
	}
	for _, none := range []*Masker[sortable]{nil, {}} {
		_, mask := none.Mask(1)
		_, open := none.Open(1)
		if mask != ErrNoCipher || open != ErrNoCipher {
			t.Errorf("without a cipher: %v, %v", mask, open)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "0", "1", "00", "V", "fvvvvvvvvvvvv", "g000000000000", Of[customers[sortable]](sortable(1)).String(), Of[customers[sortable]](sortable(math.MaxInt64)).String(), "1849688064000", "01", "8000000000000", "F5VH6RP7LEKEM"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := Parse[customers[sortable]](text)
		if err != nil {
			if !errors.Is(err, ErrInvalidID) || id != (ID[customers[sortable], sortable]{}) {
				t.Fatalf("Parse(%q) = %v, %v", text, id, err)
			}
			return
		}
		if id.String() != text || id.Inner() < 0 {
			t.Fatalf("Parse(%q) = %v, which holds %d", text, id, id.Inner())
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, data := range []string{`"0"`, `"\u0030"`, `0`, `null`, ` "1" `, `"`, `["0"]`, `"\u0066"`, "\"\xff\"", "1849688064000000000"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id := Of[customers[sortable]](sortable(7))
		if err := json.Unmarshal(data, &id); err != nil {
			if id.Inner() != 7 {
				t.Fatalf("a failed read of %q changed the ID", data)
			}
			return
		}
		b, err := json.Marshal(id)
		var again ID[customers[sortable], sortable]
		if err != nil || json.Unmarshal(b, &again) != nil || again != id {
			t.Fatalf("%q: %v became %s, %v, and that %v", data, id, b, err, again)
		}
	})
}

// No sink shows an inner value, and every one of them shows it when the ID is a plain integer. What is shown is the masked form.
func TestNothingLeaks(t *testing.T) {
	const inner = 0x1b69b4be052fab1c
	id := Of[orders](sortable(inner))
	masked, _ := id.MarshalBinary()
	raw, unset := leaktest.Output(Of[rawOrders](randflake.Raw(inner))), leaktest.Output(Of[keyless](sortable(inner)))
	plain := leaktest.Output(sortable(inner))
	for name, got := range leaktest.Output(id) {
		for _, shown := range []string{got, raw[name], unset[name]} {
			if leaks(shown, inner) {
				t.Errorf("%s leaks the inner value: %s", name, shown)
			}
		}
		asked := !(name[0] == '%' && strings.ContainsAny(name, "Tpw"))
		if asked && !strings.Contains(got, id.String()) && !strings.Contains(got, string(masked)) {
			t.Errorf("%s does not show %v: %q", name, id, got)
		}
		if name[0] == '%' && strings.ContainsAny(name, "cqT") {
			continue // characters, of which none has such a number, and types
		}
		if !leaks(plain[name], inner) {
			t.Errorf("%s: the check does not find a plain integer in %q", name, plain[name])
		}
	}
}

// leaks reports whether output holds value as a number, or its bytes in either order. Package gob doubles signed integers.
func leaks(output string, value uint64) bool {
	for _, v := range []uint64{value, value << 1} {
		if leaktest.Find(output, binary.BigEndian.AppendUint64(nil, v)) != "" || leaktest.Find(output, binary.LittleEndian.AppendUint64(nil, v)) != "" {
			return true
		}
	}
	lower := strings.ToLower(output)
	return slices.ContainsFunc([]int{2, 8, 10, 16, 32, 36}, func(base int) bool { return strings.Contains(lower, strconv.FormatUint(value, base)) })
}

// sortable stands for an ID of 63 bits, with no methods to help.
type sortable int64

var (
	orderSecret    = randflake.NewSecret()
	orderCipher    = randflake.NewCipher(orderSecret)
	customerCipher = randflake.NewCipher(randflake.NewSecret())
)

type orders struct{}

func (orders) Masker() *Masker[sortable] { return &Masker[sortable]{Cipher: orderCipher} }

// rawOrders are orders by their raw values.
type rawOrders struct{}

func (rawOrders) Masker() *Masker[randflake.Raw] { return &Masker[randflake.Raw]{Cipher: orderCipher} }

type customers[T Inner] struct{}

func (customers[T]) Masker() *Masker[T] { return &Masker[T]{Cipher: customerCipher} }

// keyless is a space whose masker was never set, and empty one whose masker has no cipher.
type (
	keyless struct{}
	empty   struct{}
)

func (keyless) Masker() *Masker[sortable] { return nil }
func (empty) Masker() *Masker[sortable]   { return new(Masker[sortable]) }

func (orders) IDPrefix() string       { return "ord" }
func (rawOrders) IDPrefix() string    { return "" }
func (customers[T]) IDPrefix() string { return "" }
func (keyless) IDPrefix() string      { return "" }
func (empty) IDPrefix() string        { return "" }
func (small[T]) IDPrefix() string     { return "" }

// small is a space with inner values below 1000, which says so of others rather loudly.
type small[T Inner] struct{}

func (small[T]) Masker() *Masker[T] { return &Masker[T]{Cipher: orderCipher, Check: checkSmall[T]} }

var errNotSmall = errors.New("not small")

// A loudError is one that tells the inner value.
type loudError struct{ inner uint64 }

func (e *loudError) Error() string { return strconv.FormatUint(e.inner, 10) + " is not small" }
func (e *loudError) Unwrap() error { return errNotSmall }

func checkSmall[T Inner](inner T) error {
	if inner < 1000 {
		return nil
	}
	return &loudError{uint64(inner)}
}

type (
	orderID = ID[orders, sortable]
	rawID   = ID[rawOrders, randflake.Raw]
)
