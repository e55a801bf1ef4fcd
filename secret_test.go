package randflake

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/leaktest"
	"github.com/randflake/randflake/internal/test/require"
)

// shown is a secret whose bytes are easily told from the other numbers that programs print.
var shown = [16]byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}

// TestNothingShowsASecret: no verb, encoder or printer of the standard library shows a part of a
// secret, nor of the round keys, which are as good. The plain array is found.
func TestNothingShowsASecret(t *testing.T) {
	secret := secretOf(shown)
	g, err := New(secret, testLease(1, 1, testStart, 10))
	require.NoError(t, err)
	if _, err := g.Generate(); err == nil {
		t.Fatal("an ID under a lease that is over")
	}
	c := g.Cipher()
	hides(t, c, secret)
	hides(t, c, &secret)
	hides(t, c, *c)
	hides(t, c, c)
	hides(t, c, g)
	for name, output := range leaktest.Output(shown) {
		if strings.ContainsAny(name, "vdxX") && leaktest.Find(output, shown[:]) == "" {
			t.Errorf("%s: the secret is not found in %.400q", name, output)
		}
	}
}

// hides checks that no sink shows a secret or its round keys when it is given the value.
func hides[K comparable](t *testing.T, c *Cipher, value K) {
	t.Helper()
	roundKeys := slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(c.schedule.Get())), 64))
	for name, output := range leaktest.Output(value) {
		part := leaktest.Find(output, shown[:])
		require.That(t, part == "", "%s of a %T shows of the secret %s: %.400q", name, value, part, output)
		if part := leaktest.Find(output, roundKeys); part != "" {
			t.Errorf("%s of a %T shows of the round keys %s: %.400q", name, value, part, output)
		}
	}
}

// TestSecretIsRedacted: where the value is asked it says so, and it is never encoded without an error.
func TestSecretIsRedacted(t *testing.T) {
	for _, secret := range []Secret{secretOf(shown), {}} {
		for name, output := range leaktest.Output(secret) {
			if name == "JSON" && !strings.Contains(output, errSecretText.Error()) {
				t.Errorf("%s: no error: %s", name, output)
			} else if name != "JSON" && name != "gob" && !strings.ContainsAny(name, "Tpw") && !strings.Contains(output, redacted) {
				t.Errorf("%s: %.400q", name, output)
			}
		}
		if text, err := secret.MarshalText(); text != nil || !errors.Is(err, errSecretText) || secret.String() != redacted {
			t.Errorf("as text: %q, %q, %v", text, secret, err)
		}
	}
	require.Equal(t, fmt.Sprint((*Generator)(nil), (*Cipher)(nil)), "<nil> <nil>", "nil prints")
	for _, value := range []any{NewCipher(secretOf(shown)), newGenerator(t, testLease(1, 1, testStart, 10))} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
			require.Equal(t, fmt.Sprintf(verb, value), redacted, "%s of %T prints", verb, value)
		}
	}
}

// TestDumpShowsNoSecret: a traceback through functions that were given a secret shows nothing of it.
func TestDumpShowsNoSecret(t *testing.T) {
	if os.Getenv("RANDFLAKE_TEST_DUMP") != "" {
		New(secretOf(shown), testLease(1, 1, testStart, 10), Option{func(*Generator) error { panic("an option that panics") }})
	}
	for _, traceback := range []string{"all", "system"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDumpShowsNoSecret$")
		cmd.Env = append(os.Environ(), "RANDFLAKE_TEST_DUMP=1", "GOTRACEBACK="+traceback)
		printed, err := cmd.CombinedOutput()
		if _, ran := err.(*exec.ExitError); !ran {
			t.Skipf("the tests can't start themselves, as where the processor is emulated: %v", err)
		}
		dump := string(printed)
		require.That(t, strings.Contains(dump, "an option that panics") && strings.Contains(dump, "randflake.New("),
			"not the dump that was wanted: %s", dump)
		part := leaktest.Find(dump, shown[:])
		require.That(t, part == "", "GOTRACEBACK=%s shows %s: %s", traceback, part, dump)
	}
}

