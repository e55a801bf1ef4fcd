package mask

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/leaktest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/ulid"
)

// uuid stands for the types of 16 bytes of several libraries, with no methods to help.
type uuid [16]byte

// uuidOf reads a UUID.
func uuidOf(t testing.TB, text string) uuid {
	t.Helper()
	u, err := ulid.ParseUUID(text)
	require.NoError(t, err)
	return uuid(u)
}

// version7 returns a UUID of version 7 with a time.
func version7(random *rand.Rand, made time.Time) (u uuid) {
	binary.BigEndian.PutUint64(u[:8], uint64(made.UnixMilli())<<16|7<<12|random.Uint64N(1<<12))
	binary.BigEndian.PutUint64(u[8:], 1<<63|random.Uint64N(1<<62))
	return u
}

// The kinds: one with a masker, one without, and one for UUIDs of ten months.
type (
	sessions   struct{}
	uncovered  struct{}
	shortLived struct{}

	sessionID = UUID[sessions, uuid]
)

var (
	sessionMasker    = NewUUIDMasker[uuid](secretOf("8b1f9a2c5d3e47608192a3b4c5d6e7f8"), "sessions", nil)
	shortLivedMasker = NewUUIDMasker(secretOf("8b1f9a2c5d3e47608192a3b4c5d6e7f8"), "short-lived", checkTime)
)

func (sessions) Masker() *UUIDMasker[uuid]   { return sessionMasker }
func (uncovered) Masker() *UUIDMasker[uuid]  { return nil }
func (shortLived) Masker() *UUIDMasker[uuid] { return shortLivedMasker }

func secretOf(text string) randflake.Secret {
	secret, err := randflake.ParseSecret(text)
	if err != nil {
		panic(err)
	}
	return secret
}

var (
	firstMade = time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	lastMade  = firstMade.AddDate(0, 10, 0)
)

func checkTime(inner uuid) error {
	if made := time.UnixMilli(int64(binary.BigEndian.Uint64(inner[:8]) >> 16)); made.Before(firstMade) || made.After(lastMade) {
		return loudError{uint64(made.UnixMilli())}
	}
	return nil
}

// vectors are UUIDs of version 7 and their masked forms, by testdata/uuid.py.
func vectors(t testing.TB) (pairs [][2]string) {
	t.Helper()
	content, err := os.ReadFile("testdata/uuid.json")
	require.NoError(t, err)
	var file struct{ Vectors [][2]string }
	if err := json.Unmarshal(content, &file); err != nil || len(file.Vectors) != 1000 {
		t.Fatalf("%d vectors, %v, want 1000", len(file.Vectors), err)
	}
	return file.Vectors
}

func TestUUIDVectors(t *testing.T) {
	for _, v := range vectors(t) {
		inner := uuidOf(t, v[0])
		masked := uuidOf(t, v[1])
		require.Gives(t, masked, "%s is masked as", v[0])(sessionMasker.Mask(inner))
		require.Gives(t, inner, "%s opens to", v[1])(sessionMasker.Unmask(masked))
	}
}

// TestUUIDOfULID: a ULID that is a UUID of version 7 can be masked.
func TestUUIDOfULID(t *testing.T) {
	g, err := ulid.New(ulid.Version7())
	require.NoError(t, err)
	for range 1000 {
		id, err := g.Generate()
		require.NoError(t, err)
		masked, err := sessionMasker.Mask(uuid(id))
		require.NoError(t, err)
		require.Gives(t, uuid(id), "%x opens to", masked)(sessionMasker.Unmask(masked))
	}
}

