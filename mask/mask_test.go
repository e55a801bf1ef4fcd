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

// formsOf has IDs of inner values. The masked form is the cipher's, as a randflake.Typed: other
// programs with the secret can open it.
func formsOf[K Kind[T], T Inner](inner ...uint64) idtest.Forms[ID[K, T]] {
	k := idtest.Forms[ID[K, T]]{
		IDs:     map[string]ID[K, T]{},
		Parse:   Parse[K, T],
		Invalid: ErrInvalidID,
		Column:  func(id ID[K, T]) driver.Value { return int64(id.Inner()) },
		Sources: func(id ID[K, T]) []any {
			value := uint64(id.Inner())
			return []any{value, strconv.AppendUint(nil, value, 10)}
		},
		BadTexts: []string{
			"",
			"ord_",
			"ord_ ",
			"ord_w",
			"ord_-1",
			"ord_0x1",
			"ord_é",
			"ord_00",
			"ord_vvvvvvvvvvvvv",
			"ord_00000000000000",
			"g000000000000",
			"00",
			"V",
			"cus_10",
			"=",
			"fvvvvvvvvvvvv ",
			"F5VH6RP7LEKEM",
		},
		BadJSON:    []string{"12345", "1.5", "true", "{}", `["1"]`, "-1", `"`, "\"\xff\""},
		BadColumns: []any{nil, "ord_v", []byte("v"), 1.5, "18446744073709551616"},
	}
	for _, inner := range inner {
		masked := maskerOf[K]().Cipher.Encrypt(randflake.Raw(inner))
		k.IDs[randflake.Typed[K](masked).String()] = Of[K](T(inner))
	}
	return k
}

var (
	signedEdges = []uint64{0, 1, 2, 1 << 32, 12345, math.MaxInt64 - 1, math.MaxInt64}
	rawEdges    = []uint64{0, 7, 1 << 63, math.MaxUint64} // negative as BIGINT, and fine: of seconds after 2041
)

func TestForms(t *testing.T) {
	signed := slices.Clone(signedEdges)
	raw := slices.Clone(rawEdges)
	for range 300 {
		signed = append(signed, rand.Uint64()>>(1+rand.IntN(63)))
		raw = append(raw, rand.Uint64())
	}
	formsOf[customers[randflake.Raw]](raw...).Test(t)

	k := formsOf[orders](signed...)
	for text := range k.IDs {
		k.BadTexts = append(k.BadTexts,
			text[4:],        // of no kind
			"cus_"+text[4:], // of another one
			"ord_0"+text[4:],
			strings.ToUpper(text),
			text+" ",
			" "+text,
			text+"=",
		)
	}
	k.BadTexts = append(k.BadTexts, "ord_"+orderCipher.Encrypt(1<<63).String()) // opens to a negative value
	k.BadColumns = append(k.BadColumns, int64(-1), int64(math.MinInt64), "-1", uint64(math.MaxUint64))
	k.Test(t)

	for text, id := range k.IDs {
		b, err := id.MarshalBinary()
		if err != nil || len(b) != 8 || randflake.Typed[orders](binary.LittleEndian.Uint64(b)).String() != text {
			t.Errorf("%s is %x in binary, %v", text, b, err)
		}
		got := fmt.Sprintf("%d %x %#v %b %z", id, id, id, id, any(id))
		if want := strings.Join(slices.Repeat([]string{text}, 5), " "); got != want {
			t.Errorf("%s is printed as %s", text, got)
		}
	}
	for _, n := range []int{0, 7, 9} {
		if err := new(orderID).UnmarshalBinary(make([]byte, n)); !errors.Is(err, ErrInvalidID) {
			t.Errorf("from %d bytes: %v", n, err)
		}
	}
}

// With a prefix and without one, of signed inner values and of raw ones.

func FuzzKind(f *testing.F) { formsOf[customers[sortable]](signedEdges...).Fuzz(f) }

func FuzzTyped(f *testing.F) { formsOf[orders](signedEdges...).Fuzz(f) }

func FuzzRaw(f *testing.F) { formsOf[customers[randflake.Raw]](rawEdges...).Fuzz(f) }

