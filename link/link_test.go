package link_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
	"github.com/randflake/randflake/link"
)

var (
	ids    = []randflake.ID{0, 1, -1, 31, 32, math.MaxInt64, math.MinInt64, 4594531474933654033}
	secret = randflake.NewSecret()
	signer = link.New(secret, "receipt")
)

func Example() {
	secret, _ := randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5") // a known one, for the output
	receipts := link.New(secret, "receipt")
	text := receipts.Text(randflake.MustParse("3vgoe12ccb8gh"))
	fmt.Println("/r/" + text)
	id, err := receipts.Verify(text)
	fmt.Println(id, err)

	_, err = receipts.Verify("3vgoe12ccb8gh0000000000000")
	fmt.Println(err, errors.Is(err, link.ErrForged))
	_, err = receipts.Verify("3vgoe12ccb8gh")
	fmt.Println(err)
	// Output:
	// /r/3vgoe12ccb8gh6ir7vlf49ddmp
	// 3vgoe12ccb8gh <nil>
	// randflake: invalid ID: a link with the wrong MAC: forged, or of another purpose or secret true
	// randflake: invalid ID: want the 26 characters of a link, got 13
}

// A page for owners of receipts, and for those who have a link to one.
func ExampleSigner_Parse() {
	receipts := link.New(randflake.NewSecret(), "receipt")
	for _, text := range []string{"3vgoe12ccb8gh", receipts.Text(32), "00000000000100000000000000"} {
		switch id, verified, err := receipts.Parse(text); {
		case err != nil:
			fmt.Println("not found")
		case verified:
			fmt.Println("show", id)
		default:
			fmt.Println("show", id, "if it is theirs")
		}
	}
	// Output:
	// show 3vgoe12ccb8gh if it is theirs
	// show 10
	// not found
}

// The format as the package comment has it, by other code: HKDF (RFC 5869) by hand, and base32hex of 65 bits.
func TestFormat(t *testing.T) {
	mac := func(key, message []byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(message)
		return h.Sum(nil)
	}
	text := func(value uint64) string {
		b := binary.BigEndian.AppendUint64([]byte{0, 0}, value)
		return strings.ToLower(base32.HexEncoding.EncodeToString(b)[3:])
	}
	master, _ := hex.DecodeString(secret.Hex())
	key := mac(mac(make([]byte, 32), master), []byte("randflake space key \x00\x00\x00\x01link\x00receipt\x01"))[:16]
	for _, id := range ids {
		want := text(uint64(id)) + text(binary.BigEndian.Uint64(mac(key, binary.LittleEndian.AppendUint64(nil, uint64(id)))))
		if got := signer.Text(id); got != want || len(got) != link.Length {
			t.Errorf("the link of %v is %s, want %s", id, got, want)
		}
	}
}

func TestBothForms(t *testing.T) {
	for _, id := range ids {
		for text, want := range map[string]bool{signer.Text(id): true, id.String(): false} {
			got, verified, err := signer.Parse(text)
			if got != id || verified != want || err != nil {
				t.Errorf("%s is %v, verified %t, %v", text, got, verified, err)
			}
			if got, err := signer.Verify(text); (err == nil) != want || want && got != id || !want && (got != 0 || !errors.Is(err, randflake.ErrInvalidID) || errors.Is(err, link.ErrForged)) {
				t.Errorf("%s verifies as %v, %v", text, got, err)
			}
		}
		if _, err := randflake.Parse(signer.Text(id)); err == nil {
			t.Errorf("the link of %v is an ID", id)
		}
	}
}

// refuse checks that a text is refused by the error, which does not contain it.
func refuse(t *testing.T, s *link.Signer, text string, want error) {
	t.Helper()
	id, err := s.Verify(text)
	parsed, verified, parseErr := s.Parse(text)
	if id != 0 || parsed != 0 || verified || !errors.Is(err, want) || !errors.Is(parseErr, want) || !errors.Is(err, randflake.ErrInvalidID) {
		t.Errorf("%q: %v, %v; by Parse %v, %t, %v", text, id, err, parsed, verified, parseErr)
	}
	if len(text) > 13 && strings.Contains(fmt.Sprint(err, parseErr), text[:13]) {
		t.Errorf("%q is in the error: %v, %v", text, err, parseErr)
	}
}

