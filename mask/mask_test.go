package mask

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/idtest"
	"github.com/randflake/randflake/internal/testing/leaktest"
)

// kindOf has IDs of inner values. The masked form is the cipher's, as a randflake.Typed: other programs with the secret can open it.
func kindOf[S Space[T], T Inner](inner ...uint64) idtest.Kind[ID[S, T]] {
	k := idtest.Kind[ID[S, T]]{
		IDs: map[string]ID[S, T]{}, Parse: Parse[S, T], Invalid: ErrInvalidID,
		Column: func(id ID[S, T]) driver.Value { return int64(id.Inner()) },
		Sources: func(id ID[S, T]) []any {
			return []any{uint64(id.Inner()), strconv.AppendUint(nil, uint64(id.Inner()), 10)}
		},
		BadTexts: []string{
			"", "ord_", "ord_ ", "ord_w", "ord_-1", "ord_0x1", "ord_é", "ord_00", "ord_vvvvvvvvvvvvv", "ord_00000000000000",
			"g000000000000", "00", "V", "cus_10", "=", "fvvvvvvvvvvvv ", "F5VH6RP7LEKEM",
		},
		BadJSON:    []string{"12345", "1.5", "true", "{}", `["1"]`, "-1", `"`, "\"\xff\""},
		BadColumns: []any{nil, "ord_v", []byte("v"), 1.5, "18446744073709551616"},
	}
	for _, inner := range inner {
		k.IDs[randflake.Typed[S](maskerOf[S]().Cipher.Encrypt(randflake.Raw(inner))).String()] = Of[S](T(inner))
	}
	return k
}

var edges = []uint64{0, 1, 2, 1 << 32, 12345, math.MaxInt64 - 1, math.MaxInt64}

func TestKinds(t *testing.T) {
	positive, raw := slices.Clone(edges), []uint64{0, 7, 1 << 63, math.MaxUint64} // negative as BIGINT, and fine: of seconds after 2041
	for range 300 {
		positive, raw = append(positive, rand.Uint64()>>(1+rand.IntN(63))), append(raw, rand.Uint64())
	}
	kindOf[customers[randflake.Raw]](raw...).Test(t)
	signed := kindOf[orders](positive...)
	for text, id := range signed.IDs { // of no kind, of another one, and otherwise written
		signed.BadTexts = append(signed.BadTexts, text[4:], "cus_"+text[4:], "ord_0"+text[4:], strings.ToUpper(text), text+" ", " "+text, text+"=")
		if b, err := id.MarshalBinary(); err != nil || len(b) != 8 || randflake.Typed[orders](binary.LittleEndian.Uint64(b)).String() != text {
			t.Errorf("%s is %x in binary, %v", text, b, err)
		}
		if got := fmt.Sprintf("%d %x %#v %b %z", id, id, id, id, any(id)); got != strings.TrimSpace(strings.Repeat(text+" ", 5)) {
			t.Errorf("%s is printed as %s", text, got)
		}
	}
	signed.BadTexts = append(signed.BadTexts, "ord_"+orderCipher.Encrypt(1<<63).String()) // opens to a negative value
	signed.BadColumns = append(signed.BadColumns, int64(-1), int64(math.MinInt64), "-1", uint64(math.MaxUint64))
	signed.Test(t)
	for _, n := range []int{0, 7, 9} {
		if err := new(orderID).UnmarshalBinary(make([]byte, n)); !errors.Is(err, ErrInvalidID) {
			t.Errorf("from %d bytes: %v", n, err)
		}
	}
}

func FuzzKind(f *testing.F) { kindOf[customers[sortable]](edges...).Fuzz(f) }

func TestComparable(t *testing.T) {
	a, b := Of[orders](sortable(1)), Of[orders](sortable(2))
	if a.Inner() != 1 || a != Of[orders](sortable(1)) || a == b || (orderID{}) != Of[orders](sortable(0)) || reflect.TypeOf(a).Size() != 8 {
		t.Error("IDs are not equal where their inner values are")
	}
	for _, other := range []any{ID[customers[sortable], sortable]{}, rawID{}} {
		if reflect.TypeOf(a).ConvertibleTo(reflect.TypeOf(other)) {
			t.Errorf("%T can be converted to %T", a, other)
		}
	}
}

// failures are the errors of all that masks an ID and of all that opens a masked one.
func failures[S Space[T], T Inner](id ID[S, T], masked randflake.ID) (masking, opening []error) {
	_, text := id.MarshalText()
	_, appended := id.AppendText(nil)
	_, bytes := id.MarshalBinary()
	_, mask := maskerOf[S]().Mask(id.Inner())
	var opened ID[S, T]
	parsed, parse := Parse[S, T](randflake.Typed[S](masked).String())
	inner, open := maskerOf[S]().Open(masked)
	unmarshal := opened.UnmarshalBinary(binary.LittleEndian.AppendUint64(nil, uint64(masked)))
	if parsed != opened || opened != (ID[S, T]{}) || inner != 0 {
		open = nil // something came out
	}
	return []error{text, appended, bytes, mask}, []error{parse, open, unmarshal}
}

