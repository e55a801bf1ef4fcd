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
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
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
	text := receipts.Text(randflake.MustParse("3vgoe12ccb8gh"))
	fmt.Println("/r/" + text)
	for _, text := range []string{text, "3vgoe12ccb8gh", "3vgoe12ccb8gh0000000000000"} {
		switch id, verified, err := receipts.Parse(text); {
		case err != nil:
			fmt.Println(errors.Is(err, link.ErrForged), err)
		case verified:
			fmt.Println("show", id)
		default:
			fmt.Println("show", id, "if it is theirs")
		}
	}
	_, err := receipts.Verify("3vgoe12ccb8gh") // where only links will do
	fmt.Println(err)
	// Output:
	// /r/3vgoe12ccb8gh6ir7vlf49ddmp
	// show 3vgoe12ccb8gh
	// show 3vgoe12ccb8gh if it is theirs
	// true randflake: invalid ID: a link with the wrong MAC: forged, or of another purpose or secret
	// randflake: invalid ID: want the 26 characters of a link, got 13
}

// digits are base32hex of 65 bits.
func digits(value uint64) string { return fmt.Sprintf("%013s", randflake.ID(value).String()) }

// read reads a text in both ways: what is not the one text of an ID or of its link is refused, by errors that don't contain it.
func read(t *testing.T, s *link.Signer, text string) (id randflake.ID, verified bool, err error) {
	t.Helper()
	id, verified, err = s.Parse(text)
	strict, strictErr := s.Verify(text)
	switch {
	case err != nil && (id != 0 || verified || !errors.Is(err, randflake.ErrInvalidID)),
		err == nil && !verified && id.String() != text, verified && (s.Text(id) != text || strict != id || strictErr != nil):
		t.Errorf("Parse(%q) = %v, %t, %v; Verify: %v, %v", text, id, verified, err, strict, strictErr)
	case !verified && (strict != 0 || !errors.Is(strictErr, randflake.ErrInvalidID) || errors.Is(strictErr, link.ErrForged) != errors.Is(err, link.ErrForged)):
		t.Errorf("Verify(%q) = %v, %v; Parse: %v", text, strict, strictErr, err)
	case len(text) > 13 && strings.Contains(fmt.Sprint(err, strictErr), text[:13]):
		t.Errorf("%q is in the error: %v, %v", text, err, strictErr)
	}
	return id, verified, err
}

// The format is as the package comment has it, by other code. Every change of one character or of one or two bits of the MAC is refused, and so is every link of another purpose, secret or ID.
func TestParse(t *testing.T) {
	master, _ := hex.DecodeString(secret.Hex())
	key, _ := hkdf.Key(sha256.New, master, nil, "randflake space key \x00\x00\x00\x01link\x00receipt", 16)
	for _, id := range []randflake.ID{0, 1, -1, 31, 32, math.MaxInt64, math.MinInt64, 4594531474933654033} {
		mac := hmac.New(sha256.New, key)
		mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
		text := digits(uint64(id)) + digits(binary.BigEndian.Uint64(mac.Sum(nil)))
		got, verified, err := read(t, signer, text)
		plain, bare, none := read(t, signer, id.String())
		if signer.Text(id) != text || len(text) != link.Length || got != id || !verified || err != nil || plain != id || bare || none != nil {
			t.Errorf("the link of %v is %s, want %s, which is %v, %t, %v; without a MAC %v, %t, %v", id, signer.Text(id), text, got, verified, err, plain, bare, none)
		}
	}
	good := signer.Text(4594531474933654033)
	for i := range good {
		for c := range 256 {
			read(t, signer, good[:i]+string([]byte{byte(c)})+good[i+1:])
		}
		read(t, signer, good[:i]+good[i+1:])
	}
	mac := uint64(randflake.MustParse(strings.TrimLeft(good[13:], "0")))
	for i := range 64 * 64 {
		forged := digits(mac ^ (1<<(i/64) | 1<<(i%64)))
		if _, _, err := read(t, signer, good[:13]+forged); !errors.Is(err, link.ErrForged) {
			t.Errorf("forged: %v", err)
		}
	}
	for _, other := range []*link.Signer{link.New(secret, "invitation"), link.New(secret, ""), link.New(randflake.NewSecret(), "receipt")} {
		if _, _, err := read(t, other, good); !errors.Is(err, link.ErrForged) {
			t.Errorf("of another purpose or secret: %v", err)
		}
	}
}

// Nothing that prints or encodes a Signer shows a key.
func TestNothingShowsAKey(t *testing.T) {
	for name, got := range leaktest.Output(signer) {
		for _, shown := range []string{secret.Derive("link\x00receipt", 1).Hex(), secret.Hex()} {
			if b, _ := hex.DecodeString(shown); leaktest.Find(got, b) != "" {
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

func FuzzRead(f *testing.F) {
	fixed, _ := randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5")
	s := link.New(fixed, "receipt")
	for _, text := range []string{s.Text(0), s.Text(-1), "10", "3vgoe12ccb8gh-6ir7vlf49ddm", "00000000000000000000000000", "3VGOE12CCB8GH6IR7VLF49DDMP", "g0000000000000000000000000", "3vgoe12ccb8gh6ir7vlf49ddmp"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { read(t, s, text) })
}