// Whatever the bits of a masked ID, it opens to the one value that is masked so, or to an error.
func FuzzOpen(f *testing.F) {
	for _, inner := range append(signedEdges, rawEdges...) {
		f.Add(uint64(orderCipher.Encrypt(randflake.Raw(inner))))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		masked := randflake.ID(bits)
		raw, err := (&Masker[randflake.Raw]{Cipher: orderCipher}).Open(masked)
		if err != nil || raw != orderCipher.Decrypt(masked) {
			t.Fatalf("%v opens to %d, %v", masked, raw, err)
		}

		inner, err := orders{}.Masker().Open(masked)
		if raw >= 1<<63 {
			if inner != 0 || !errors.Is(err, ErrInvalidID) {
				t.Fatalf("%v, which is of %d, opens to %d, %v", masked, raw, inner, err)
			}
			return
		}
		if err != nil || randflake.Raw(inner) != raw {
			t.Fatalf("%v opens to %d, %v, want %d", masked, inner, err, raw)
		}
		if again, err := (orders{}).Masker().Mask(inner); again != masked || err != nil {
			t.Fatalf("%d is masked as %v, %v, want %v", inner, again, err, masked)
		}
	})
}

func TestComparable(t *testing.T) {
	a := Of[orders](sortable(1))
	b := Of[orders](sortable(2))
	switch {
	case a != Of[orders](sortable(1)), a == b, orderID{} != Of[orders](sortable(0)):
		t.Error("IDs are not equal where their inner values are")
	case a.IsZero(), !orderID{}.IsZero(), !Of[orders](sortable(0)).IsZero(), OfUUID[sessions](uuid{15: 1}).IsZero(), !UUID[sessions, uuid]{}.IsZero():
		t.Error("IsZero is of other IDs than zero")
	case a.Inner() != 1:
		t.Errorf("the inner value is %d, want 1", a.Inner())
	case reflect.TypeOf(a).Size() != 8:
		t.Errorf("an ID has %d bytes, want 8", reflect.TypeOf(a).Size())
	}
	for _, other := range []any{ID[customers[sortable], sortable]{}, rawID{}} {
		if reflect.TypeOf(a).ConvertibleTo(reflect.TypeOf(other)) {
			t.Errorf("%T can be converted to %T", a, other)
		}
	}
}

// failures say what fails with an ID: its masking, the opening of a masked one, and its column. The
// error is all that is listed, and nothing fails where the list is empty.
type failures struct {
	masking, opening, column []error
	prints                   string // why it can't be masked; or empty
}

func testFailures[K Kind[T], T Inner](t *testing.T, id ID[K, T], masked randflake.ID, want failures) {
	t.Helper()
	check := func(what string, err error, want []error) {
		t.Helper()
		if len(want) == 0 && err != nil {
			t.Errorf("%s of a %T: %v", what, id, err)
		}
		for _, w := range want {
			if !errors.Is(err, w) {
				t.Errorf("%s of a %T: %v, want %v", what, id, err, w)
			}
		}
		for _, other := range []error{ErrInvalidID, ErrNoCipher} {
			if errors.Is(err, other) && !slices.Contains(want, other) {
				t.Errorf("%s of a %T: %v, which is %v, too", what, id, err, other)
			}
		}
	}

	text, err := id.MarshalText()
	check("MarshalText", err, want.masking)
	appended, err := id.AppendText(nil)
	check("AppendText", err, want.masking)
	bytes, err := id.MarshalBinary()
	check("MarshalBinary", err, want.masking)
	shown, err := maskerOf[K]().Mask(id.Inner())
	check("Mask", err, want.masking)
	if failed := len(want.masking) > 0; failed && (len(text)+len(appended)+len(bytes) > 0 || shown != 0) {
		t.Errorf("a %T that can't be masked is %q, %q, %x, %v", id, text, appended, bytes, shown)
	}
	printed := fmt.Sprintf("%v %d %s %#v", id, id, id, any(id))
	if want.prints != "" && strings.Count(printed, "["+want.prints) != 4 {
		t.Errorf("a %T is printed as %s, want %s", id, printed, want.prints)
	}

	parsed, err := Parse[K, T](randflake.Typed[K](masked).String())
	check("Parse", err, want.opening)
	var read ID[K, T]
	check("UnmarshalBinary", read.UnmarshalBinary(binary.LittleEndian.AppendUint64(nil, uint64(masked))), want.opening)
	inner, err := maskerOf[K]().Open(masked)
	check("Open", err, want.opening)
	if none := (ID[K, T]{}); parsed != none || read != none || inner != 0 {
		t.Errorf("a %T that can't be opened is %d, %d, %d", id, parsed.Inner(), read.Inner(), inner)
	}

	column, err := id.Value()
	check("Value", err, want.column)
	var back ID[K, T]
	if err == nil {
		check("Scan", back.Scan(column), nil)
	}
	if len(want.column) == 0 && back != id {
		t.Errorf("the column of a %T is %v, which is read as %v", id, column, back)
	}
}