func uuidForms(t testing.TB) idtest.Forms[sessionID] {
	k := idtest.Forms[sessionID]{
		IDs:     map[string]sessionID{},
		Parse:   ParseUUID[sessions, uuid],
		Invalid: randflake.ErrInvalidID,
		Fold:    true,
		Column:  func(id sessionID) driver.Value { return ulid.FormatUUID(ulid.ID(id.Inner())) },
		Sources: func(id sessionID) []any {
			inner := id.Inner()
			return []any{inner[:], []byte(ulid.FormatUUID(ulid.ID(inner))), ulid.FormatUUID(ulid.ID(inner)) + "  "}
		},
		BadTexts: []string{
			"",
			"00000000-0000-0000-0000-000000000000",
			"01890a5d-ac96-774b-bcce-b302099a8057", // an inner one
			"919108f7-52d1-4320-cbac-f847db4148a8", // of another variant
			"919108f7-52d1-4320-9bac-f847db4148a",  // too short
			"919108f752d143209bacf847db4148a8",     // without dashes
			"{919108f7-52d1-4320-9bac-f847db4148a8}",
			"919108f7-52d1-4320-9bac-f847db4148ag",
		},
		BadJSON: []string{"12345", "true", "{}", `"`},
		BadColumns: []any{
			nil,
			1,
			"",
			"01H455VB4PEX5VSKNK084SN02Q", // 01890a5d-... as a ULID
			make([]byte, 15),
		},
	}
	for _, v := range vectors(t)[:50] {
		k.IDs[v[1]] = OfUUID[sessions](uuidOf(t, v[0]))
	}
	return k
}

func TestUUIDForms(t *testing.T) {
	forms := uuidForms(t)
	forms.Test(t)
	for _, text := range forms.BadTexts {
		require.ErrorIs(t, new(sessionID).UnmarshalBinary([]byte(text)), randflake.ErrInvalidID, "%q from gob", text)
	}
	_, urn := ParseUUID[sessions]("urn:uuid:919108f7-52d1-4320-9bac-f847db4148a8")
	require.Contains(t, fmt.Sprint(new(sessionID).Scan(nil)), "scan into a pointer", "NULL")
	require.Contains(t, fmt.Sprint(urn), "36 characters", "a URN")
}

func FuzzUUID(f *testing.F) { uuidForms(f).Fuzz(f) }

// There and back, whatever the UUID. What is shown is of version 4, comes once, and has lost the
// order of the times.
func TestUUIDRoundTrips(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	seen := make(map[uuid]bool, n)
	var before uuid
	ascents := 0
	for i := range n {
		inner := version7(random, firstMade.Add(time.Duration(i)*time.Millisecond))
		masked, err := sessionMasker.Mask(inner)
		require.NoError(t, err)
		back, err := sessionMasker.Unmask(masked)
		require.Must(t, back == inner && err == nil, "%x is masked as %x, which opens to %x, %v", inner, masked, back, err)
		version := masked[6] >> 4
		variant := masked[8] >> 6
		require.Must(t, version == 4 && variant == 2 && !seen[masked],
			"%x is masked as %x, of version %d; there before: %t", inner, masked, version, seen[masked])
		seen[masked] = true
		if string(before[:]) < string(masked[:]) {
			ascents++
		}
		before = masked
	}
	share := float64(ascents) / float64(n)
	require.That(t, share >= 0.48 && share <= 0.52, "%.2f of the masked UUIDs are above the one before, want one half", share)
}