// The second secret has each of the digits in which the alphabets of base64 differ.
func TestParseSecret(t *testing.T) {
	for _, secret := range []Secret{NewSecret(), secretOf([16]byte{0xfb, 0xef, 0xbe, 0xff, 0xff, 0xff, 15: 1})} {
		key := secret.bytes()[:]
		for _, text := range []string{
			hex.EncodeToString(key),
			strings.ToUpper(hex.EncodeToString(key)),
			base64.StdEncoding.EncodeToString(key),
			base64.RawStdEncoding.EncodeToString(key),
			base64.URLEncoding.EncodeToString(key),
			base64.RawURLEncoding.EncodeToString(key),
			secret.Hex() + "\n",
			secret.Hex() + "\r\n",
		} {
			require.Gives(t, secret, "ParseSecret of %d characters", len(text))(ParseSecret(text))
			var config struct{ Secret Secret }
			err := json.Unmarshal([]byte(`{"Secret":`+strconv.Quote(text)+`}`), &config)
			require.That(t, err == nil && config.Secret == secret, "from JSON, %d characters: %v", len(text), err)
		}
	}
}

func TestParseSecretRefuses(t *testing.T) {
	good := hex.EncodeToString([]byte("0123456789abcdef"))
	for _, text := range []string{
		"", good[:31], good + "0", good + "\n\n", "\n" + good, " " + good, good[:31] + "g", redacted,
		base64.StdEncoding.EncodeToString([]byte("0123456789abcde")),
		base64.StdEncoding.EncodeToString([]byte("0123456789abcdefg")),
		"BAAAAAAAAAAAAAAAAAAAAA=", "BAAAAAAAAAAAAAAAAAAAAA=====", "+_AAAAAAAAAAAAAAAAAAAA==",
		"BAAAAAAAAAAAAAAAAAAAAB==",   // bits that no byte holds
		"BAAAAAAAAAAAAAAAAAAA\nAA==", // white space
	} {
		secret, err := ParseSecret(text)
		require.That(t, errors.Is(err, ErrInvalidSecret) && secret.IsZero(), "ParseSecret(%q): %v", text, err)
		if err != nil && len(text) > 4 && strings.Contains(err.Error(), text) {
			t.Errorf("the error repeats the text: %v", err)
		}
		kept := secretOf(shown)
		if err := kept.UnmarshalText([]byte(text)); err == nil || kept != secretOf(shown) {
			t.Errorf("UnmarshalText(%q): %v", text, err)
		}
	}
}

func TestSecretFromBytes(t *testing.T) {
	b := []byte("0123456789abcdef")
	secret, err := SecretFromBytes(b)
	require.Must(t, err == nil && secret.Hex() == "30313233343536373839616263646566", "%s, %v", secret.Hex(), err)
	require.Gives(t, secret, "its text")(ParseSecret(secret.Hex()))
	clear(b)
	require.That(t, secret.Hex() == "30313233343536373839616263646566", "the secret shares the caller's bytes")
	for _, b := range [][]byte{nil, make([]byte, 16), []byte("0123456789abcde"), []byte("0123456789abcdefg")} {
		require.Refuses(t, ErrInvalidSecret, "%d bytes", len(b))(SecretFromBytes(b))
	}
}

func TestSecretEqual(t *testing.T) {
	a, other, unset := NewSecret(), NewSecret(), Secret{} // also: two new secrets differ
	same := secretOf(*a.bytes())
	for i, tt := range []struct {
		a, b Secret
		want bool
	}{{a, a, true}, {a, same, true}, {a, other, false}, {a, unset, false}, {unset, a, false}, {unset, unset, true}} {
		require.Equal(t, tt.a == tt.b, tt.want, "pair %d", i)
	}
}