// testFailures: what an ID is printed as says why it can't be masked, and the database needs no cipher.
func testFailures[S Space[T], T Inner](t *testing.T, id ID[S, T], masked randflake.ID, mask, open, column error, prints string) {
	t.Helper()
	masking, opening := failures(id, masked)
	wanted := append(slices.Repeat([]error{mask}, len(masking)), slices.Repeat([]error{open}, len(opening))...)
	for i, err := range append(masking, opening...) {
		if want := wanted[i]; !errors.Is(err, want) || errors.Is(err, ErrInvalidID) != errors.Is(want, ErrInvalidID) {
			t.Errorf("%T, %d: %v, want %v", id, i, err, want)
		}
	}
	if text := fmt.Sprintf("%v %d %s %#v", id, id, id, any(id)); prints != "" && strings.Count(text, "["+prints) != 4 {
		t.Errorf("%T is printed as %s, want %s", id, text, prints)
	}
	v, err := id.Value()
	var back ID[S, T]
	if scan := back.Scan(v); !errors.Is(err, column) || (scan == nil) != (column == nil) || column == nil && back != id {
		t.Errorf("the column of a %T: %v, %v, and back as %v", id, v, err, scan)
	}
}

func TestFailures(t *testing.T) {
	const noCipher = "mask: space has no cipher"
	testFailures(t, Of[keyless](sortable(5)), 1, ErrNoCipher, ErrNoCipher, nil, noCipher)
	testFailures(t, Of[empty](sortable(5)), 1, ErrNoCipher, ErrNoCipher, nil, noCipher)
	testFailures(t, Of[Space[sortable]](sortable(5)), 1, ErrNoCipher, ErrNoCipher, nil, noCipher) // an interface has no zero value to ask
	testFailures(t, Of[orders](sortable(-5)), orderCipher.Encrypt(1<<63), ErrInvalidID, ErrInvalidID, ErrInvalidID, "randflake: invalid ID: inner value is negative]")
	testFailures(t, Of[small[sortable]](999), orderCipher.Encrypt(1000), nil, errNotSmall, nil, "")
	const inner = 1234567890123456789
	plausible, implausible := Of[small[sortable]](999), Of[small[sortable]](inner)
	_, err := Parse[small[sortable]](implausible.String())
	parsed, none := Parse[small[sortable]](plausible.String())
	if loud := new(loudError); errors.As(err, &loud) || !strings.Contains(err.Error(), implausible.String()) || parsed != plausible || none != nil {
		t.Errorf("%q has the cause, which tells the inner value, or not the masked one; %v, %v", err, parsed, none)
	}
	for err := err; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err); leaks(text, inner) {
			t.Errorf("the error leaks the inner value: %s", text)
		}
	}
}

// No sink shows an inner value, and every one of them shows it when the ID is a plain integer. What is shown is the masked form.
func TestNothingLeaks(t *testing.T) {
	const inner = 0x1b69b4be052fab1c
	id := Of[orders](sortable(inner))
	masked, _ := id.MarshalBinary()
	raw, unset, plain := leaktest.Output(Of[rawOrders](randflake.Raw(inner))), leaktest.Output(Of[keyless](sortable(inner))), leaktest.Output(sortable(inner))
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
	orderCipher    = randflake.NewCipher(randflake.NewSecret())
	customerCipher = randflake.NewCipher(randflake.NewSecret())
)

// The spaces: orders by sortable and by raw values, customers, one whose masker was never set, one whose masker has no cipher, and
// one with inner values below 1000, which says so of others rather loudly.
type (
	unnamed            struct{}
	orders             struct{}
	rawOrders          struct{ unnamed }
	customers[T Inner] struct{ unnamed }
	keyless            struct{ unnamed }
	empty              struct{ unnamed }
	small[T Inner]     struct{ unnamed }

	orderID = ID[orders, sortable]
	rawID   = ID[rawOrders, randflake.Raw]
)

func (orders) Masker() *Masker[sortable]         { return &Masker[sortable]{Cipher: orderCipher} }
func (rawOrders) Masker() *Masker[randflake.Raw] { return &Masker[randflake.Raw]{Cipher: orderCipher} }
func (customers[T]) Masker() *Masker[T]          { return &Masker[T]{Cipher: customerCipher} }
func (keyless) Masker() *Masker[sortable]        { return nil }
func (empty) Masker() *Masker[sortable]          { return new(Masker[sortable]) }
func (small[T]) Masker() *Masker[T]              { return &Masker[T]{Cipher: orderCipher, Check: checkSmall[T]} }

func (orders) IDPrefix() string  { return "ord" }
func (unnamed) IDPrefix() string { return "" }

var errNotSmall = fmt.Errorf("%w: not small", ErrInvalidID)

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