func TestUUIDFailures(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	inner := version7(random, firstMade)
	masked, _ := sessionMasker.Mask(inner)
	text := ulid.FormatUUID(ulid.ID(masked))

	id := OfUUID[uncovered](inner)
	_, err := id.MarshalText()
	require.That(t, err == ErrNoCipher && fmt.Sprint(id) == "["+ErrNoCipher.Error()+"]", "without a masker: %v, %v", id, err)
	require.Refuses(t, ErrNoCipher, "a text without a masker")(ParseUUID[uncovered](text))
	_, err = ParseUUID[uncovered]("text")
	require.ErrorIs(t, err, randflake.ErrInvalidID, "another text without a masker")
	require.ErrorSays(t, err, "want the 36 characters of a UUID, got 4 bytes", "another text without a masker")
	require.Refuses(t, ErrNoCipher, "the zero masker masks")(new(UUIDMasker[uuid]).Mask(inner))
	require.Refuses(t, ErrNoCipher, "the zero masker opens")(new(UUIDMasker[uuid]).Unmask(inner))
	require.Refuses(t, ErrNoCipher, "a text of an interface")(ParseUUID[UUIDKind[uuid]](text))
	if column, err := id.Value(); err != nil || id.Scan(column) != nil || id.Inner() != inner {
		t.Errorf("without a masker the column has %v, %v", column, err)
	}

	for name, id := range map[string]sessionID{"zero": {}, "version 4": OfUUID[sessions](masked)} {
		_, err := id.MarshalText()
		require.That(t, errors.Is(err, randflake.ErrInvalidID) && strings.HasPrefix(id.String(), "["),
			"%s: %v, %v", name, id, err)
		column, err := id.Value()
		var back sessionID
		require.That(t, err == nil && back.Scan(column) == nil && back == id,
			"%s: the column has %v, %v, which is read as %v", name, column, err, back)
	}
	one, none := OfUUID[sessions](uuid{1}), OfUUID[sessions](uuid{})
	require.That(t, one != none && none == (sessionID{}) && !one.IsZero() && none.IsZero(),
		"UUIDs are not equal, or zero, where their inner ones are")
}

// Equal UUIDs of two kinds under one secret look different, and the text of one kind opens to
// another UUID as the other.
func TestUUIDKinds(t *testing.T) {
	refused := 0
	for _, v := range vectors(t) {
		inner := uuidOf(t, v[0])
		masked := uuidOf(t, v[1])
		other, err := shortLivedMasker.Mask(inner)
		require.That(t, other != masked && err == nil, "%s is masked as %x for two kinds, %v", v[0], other, err)
		opened, _ := sessionMasker.Unmask(other)
		require.That(t, opened != inner, "%x opens to %s as another kind", other, v[0])
		if _, err := shortLivedMasker.Unmask(masked); errors.Is(err, randflake.ErrInvalidID) {
			refused++
		}
	}
	require.That(t, refused >= 998, "a check refuses %d of 1,000 UUIDs of another kind", refused)
}

func TestUUIDQuery(t *testing.T) {
	id := OfUUID[sessions](uuidOf(t, vectors(t)[0][0]))
	for _, row := range []struct {
		name string
		id   interface {
			EncodeValues(key string, query *url.Values) error
		}
		want []string
		err  error
	}{
		{"one", id, []string{"kept", id.String()}, nil},
		{"a pointer", &id, []string{"kept", id.String()}, nil},
		{"zero", sessionID{}, []string{"kept", ""}, nil},
		{"an inner one of version 4", sessionID{6: 4 << 4, 8: 2 << 6}, []string{"kept"}, randflake.ErrInvalidID},
		{"no masker", OfUUID[uncovered](id.Inner()), []string{"kept"}, ErrNoCipher},
	} {
		query := url.Values{"id": {"kept"}}
		err := row.id.EncodeValues("id", &query)
		require.That(t, slices.Equal(query["id"], row.want) && len(query) == 1 && errors.Is(err, row.err),
			"%s: %q, %v, want %q, %v", row.name, query, err, row.want, row.err)
	}
}