// TestZeroSecret: what needs a secret refuses one that is unset or all zeros, by name.
func TestZeroSecret(t *testing.T) {
	wantInvalid := func(what string, err error) {
		t.Helper()
		require.That(t, errors.Is(err, ErrInvalidSecret) && strings.Contains(err.Error(), "zero"),
			"%s: error %v, want one that wraps ErrInvalidSecret and says why", what, err)
	}
	var unset Secret
	g, err := New(unset, testLease(1, 1, testStart, 10))
	require.That(t, g == nil, "New made a generator")
	wantInvalid("New", err)
	for _, text := range []string{strings.Repeat("0", 32), base64.StdEncoding.EncodeToString(make([]byte, 16))} {
		_, err := ParseSecret(text)
		wantInvalid("ParseSecret", err)
		wantInvalid("UnmarshalText", unset.UnmarshalText([]byte(text)))
	}
	for what, call := range map[string]func(){
		"NewCipher":  func() { NewCipher(unset) },
		"Hex":        func() { unset.Hex() },
		"CheckValue": func() { unset.CheckValue() },
		"Derive":     func() { unset.Derive("orders", 1) },
	} {
		func() {
			defer func() {
				err, _ := recover().(error)
				wantInvalid(what, err)
			}()
			call()
		}()
	}
}

func TestDerive(t *testing.T) {
	master := secretOf([16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	// openssl kdf -keylen 16 -kdfopt digest:SHA256 -kdfopt hexkey:000102030405060708090a0b0c0d0e0f
	//   -kdfopt hexinfo:$(printf 'randflake space key \0\0\0\1orders' | xxd -p) HKDF
	for _, tt := range []struct {
		space   string
		version uint32
		want    string
	}{
		{"orders", 1, "41277c75c4411a500f04bff6426d23bf"},
		{"orders", 2, "bbddf966d9a40f2b99f1b0ac682446c7"},
		{"", 0, "b369978681414777c5359207349450a3"},
	} {
		require.Equal(t, master.Derive(tt.space, tt.version).Hex(), tt.want, "%q, version %d", tt.space, tt.version)
	}
}

func TestCheckValue(t *testing.T) {
	a, b := secretOf([16]byte{1}), secretOf([16]byte{1, 15: 1})
	require.That(t, a.CheckValue() != b.CheckValue(), "two secrets have the check value %x", a.CheckValue())
	// printf 'randflake key check value' | openssl dgst -sha256 -mac hmac -macopt
	// hexkey:01000000000000000000000000000000
	require.Equal(t, a.CheckValue(), [8]byte{0x83, 0xfb, 0xfa, 0x51, 0x14, 0x19, 0xe7, 0x03}, "check value")
}

// TestNoCipher: a cipher that nobody made says so, and one in bulk writes nothing behind the end of a slice.
func TestNoCipher(t *testing.T) {
	var none *Cipher
	idtest.Unmade(t, "make one with NewCipher", map[string]func(){
		"zero": func() { new(Cipher).Encrypt(1) },
		"nil":  func() { none.Decrypt(1) },
	})
	c := NewCipher(NewSecret())
	for name, f := range map[string]func(){
		"EncryptSlice": func() { c.EncryptSlice(make([]ID, 1, 2), make([]Raw, 2)) },
		"DecryptSlice": func() { c.DecryptSlice(make([]Raw, 1, 2), make([]ID, 2)) },
	} {
		require.That(t, panics(f) != nil, "%s writes behind the end of a slice", name)
	}
}

// TestRotation: under another secret an ID opens to any second of the format alike, so that after a
// year one of 34 old IDs seems new.
func TestRotation(t *testing.T) {
	c, day, n := NewCipher(NewSecret()), time.Unix(testStart, 0), 400_000
	if testing.Short() {
		n = 100_000
	}
	new := Lease{LastNode: MaxNode, Start: day, End: day.AddDate(1, 0, 0)}
	seem := 0
	for i := range n { // as random as IDs of another secret
		if c.Inspect(ID(i)).Within(new) == nil {
			seem++
		}
	}
	want := float64(n) * new.End.Sub(new.Start).Seconds() / (1 << timestampBits)
	got := float64(seem)
	require.That(t, math.Abs(got-want) < 6*math.Sqrt(want), "%v of %d seem new, want about %.0f", got, n, want)
}
