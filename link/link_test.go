package link_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/leaktest"
	"github.com/randflake/randflake/link"
)

var (
	ids    = []randflake.ID{0, 1, -1, 31, 32, math.MaxInt64, math.MinInt64, 4594531474933654033}
	secret = randflake.NewSecret()
	signer = link.New(secret, "receipt")

	forgeries = flag.Int("forgeries", 200_000, "how many forged links TestForgeries tries")
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
		if got, err := signer.Verify(signer.Text(id)); got != id || err != nil {
			t.Errorf("%v verifies as %v, %v", id, got, err)
		}
		if got, verified, err := signer.Parse(signer.Text(id)); got != id || !verified || err != nil {
			t.Errorf("the link of %v is %v, verified %t, %v", id, got, verified, err)
		}
		if got, verified, err := signer.Parse(id.String()); got != id || verified || err != nil {
			t.Errorf("%v alone is %v, verified %t, %v", id, got, verified, err)
		}
		if got, err := signer.Verify(id.String()); got != 0 || !errors.Is(err, randflake.ErrInvalidID) || errors.Is(err, link.ErrForged) {
			t.Errorf("%v without a MAC verifies: %v, %v", id, got, err)
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

// Every change of one character is refused, and so is every link of another purpose, secret or ID.
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
	refuse(t, link.New(secret, "invitation"), good, link.ErrForged)
	refuse(t, link.New(secret, ""), good, link.ErrForged)
	refuse(t, link.New(randflake.NewSecret(), "receipt"), good, link.ErrForged)
	refuse(t, signer, signer.Text(1)[:13]+good[13:], link.ErrForged)
	refuse(t, signer, strings.Repeat("0", 26), link.ErrForged)
	refuse(t, signer, good[:13]+"f"+strings.Repeat("v", 12), link.ErrForged)
}

// TestForgeries: random MACs, and each that differs from the right one in one or two bits. 10^9 were tried by hand.
func TestForgeries(t *testing.T) {
	const id = 4594531474933654033
	good := signer.Text(id)
	mac, err := randflake.Parse(strings.TrimLeft(good[13:], "0"))
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	try := func(mac uint64) {
		digits := randflake.ID(mac).String()
		if got, err := signer.Verify(good[:13] + strings.Repeat("0", 13-len(digits)) + digits); err != link.ErrForged || got != 0 {
			t.Fatalf("MAC %x verifies as %v, %v; the right one is %x", mac, got, err, uint64(mac))
		}
		tried++
	}
	for i := range 64 {
		try(uint64(mac) ^ 1<<i)
		for j := range i {
			try(uint64(mac) ^ 1<<i ^ 1<<j)
		}
	}
	for tried < *forgeries {
		if guess := rand.Uint64(); guess != uint64(mac) {
			try(guess)
		}
	}
	if got, err := signer.Verify(good); got != id || err != nil {
		t.Errorf("the control, a good link: %v, %v", got, err)
	}
}

// TestSeveralKeys: links from before a rotation stay the same and verify, and who has only an old key forges none of newer IDs.
func TestSeveralKeys(t *testing.T) {
	first, second, from := randflake.NewSecret(), randflake.NewSecret(), time.Unix(randflake.Epoch+1000, 0)
	both, err := first.Then(second, from)
	if err != nil {
		t.Fatal(err)
	}
	signers := map[string]*link.Signer{"first": link.New(first, "x"), "second": link.New(second, "x"), "both": link.New(both, "x")}
	for after, maker := range map[int]string{-999: "first", -1: "first", 0: "second", 1: "second", 1e8: "second"} {
		id, err := randflake.NewCipher(both).Compose(randflake.Fields{Time: from.Add(time.Duration(after) * time.Second), Node: 7})
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range signers {
			_, err := signers["both"].Verify(s.Text(id))
			if valid := name == maker || name == "both"; valid != (err == nil) || !valid && err != link.ErrForged {
				t.Errorf("%d s after the rotation, a link by the key %s: %v", after, name, err)
			}
		}
	}
	if text := link.New(first, "x").Text(-1); text != link.New(first, "x").Text(-1) {
		t.Error("two texts for one ID")
	}
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
	if !strings.Contains(fmt.Sprint(panics(func() { link.New(randflake.Secret{}, "x") })), "secret") {
		t.Error("New takes the zero Secret")
	}
}

func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func FuzzVerify(f *testing.F) {
	fixed, _ := randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5")
	s := link.New(fixed, "receipt")
	for _, id := range ids {
		f.Add(s.Text(id))
		f.Add(id.String())
	}
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

func BenchmarkVerify(b *testing.B) {
	text := signer.Text(4594531474933654033)
	for b.Loop() {
		signer.Verify(text)
	}
}