// What unmarshals is a library's function, which reads a scalar as a string.
func TestUUIDYAML(t *testing.T) {
	inner := vectors(t)[0][0]
	masked := vectors(t)[0][1]
	errSequence := errors.New("line 1: cannot unmarshal !!seq of " + inner)
	for _, row := range []struct {
		text string
		err  error
		want sessionID
	}{
		{masked, nil, OfUUID[sessions](uuidOf(t, inner))},
		{inner, nil, sessionID{}},
		{"5", nil, sessionID{}},
		{"", nil, sessionID{}},
		{"", errSequence, sessionID{}},
	} {
		var id sessionID
		err := id.UnmarshalYAML(func(to any) error {
			*to.(*string) = row.text
			return row.err
		})
		refused := row.want.IsZero()
		require.That(t, id == row.want && errors.Is(err, randflake.ErrInvalidID) == refused,
			"%q, %v is read as %v, %v", row.text, row.err, id, err)
		if row.err != nil {
			require.Omits(t, err.Error(), inner, "the error shows what was read")
		}
	}
}

// For xorm the column has what Value returns.
func TestUUIDConversion(t *testing.T) {
	for _, text := range []string{vectors(t)[0][0], vectors(t)[0][1], "00000000-0000-0000-0000-000000000000"} {
		id := OfUUID[sessions](uuidOf(t, text))
		data, err := id.ToDB()
		var back sessionID
		require.That(t, err == nil && string(data) == text && back.FromDB(data) == nil && back == id,
			"%s is stored as %s, %v, and read as %v", text, data, err, back)
	}
	_, ok := any(sessionID{}).(interface{ ToDB() ([]byte, error) })
	require.That(t, !ok, "an argument of raw SQL goes by ToDB")
	for _, data := range []string{"", "5", "01H455VB4PEX5VSKNK084SN02Q"} {
		var id sessionID
		err := id.FromDB([]byte(data))
		require.That(t, id.IsZero() && errors.Is(err, randflake.ErrInvalidID), "%q is read as %v, %v", data, id, err)
	}
}

// Of made-up UUIDs a check of ten months lets one of 10,000 pass. The error shows the masked form alone.
func TestUUIDCheck(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		id := OfUUID[shortLived](version7(random, firstMade.Add(time.Duration(random.Int64N(int64(lastMade.Sub(firstMade)))))))
		back, err := ParseUUID[shortLived](id.String())
		require.Must(t, back == id && err == nil, "%v opens to %v, %v", id, back, err)
	}
	passed := 0
	for range 200_000 {
		forged := version7(random, firstMade)
		forged[6] ^= 3 << 4
		random.Uint64()
		binary.BigEndian.PutUint32(forged[:4], random.Uint32())
		_, err := shortLivedMasker.Unmask(forged)
		if err == nil {
			passed++
			continue
		}
		shown := ulid.FormatUUID(ulid.ID(forged))
		require.Must(t, errors.Is(err, randflake.ErrInvalidID) && errors.Is(err, errNotSmall), "%s: %v", shown, err)
		loud := new(loudError)
		require.Must(t, !errors.As(err, loud) && strings.Contains(err.Error(), shown), "%s: %v", shown, err)
	}
	require.That(t, passed >= 5 && passed <= 40, "%d of 200,000 made-up UUIDs pass, want about 20", passed)
}

// Nothing that prints, encodes or refuses shows four bytes of the inner UUID.
func TestUUIDDoesNotLeak(t *testing.T) {
	inner := version7(rand.New(rand.NewPCG(9, 10)), firstMade)
	text := ulid.FormatUUID(ulid.ID(inner))
	var id sessionID
	outputs := leaktest.ByMethods(OfUUID[sessions](inner))
	outputs["a reader of texts"] = fmt.Sprint(id.UnmarshalText([]byte(text)), id.UnmarshalText([]byte("urn:uuid:"+text)))
	outputs["a reader of bytes"] = fmt.Sprint(id.UnmarshalBinary(inner[:]), id.UnmarshalCBOR(append([]byte{0x50}, inner[:]...)))
	outputs["a reader of a column"] = fmt.Sprint(id.Scan(text+text), id.Scan(inner))
	for name, shown := range outputs {
		found := leaktest.Find(shown, inner[:])
		require.That(t, found == "" && !strings.Contains(shown, text[:8]), "%s shows %s of %s: %s", name, found, text, shown)
	}
}
