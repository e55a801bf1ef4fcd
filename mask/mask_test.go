package mask

import (
	"database/sql/driver"
	"encoding"
	"encoding/binary"
	"encoding/json"
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
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/leaktest"
	"github.com/randflake/randflake/internal/test/require"
)

// formsOf has IDs of inner values. The masked form is the cipher's, as a randflake.Typed: other
// programs with the secret can open it.
func formsOf[K Kind[T], T Inner](inner ...uint64) idtest.Forms[ID[K, T]] {
	k := idtest.Forms[ID[K, T]]{
		IDs:     map[string]ID[K, T]{},
		Parse:   Parse[K, T],
		Invalid: randflake.ErrInvalidID,
		Column:  func(id ID[K, T]) driver.Value { return int64(id.Inner()) },
		Sources: func(id ID[K, T]) []any {
			value := uint64(id.Inner())
			return []any{value, strconv.AppendUint(nil, value, 10)}
		},
		JSON:   map[string]ID[K, T]{},
		Quoted: true,
		BadTexts: []string{
			"", "5", "10", "null", "=", "V", "ord_", "ord_ ", "ord_10", "ord_-1", "ord_0x1", "ord_é",
			"fvvvvvvvvvvvv", "ord_fvvvvvvvvvvvv", // no first digit
			"gvvvvvvvvvvv", "gvvvvvvvvvvvv ", "gvvvvvvvvvvvvv", "ord_000000000000", "ord_00000000000000", // not 13 digits
			"GVVVVVVVVVVVV", "ord_g00000000000w",
			"cus_g000000000010", // of another kind
		},
		BadJSON:    []string{"12345", "1.5", "true", "{}", `["1"]`, "-1", `"`, "\"\xff\""},
		BadColumns: []any{nil, "ord_v", []byte("v"), 1.5, "18446744073709551616"},
	}
	for _, inner := range inner {
		masked := maskerOf[K]().cipher.Encrypt(randflake.Raw(inner))
		text := randflake.Typed[K](masked).String()
		id := Of[K](T(inner))
		k.IDs[text] = id
		k.JSON[fmt.Sprintf(`"\u%04x%s"`, text[0], text[1:])] = id
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
			"ord_"+text[5:],
			strings.ToUpper(text),
			text+" ",
			" "+text,
			text+"=",
		)
	}
	k.BadTexts = append(k.BadTexts, "ord_"+orderCipher.Encrypt(1<<63).String()) // opens to a negative value
	k.Test(t)

	for text, id := range k.IDs {
		b, err := id.MarshalBinary()
		require.That(t, err == nil && len(b) == 8 && randflake.Typed[orders](binary.LittleEndian.Uint64(b)).String() == text,
			"%s is %x in binary, %v", text, b, err)
		got := fmt.Sprintf("%d %x %#v %b %z", id, id, id, id, any(id))
		want := strings.Join(slices.Repeat([]string{text}, 5), " ")
		require.That(t, got == want, "%s is printed as %s", text, got)
	}
	for _, n := range []int{0, 7, 9} {
		require.ErrorIs(t, new(orderID).UnmarshalBinary(make([]byte, n)), randflake.ErrInvalidID, "from %d bytes", n)
	}
}

// With a prefix and without one, of signed inner values and of raw ones.

func FuzzKind(f *testing.F) { formsOf[customers[sortable]](signedEdges...).Fuzz(f) }

func FuzzTyped(f *testing.F) { formsOf[orders](signedEdges...).Fuzz(f) }

func FuzzRaw(f *testing.F) { formsOf[customers[randflake.Raw]](rawEdges...).Fuzz(f) }

// Whatever the bits of a masked ID, it opens to the one value that is masked so, or to an error.
func FuzzUnmask(f *testing.F) {
	for _, inner := range append(signedEdges, rawEdges...) {
		f.Add(uint64(orderCipher.Encrypt(randflake.Raw(inner))))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		masked := randflake.ID(bits)
		raw, err := MaskerOf[randflake.Raw](orderCipher, nil).Unmask(masked)
		require.Must(t, err == nil && raw == orderCipher.Decrypt(masked), "%v opens to %d, %v", masked, raw, err)

		inner, err := orders{}.Masker().Unmask(masked)
		if raw >= 1<<63 {
			require.Must(t, inner == 0 && errors.Is(err, randflake.ErrInvalidID),
				"%v, which is of %d, opens to %d, %v", masked, raw, inner, err)
			return
		}
		require.Must(t, err == nil && randflake.Raw(inner) == raw,
			"%v opens to %d, %v, want %d", masked, inner, err, raw)
		require.Gives(t, masked, "%d is masked as", inner)(orders{}.Masker().Mask(inner))
	})
}

