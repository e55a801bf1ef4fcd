package link_test

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/leaktest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/link"
)

var (
	secret = randflake.NewSecret()
	signer = link.New(secret, "receipt")
)

// A page for those who have a link to a receipt, and for the receipts' owners, who log in.
func Example() {
	secret, _ := randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5") // a known one, for the output
	receipts := link.New(secret, "receipt")
	text := receipts.Text(randflake.MustParse("jvgoe12ccb8gh"))
	fmt.Println("/r/" + text)
	for _, text := range []string{text, "jvgoe12ccb8gh", "jvgoe12ccb8gh0000000000000"} {
		id, verified, err := receipts.Parse(text)
		switch {
		case err != nil:
			fmt.Println(errors.Is(err, link.ErrForged), err)
		case verified:
			fmt.Println("show", id)
		default:
			fmt.Println("show", id, "if it is theirs")
		}
	}
	_, err := receipts.Verify("jvgoe12ccb8gh") // where only links will do
	fmt.Println(err)
	// Output:
	// /r/jvgoe12ccb8gh6ir7vlf49ddmp
	// show jvgoe12ccb8gh
	// show jvgoe12ccb8gh if it is theirs
	// true randflake: invalid ID: a link with the wrong MAC: forged, or of another purpose or secret
	// randflake: invalid ID: want the 26 characters of a link, got 13 bytes
}

// digits are base32hex of a MAC.
func digits(mac uint64) string { return fmt.Sprintf("%013s", strconv.FormatUint(mac, 32)) }

// form is that of a link's text.
var form = regexp.MustCompile(`^[g-v][0-9a-v]{12}[0-9a-f][0-9a-v]{12}$`)

// read reads a text by Parse and by Verify. What is not the one text of an ID or of its link is
// refused, by errors that don't contain it. Only what has the form of a link is called forged.
func read(t *testing.T, s *link.Signer, text string) (id randflake.ID, verified bool, err error) {
	t.Helper()
	id, verified, err = s.Parse(text)
	strict, strictErr := s.Verify(text)

	forged := form.MatchString(text) && text != s.Text(strict)
	require.That(t, errors.Is(err, link.ErrForged) == forged && errors.Is(strictErr, link.ErrForged) == forged,
		"%q is forged: %t; Parse: %v; Verify: %v", text, forged, err, strictErr)

	switch {
	case err != nil:
		require.That(t, id == 0 && !verified && errors.Is(err, randflake.ErrInvalidID),
			"Parse(%q) = %v, %t, %v, want ErrInvalidID alone", text, id, verified, err)
	case verified:
		require.That(t, s.Text(id) == text && strict == id && strictErr == nil,
			"Parse(%q) = %v, whose link is %s; Verify: %v, %v", text, id, s.Text(id), strict, strictErr)
	case id.String() != text:
		t.Errorf("Parse(%q) = %v, which is another text", text, id)
	}
	if !verified && (strict != 0 || !errors.Is(strictErr, randflake.ErrInvalidID)) {
		t.Errorf("Verify(%q) = %v, %v, want ErrInvalidID alone", text, strict, strictErr)
	}

	if len(text) > 13 && strings.Contains(fmt.Sprint(err, strictErr), text[:13]) {
		t.Errorf("%q is in the error: %v, %v", text, err, strictErr)
	}
	return id, verified, err
}

// The format is as the package comment has it, by other code.
func TestFormat(t *testing.T) {
	master, _ := hex.DecodeString(secret.Hex())
	key, _ := hkdf.Key(sha256.New, master, nil, "randflake space key \x00\x00\x00\x01link\x00receipt", 16)
	for _, id := range []randflake.ID{0, 1, -1, 31, 32, math.MaxInt64, math.MinInt64, 4594531474933654033} {
		mac := hmac.New(sha256.New, key)
		mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
		text := id.String() + digits(binary.BigEndian.Uint64(mac.Sum(nil)))

		got := signer.Text(id)
		require.That(t, got == text && len(got) == 26, "the link of %v is %s, want %s", id, got, text)
		opened, verified, err := read(t, signer, text)
		require.That(t, opened == id && verified && err == nil, "%s is %v, %t, %v, want %v", text, opened, verified, err, id)
		opened, verified, err = read(t, signer, id.String())
		require.That(t, opened == id && !verified && err == nil, "%v alone is %v, %t, %v", id, opened, verified, err)
	}
}