func TestFailures(t *testing.T) {
	unset := failures{
		masking: []error{ErrNoCipher},
		opening: []error{ErrNoCipher},
		prints:  "mask: kind has no cipher",
	}
	testFailures(t, Of[keyless](sortable(5)), 1, unset)
	testFailures(t, Of[empty](sortable(5)), 1, unset)
	testFailures(t, Of[Kind[sortable]](sortable(5)), 1, unset) // an interface has no zero value to ask

	testFailures(t, Of[orders](sortable(-5)), orderCipher.Encrypt(1<<63), failures{
		masking: []error{ErrInvalidID},
		opening: []error{ErrInvalidID},
		column:  []error{ErrInvalidID},
		prints:  "randflake: invalid ID: inner value is negative]",
	})

	refused := failures{opening: []error{ErrInvalidID, errNotSmall}} // by Check
	testFailures(t, Of[small[sortable]](999), orderCipher.Encrypt(1000), refused)
	testFailures(t, Of[small[randflake.Raw]](999), orderCipher.Encrypt(1000), refused)
}

// An error of Check tells the inner value. What wraps it is found by errors.Is, shows the masked
// form, and leads to no error that tells it.
func TestImplausible(t *testing.T) {
	const inner = 1234567890123456789
	plausible := Of[small[sortable]](999)
	implausible := Of[small[sortable]](inner)
	if parsed, err := Parse[small[sortable]](plausible.String()); parsed != plausible || err != nil {
		t.Errorf("%v is parsed as %v, %v", plausible, parsed, err)
	}

	_, err := Parse[small[sortable]](implausible.String())
	if loud := new(loudError); errors.As(err, &loud) {
		t.Errorf("%q has the cause, which tells the inner value", err)
	}
	if !strings.Contains(err.Error(), implausible.String()) {
		t.Errorf("%q does not name %v", err, implausible)
	}
	for err := err; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err); leaks(text, inner) {
			t.Errorf("the error leaks the inner value: %s", text)
		}
	}
}

// No sink shows an inner value, and every one of them shows it when the ID is a plain integer. What
// is shown is the masked form.
func TestNothingLeaks(t *testing.T) {
	const inner = 0x1b69b4be052fab1c
	id := Of[orders](sortable(inner))
	masked, _ := id.MarshalBinary()
	raw := leaktest.Output(Of[rawOrders](randflake.Raw(inner)))
	unset := leaktest.Output(Of[keyless](sortable(inner)))
	plain := leaktest.Output(sortable(inner))

	for name, got := range leaktest.Output(id) {
		for _, shown := range []string{got, raw[name], unset[name]} {
			if leaks(shown, inner) {
				t.Errorf("%s leaks the inner value: %s", name, shown)
			}
		}
		verb := name[0] == '%'
		asked := !(verb && strings.ContainsAny(name, "Tpw"))
		if asked && !strings.Contains(got, id.String()) && !strings.Contains(got, string(masked)) {
			t.Errorf("%s does not show %v: %q", name, id, got)
		}
		if verb && strings.ContainsAny(name, "cqT") {
			continue // characters, of which none has such a number, and types
		}
		if !leaks(plain[name], inner) {
			t.Errorf("%s: the check does not find a plain integer in %q", name, plain[name])
		}
	}
}

// leaks reports whether output holds value as a number, or its bytes in either order. Package gob
// doubles signed integers.
func leaks(output string, value uint64) bool {
	for _, v := range []uint64{value, value << 1} {
		big := binary.BigEndian.AppendUint64(nil, v)
		little := binary.LittleEndian.AppendUint64(nil, v)
		if leaktest.Find(output, big) != "" || leaktest.Find(output, little) != "" {
			return true
		}
	}
	lower := strings.ToLower(output)
	for _, base := range []int{2, 8, 10, 16, 32, 36} {
		if strings.Contains(lower, strconv.FormatUint(value, base)) {
			return true
		}
	}
	return false
}

// sortable stands for an ID of 63 bits, with no methods to help.
type sortable int64

// The secrets are fixed, so that each process that fuzzes has the same.
var (
	orderCipher    = fixedCipher("8b1f9a2c5d3e47608192a3b4c5d6e7f8")
	customerCipher = fixedCipher("1c2d3e4f5a6b47789900aabbccddeeff")
)

func fixedCipher(text string) *randflake.Cipher {
	secret, err := randflake.ParseSecret(text)
	if err != nil {
		panic(err)
	}
	return randflake.NewCipher(secret)
}

// The kinds: orders by sortable and by raw values, customers, one whose masker was never set, one
// whose masker has no cipher, and one with inner values below 1000, which says so of others rather
// loudly.
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