// To libraries that go by Go's kinds, an ID is an int64 and a UUID is 16 bytes, which hold the inner
// value.
func TestHeldByKind(t *testing.T) {
	for _, row := range []struct {
		id, held any
	}{
		{orderID(0), int64(0)},
		{Of[orders](sortable(5)), int64(5)},
		{Of[orders](sortable(-5)), int64(-5)},
		{Of[rawOrders](randflake.Raw(1 << 63)), int64(math.MinInt64)},
		{Of[rawOrders](randflake.Raw(math.MaxUint64)), int64(-1)},
		{OfUUID[sessions](uuid{1, 15: 9}), [16]byte{1, 15: 9}},
	} {
		id := reflect.ValueOf(row.id)
		held := reflect.TypeOf(row.held)
		require.That(t, id.Kind() == held.Kind() && id.Convert(held).Interface() == row.held,
			"a %T is a %v of %v, want %v", row.id, id.Kind(), id.Convert(held), row.held)
		back := reflect.ValueOf(row.held).Convert(id.Type())
		require.That(t, back.Interface() == row.id, "%v converts to %v, want %v", row.held, back, row.id)
	}
	for _, inner := range rawEdges {
		got := Of[rawOrders](randflake.Raw(inner)).Inner()
		require.That(t, uint64(got) == inner, "the inner value is %d, want %d", got, inner)
	}
}

// Each kind has a key of its own, which other programs can derive from the secret.
func TestNewMasker(t *testing.T) {
	secret := secretOf("8b1f9a2c5d3e47608192a3b4c5d6e7f8")
	cipher := randflake.NewCipher(secret.Derive("mask order", 1))
	order := NewMasker[sortable](secret, "order", nil)
	customer := NewMasker[sortable](secret, "customer", nil)
	for _, inner := range signedEdges {
		masked, err := order.Mask(sortable(inner))
		require.That(t, err == nil && masked == cipher.Encrypt(randflake.Raw(inner)),
			"%d is masked as %v, %v", inner, masked, err)
		if other, err := customer.Mask(sortable(inner)); other == masked || err != nil {
			t.Errorf("%d is masked as %v for two kinds, %v", inner, other, err)
		}
		if opened, err := customer.Unmask(masked); err == nil && opened == sortable(inner) {
			t.Errorf("%v opens to %d as another kind", masked, opened)
		}
	}

	checked := NewMasker(secret, "order", checkSmall[sortable])
	require.Refuses(t, errNotSmall, "what the check refuses")(checked.Unmask(cipher.Encrypt(1000)))
	idtest.Unmade(t, "randflake: invalid secret", map[string]func(){
		"a masker of the zero secret": func() { NewMasker[sortable](randflake.Secret{}, "order", nil) },
	})
}

// What package json hands over for a tag with ",string" is the bare text.
func TestBareJSON(t *testing.T) {
	const kept = orderID(7)
	for _, row := range []struct {
		data string
		want orderID
	}{
		{orderID(5).String(), 5},
		{"null", kept},
		{"5", kept},
		{"", kept},
		{randflake.Typed[customers[sortable]](1).String(), kept},
	} {
		id := kept
		err := id.UnmarshalJSON([]byte(row.data))
		refused := row.want == kept && row.data != "null"
		require.That(t, id == row.want && errors.Is(err, randflake.ErrInvalidID) == refused,
			"%s is read as %v, %v, want %v", row.data, id, err, row.want)
	}
}