// Every change of one character or of one or two bits of the MAC is refused, and so is every link of another purpose, secret or ID.
func TestRefuses(t *testing.T) {
	good := signer.Text(4594531474933654033)
	for i := range good {
		for c := range 256 {
			if bad := good[:i] + string([]byte{byte(c)}) + good[i+1:]; bad != good {
				refuse(t, signer, bad, randflake.ErrInvalidID)
			}
		}
		refuse(t, signer, good[:i]+good[i+1:], randflake.ErrInvalidID)
	}
	for _, bad := range []string{strings.ToUpper(good), good + "0", " " + good, good + "=", good + good, strings.Repeat("0", 1000), good[:13] + "-" + good[13:]} {
		refuse(t, signer, bad, randflake.ErrInvalidID)
	}
	mac := uint64(randflake.MustParse(strings.TrimLeft(good[13:], "0")))
	for i := range 64 {
		for j := range i + 1 {
			digits := randflake.ID(mac ^ (1<<i | 1<<j)).String()
			refuse(t, signer, good[:13]+strings.Repeat("0", 13-len(digits))+digits, link.ErrForged)
		}
	}
	refuse(t, link.New(secret, "invitation"), good, link.ErrForged)
	refuse(t, link.New(secret, ""), good, link.ErrForged)
	refuse(t, link.New(randflake.NewSecret(), "receipt"), good, link.ErrForged)
	refuse(t, signer, signer.Text(1)[:13]+good[13:], link.ErrForged)
	refuse(t, signer, strings.Repeat("0", 26), link.ErrForged)
	refuse(t, signer, good[:13]+"f"+strings.Repeat("v", 12), link.ErrForged)
}

// Nothing that prints or encodes a Signer shows a key.
func TestNothingShowsAKey(t *testing.T) {
	key := secret.Derive("link\x00receipt", 1).Hex()
	for name, got := range leaktest.Output(signer) {
		for _, shown := range []string{key, secret.Hex()} {
			b, _ := hex.DecodeString(shown)
			if leaktest.Find(got, b) != "" {
				t.Errorf("%s shows a key: %s", name, got)
			}
		}
	}
	defer func() {
		if !strings.Contains(fmt.Sprint(recover()), "secret") {
			t.Error("New takes the zero Secret")
		}
	}()
	link.New(randflake.Secret{}, "x")
}

func FuzzVerify(f *testing.F) {
	fixed, _ := randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5")
	s := link.New(fixed, "receipt")
	for _, id := range ids {
		f.Add(s.Text(id))
		f.Add(id.String())
	}
	f.Add("3vgoe12ccb8gh-6ir7vlf49ddm")
	f.Add("00000000000000000000000000")
	f.Add("3vgoe12ccb8gh0000000000000")
	f.Add("3VGOE12CCB8GH6IR7VLF49DDMP")
	f.Add("g0000000000000000000000000")
	f.Add("3vgoe12ccb8gh6ir7vlf49ddmp")
	f.Fuzz(func(t *testing.T, text string) {
		id, verified, err := s.Parse(text)
		strict, strictErr := s.Verify(text)
		if verified != (strictErr == nil) || verified && (strict != id || s.Text(id) != text) || !verified && err == nil && id.String() != text {
			t.Fatalf("Parse(%q) = %v, %t, %v; Verify %v, %v", text, id, verified, err, strict, strictErr)
		}
		if err != nil && (id != 0 || !errors.Is(err, randflake.ErrInvalidID)) {
			t.Fatalf("Parse(%q) = %v, %v", text, id, err)
		}
	})
}