// Every change of one character or of one or two bits of the MAC is refused, and so is every link
// of another purpose, secret or ID.
func TestParse(t *testing.T) {
	good := signer.Text(4594531474933654033)
	for i := range good {
		for c := range 256 {
			read(t, signer, good[:i]+string([]byte{byte(c)})+good[i+1:])
		}
		read(t, signer, good[:i])
		read(t, signer, good[:i]+good[i+1:])
	}
	read(t, signer, good+"0")

	mac, _ := strconv.ParseUint(good[13:], 32, 64)
	for i := range 64 * 64 {
		forged := digits(mac ^ (1<<(i/64) | 1<<(i%64)))
		_, _, err := read(t, signer, good[:13]+forged)
		require.That(t, errors.Is(err, link.ErrForged), "forged: %v", err)
	}

	for name, other := range map[string]*link.Signer{
		"purpose":    link.New(secret, "invitation"),
		"no purpose": link.New(secret, ""),
		"secret":     link.New(randflake.NewSecret(), "receipt"),
	} {
		_, _, err := read(t, other, good)
		require.That(t, errors.Is(err, link.ErrForged), "another %s: %v", name, err)
	}
}

// A text that is neither an ID nor a link is an error and no ID. Only the right form with the wrong
// MAC is a forgery: who counts forgeries would lock out a client for a typo.
func TestParseRefuses(t *testing.T) {
	const id, mac = "jvgoe12ccb8gh", "6ir7vlf49ddmp"
	for text, forged := range map[string]bool{
		"":                            false,
		"!":                           false,
		"00":                          false,
		"=":                           false,
		"3vgoe12ccb8g!":               false,
		"3vgoe12ccb8gh":               false, // of gosuda
		id + "0":                      false,
		id + mac[1:]:                  false,
		id + mac:                      true,
		id + mac + "0":                false,
		id + id:                       false, // 65 bits of MAC
		mac + mac:                     false,
		id + "wwwwwwwwwwwww":          false,
		"wwwwwwwwwwwww" + mac:         false,
		strings.Repeat("z", 26):       false,
		strings.Repeat("0", 26):       false,
		"g" + strings.Repeat("0", 25): true,
		strings.Repeat("v", 26):       false,
		strings.ToUpper(id) + mac:     false,
	} {
		if id, verified, err := read(t, signer, text); err == nil || errors.Is(err, link.ErrForged) != forged {
			t.Errorf("Parse(%q) = %v, %t, %v; want an error, forged: %t", text, id, verified, err, forged)
		}
	}
}

// Nothing that prints or encodes a Signer shows a key.
func TestNothingShowsAKey(t *testing.T) {
	for name, got := range leaktest.Output(signer) {
		for _, key := range []randflake.Secret{secret, secret.Derive("link\x00receipt", 1)} {
			b, _ := hex.DecodeString(key.Hex())
			require.Equal(t, leaktest.Find(got, b), "", "%s shows a key: %s", name, got)
		}
	}
}

func TestZero(t *testing.T) {
	text := signer.Text(1)
	idtest.Unmade(t, "secret", map[string]func(){
		"zero Secret": func() { link.New(randflake.Secret{}, "x") },
	})
	idtest.Unmade(t, "link: no Signer, or the zero one", map[string]func(){
		"zero Signer, Text":   func() { new(link.Signer).Text(1) },
		"zero Signer, Verify": func() { new(link.Signer).Verify(text) },
		"nil Signer, Parse":   func() { (*link.Signer)(nil).Parse(text) },
	})
}

// Of several calls the one with the fewest allocations counts: a sync.Pool drops what it has now and then.
func TestAllocations(t *testing.T) {
	text := signer.Text(1)
	for name, tt := range map[string]struct {
		call func()
		want float64
	}{
		"Text":   {func() { signer.Text(1) }, 1},
		"Verify": {func() { signer.Verify(text) }, 0},
	} {
		fewest := math.Inf(1)
		for range 20 {
			fewest = min(fewest, testing.AllocsPerRun(1, tt.call))
		}
		require.Equal(t, fewest, tt.want, "allocations of %s", name)
	}
}

func FuzzRead(f *testing.F) {
	fixed, _ := randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5")
	s := link.New(fixed, "receipt")
	for _, text := range []string{
		s.Text(0),
		s.Text(-1),
		"10",
		"!",
		"jvgoe12ccb8gh-6ir7vlf49ddm",
		"g0000000000000000000000000",
		"JVGOE12CCB8GH6IR7VLF49DDMP",
		"00000000000000000000000000",
		"jvgoe12ccb8gh6ir7vlf49ddmp",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { read(t, s, text) })
}