// testCBOR reads an ID from strings with heads of both lengths, and refuses everything else.
func testCBOR[T comparable](t *testing.T, id T, read func(to *T, data []byte) error) {
	t.Helper()
	binary, binaryErr := any(id).(encoding.BinaryMarshaler).MarshalBinary()
	text, textErr := any(id).(encoding.TextMarshaler).MarshalText()
	require.NoError(t, errors.Join(binaryErr, textErr))
	const (
		byteString = 0x40
		textString = 0x60
		lengthNext = 24
	)
	long := func(kind byte, content []byte) []byte {
		return append([]byte{kind | lengthNext, byte(len(content))}, content...)
	}
	head := func(kind byte, content []byte) []byte { // the shortest one
		if len(content) >= lengthNext {
			return long(kind, content)
		}
		return append([]byte{kind | byte(len(content))}, content...)
	}
	var none T
	for _, row := range []struct {
		name string
		data []byte
		want T
		ok   bool
	}{
		{"bytes", head(byteString, binary), id, true},
		{"text", head(textString, text), id, true},
		{"bytes with a longer head", long(byteString, binary), id, true},
		{"text with a longer head", long(textString, text), id, true},
		{"null", []byte{0xf6}, none, true},
		{"nothing", nil, none, false},
		{"the integer 5", []byte{5}, none, false},
		{"an integer of 64 bits", append([]byte{0x1b}, make([]byte, 8)...), none, false},
		{"a negative integer", []byte{0x20}, none, false},
		{"an array of 16 numbers", append([]byte{0x90}, make([]byte, 16)...), none, false},
		{"an empty map", []byte{0xa0}, none, false},
		{"undefined", []byte{0xf7}, none, false},
		{"true", []byte{0xf5}, none, false},
		{"a float", append([]byte{0xfb}, make([]byte, 8)...), none, false},
		{"a tag", append([]byte{0xd8, 37}, head(byteString, binary)...), none, false},
		{"no bytes", []byte{byteString}, none, false},
		{"no text", []byte{textString}, none, false},
		{"a head without a length", []byte{byteString | lengthNext}, none, false},
		{"a length of 16 bits", append([]byte{byteString | 25, 0, byte(len(binary) - 2)}, binary[2:]...), none, false},
		{"chunks", append([]byte{byteString | 31}, append(head(byteString, binary[2:]), 0xff)...), none, false},
		{"a byte too few", head(byteString, binary)[:len(binary)], none, false},
		{"a byte too many", append(head(byteString, binary), 0), none, false},
		{"text as bytes of another length", head(byteString, []byte("text")), none, false},
		{"a text of nothing", head(textString, []byte("text")), none, false},
	} {
		var got T
		err := read(&got, row.data)
		require.That(t, got == row.want && (err == nil) == row.ok && errors.Is(err, randflake.ErrInvalidID) != row.ok,
			"%s is read as the %T %v, %v", row.name, got, got, err)
	}
}

func TestCBOR(t *testing.T) {
	testCBOR(t, orderID(5), (*orderID).UnmarshalCBOR)
	testCBOR(t, rawID(-5), (*rawID).UnmarshalCBOR)
	testCBOR(t, OfUUID[sessions](uuidOf(t, vectors(t)[0][0])), (*sessionID).UnmarshalCBOR)
}

// failures say what fails with an ID: its masking and the opening of a masked one. The error is all
// that is listed, and nothing fails where the list is empty.
type failures struct {
	masking, opening []error
	prints           string // why it can't be masked; or empty
}

func testFailures[K Kind[T], T Inner](t *testing.T, id ID[K, T], masked randflake.ID, want failures) {
	t.Helper()
	check := func(what string, err error, want []error) {
		t.Helper()
		if len(want) == 0 && err != nil {
			t.Errorf("%s of a %T: %v", what, id, err)
		}
		for _, w := range want {
			require.That(t, errors.Is(err, w), "%s of a %T: %v, want %v", what, id, err, w)
		}
		for _, other := range []error{randflake.ErrInvalidID, ErrNoCipher} {
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
	inner, err := maskerOf[K]().Unmask(masked)
	check("Unmask", err, want.opening)
	if parsed != 0 || read != 0 || inner != 0 {
		t.Errorf("a %T that can't be opened is %d, %d, %d", id, parsed.Inner(), read.Inner(), inner)
	}

	column, err := id.Value()
	check("Value", err, nil)
	var back ID[K, T]
	check("Scan", back.Scan(column), nil)
	require.That(t, back == id, "the column of a %T is %v, which is read as %v", id, column, back)
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
		masking: []error{randflake.ErrInvalidID},
		opening: []error{randflake.ErrInvalidID},
		prints:  "randflake: invalid ID: inner value is negative]",
	})

	refused := failures{opening: []error{randflake.ErrInvalidID, errNotSmall}} // by the check
	testFailures(t, Of[small[sortable]](999), orderCipher.Encrypt(1000), refused)
	testFailures(t, Of[small[randflake.Raw]](999), orderCipher.Encrypt(1000), refused)
}

// An error of a check tells the inner value. What wraps it is found by errors.Is, shows the masked
// form, and leads to no error that tells it.
func TestImplausible(t *testing.T) {
	const inner = 1234567890123456789
	plausible := Of[small[sortable]](999)
	implausible := Of[small[sortable]](inner)
	require.Gives(t, plausible, "%v is parsed as", plausible)(Parse[small[sortable]](plausible.String()))

	_, err := Parse[small[sortable]](implausible.String())
	loud := new(loudError)
	require.That(t, !errors.As(err, loud), "%q has the cause, which tells the inner value", err)
	require.That(t, strings.Contains(err.Error(), implausible.String()), "%q does not name %v", err, implausible)
	for err := err; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v %q", err, err, err, err)
		require.That(t, !leaks(text, inner), "the error leaks the inner value: %s", text)
	}
}

// An inner value that is read instead of a masked one is refused by an error that does not show it.
func TestRefusesInner(t *testing.T) {
	const inner = 1234567890123456789
	decimal := strconv.AppendInt(nil, inner, 10)
	quoted := []byte(strconv.Quote(string(decimal)))
	cbor := binary.BigEndian.AppendUint64([]byte{0x1b}, inner)
	var id orderID
	var bare ID[customers[sortable], sortable]
	for name, err := range map[string]error{
		"text":                         id.UnmarshalText(decimal),
		"text without a prefix":        bare.UnmarshalText(decimal),
		"text with a prefix":           id.UnmarshalText(append([]byte("ord_"), decimal...)),
		"text with a minus sign":       bare.UnmarshalText(append([]byte("-"), decimal...)),
		"a JSON number":                id.UnmarshalJSON(decimal),
		"a JSON number, no prefix":     bare.UnmarshalJSON(decimal),
		"a JSON string":                json.Unmarshal(quoted, &id),
		"a JSON string, no prefix":     json.Unmarshal(quoted, &bare),
		"a JSON number by the package": json.Unmarshal(decimal, &id),
		"CBOR":                         id.UnmarshalCBOR(cbor),
		"CBOR text":                    id.UnmarshalCBOR(append([]byte{0x60 | 19}, decimal...)),
		"a column":                     id.Scan(float64(inner)),
		"a column with more":           id.Scan(string(decimal) + "x"),
	} {
		if id != 0 || bare != 0 || !errors.Is(err, randflake.ErrInvalidID) || leaks(err.Error(), inner) {
			t.Errorf("%s is read as %d, %d, %v", name, id.Inner(), bare.Inner(), err)
		}
	}
}

// Nothing that asks for a text shows an inner value, and all of it shows one when the ID is a plain
// integer. What is shown is the masked form.
func TestNothingLeaks(t *testing.T) {
	const inner = 0x1b69b4be052fab1c
	id := Of[orders](sortable(inner))
	masked, _ := id.MarshalBinary()
	raw := leaktest.ByMethods(Of[rawOrders](randflake.Raw(inner)))
	unset := leaktest.ByMethods(Of[keyless](sortable(inner)))
	plain := leaktest.ByMethods(sortable(inner))

	for name, got := range leaktest.ByMethods(id) {
		for _, shown := range []string{got, raw[name], unset[name]} {
			require.That(t, !leaks(shown, inner), "%s leaks the inner value: %s", name, shown)
		}
		verb := name[0] == '%'
		if asked := !strings.HasSuffix(name, "T"); asked && !strings.Contains(got, id.String()) && !strings.Contains(got, string(masked)) {
			t.Errorf("%s does not show %v: %q", name, id, got)
		}
		if verb && strings.ContainsAny(name, "cqT") {
			continue // characters, of which none has such a number, and types
		}
		require.That(t, leaks(plain[name], inner),
			"%s: the check does not find a plain integer in %q", name, plain[name])
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

func (orders) Masker() *Masker[sortable]         { return MaskerOf[sortable](orderCipher, nil) }
func (rawOrders) Masker() *Masker[randflake.Raw] { return MaskerOf[randflake.Raw](orderCipher, nil) }
func (customers[T]) Masker() *Masker[T]          { return MaskerOf[T](customerCipher, nil) }
func (keyless) Masker() *Masker[sortable]        { return nil }
func (empty) Masker() *Masker[sortable]          { return new(Masker[sortable]) }
func (small[T]) Masker() *Masker[T]              { return MaskerOf(orderCipher, checkSmall[T]) }

func (orders) IDPrefix() string  { return "ord" }
func (unnamed) IDPrefix() string { return "" }

var errNotSmall = errors.New("not small")

// A loudError is one that tells the inner value, to %#v too.
type loudError struct{ inner uint64 }

func (e loudError) Error() string { return strconv.FormatUint(e.inner, 10) + " is not small" }
func (e loudError) Unwrap() error { return errNotSmall }

func checkSmall[T Inner](inner T) error {
	if inner < 1000 {
		return nil
	}
	return loudError{uint64(inner)}
}
