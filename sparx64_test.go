package randflake

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
	"unsafe"
)

// forEachBackend runs f as a subtest or a sub-benchmark for every backend that this machine can
// run, with that backend in use.
func forEachBackend[T interface {
	testing.TB
	Run(string, func(T)) bool
}](t T, f func(T)) {
	chosen := active
	t.Cleanup(func() { active = chosen })
	for _, b := range backends() {
		t.Run(b.String(), func(t T) {
			active = b
			f(t)
		})
	}
	active = chosen
}

func TestBackendIsThePreferredOne(t *testing.T) {
	if got, want := Backend(), backends()[0].String(); got != want {
		t.Errorf("Backend() = %q, want %q, the first of backends()", got, want)
	}
	if last := backends()[len(backends())-1]; last != backendGeneric {
		t.Errorf("the last backend is %v: every machine can run generic", last)
	}
}

// The tests of the cipher work on unsigned integers, as the kernels do, and on keys that no secret has.

func cipherOf(key []byte) *Cipher { return newCipher((*[16]byte)(key)) }

func encrypt(c *Cipher, value uint64) uint64 { return uint64(c.Encrypt(Raw(value))) }

func decrypt(c *Cipher, value uint64) uint64 { return uint64(c.Decrypt(ID(value))) }

func encryptSlice(c *Cipher, dst, src []uint64) { c.EncryptSlice(as[ID](dst), as[Raw](src)) }

func decryptSlice(c *Cipher, dst, src []uint64) { c.DecryptSlice(as[Raw](dst), as[ID](src)) }

// as is the inverse of asUint64.
func as[T ID | Raw](values []uint64) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func readVectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

type sparxVectors struct {
	Vectors []struct{ Key, Plaintext, Ciphertext hexBytes }
	Chain   struct {
		Key, Plaintext, Ciphertext hexBytes
		Iterations                 int
	}
}

func TestVectorsOfTheCipher(t *testing.T) {
	var file sparxVectors
	readVectors(t, "sparx64.json", &file)
	if len(file.Vectors) < 200 {
		t.Fatalf("only %d vectors", len(file.Vectors))
	}
	forEachBackend(t, func(t *testing.T) {
		for i, v := range file.Vectors {
			c := cipherOf(v.Key)
			got := make([]byte, 8)
			c.Block().Encrypt(got, v.Plaintext)
			if !bytes.Equal(got, v.Ciphertext) {
				t.Errorf("vector %d: Block().Encrypt gave %x, want %x", i, got, v.Ciphertext)
			}
			c.Block().Decrypt(got, got)
			if !bytes.Equal(got, v.Plaintext) {
				t.Errorf("vector %d: Block().Decrypt gave %x, want %x", i, got, v.Plaintext)
			}
			// In bulk the vector stands at every position of a slice whose other values are noise.
			plain, sealed := binary.LittleEndian.Uint64(v.Plaintext), binary.LittleEndian.Uint64(v.Ciphertext)
			const length = 33
			for at := range length {
				values := make([]uint64, length)
				for j := range values {
					values[j] = rand.Uint64()
				}
				values[at] = plain
				encryptSlice(c, values, values)
				if values[at] != sealed {
					t.Fatalf("vector %d at %d: EncryptSlice gave %x, want %x", i, at, values[at], sealed)
				}
				decryptSlice(c, values, values)
				if values[at] != plain {
					t.Fatalf("vector %d at %d: DecryptSlice gave %x, want %x", i, at, values[at], plain)
				}
			}
		}
	})
}

func TestChain(t *testing.T) {
	var file sparxVectors
	readVectors(t, "sparx64.json", &file)
	chain := file.Chain
	if chain.Iterations != 1_000_000 {
		t.Fatalf("the chain has %d steps", chain.Iterations)
	}
	c := cipherOf(chain.Key)
	plain, sealed := binary.LittleEndian.Uint64(chain.Plaintext), binary.LittleEndian.Uint64(chain.Ciphertext)
	value := plain
	for range chain.Iterations {
		value = encrypt(c, value)
	}
	if value != sealed {
		t.Errorf("the chain ends at %x, want %x", value, sealed)
	}
	for range chain.Iterations {
		value = decrypt(c, value)
	}
	if value != plain {
		t.Errorf("the chain leads back to %x, want %x", value, plain)
	}
}

type formatVectors struct {
	Vectors []struct {
		Secret         hexBytes
		Timestamp      int64
		Node, Sequence uint32
		Raw, ID, Text  string
	}
}

func TestVectorsOfTheFormat(t *testing.T) {
	var file formatVectors
	readVectors(t, "randflake.json", &file)
	if len(file.Vectors) < 100 {
		t.Fatalf("only %d vectors", len(file.Vectors))
	}
	for i, v := range file.Vectors {
		c := cipherOf(v.Secret)
		fields := Fields{time.Unix(v.Timestamp, 0).UTC(), v.Node, v.Sequence}
		decimal, err := strconv.ParseInt(v.ID, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := strconv.ParseUint(v.Raw, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := pack(v.Timestamp, v.Node, v.Sequence); got != raw {
			t.Errorf("vector %d: raw value %d, want %d", i, got, raw)
		}
		if id, err := c.Compose(fields); err != nil || id != ID(decimal) {
			t.Errorf("vector %d: Compose gave %d, %v, want %d", i, id, err, decimal)
		}
		if got := c.Inspect(ID(decimal)); got != fields {
			t.Errorf("vector %d: Inspect gave %v, want %v", i, got, fields)
		}
		if got := ID(decimal).String(); got != v.Text {
			t.Errorf("vector %d: text %q, want %q", i, got, v.Text)
		}
		if id, err := Parse(v.Text); err != nil || id != ID(decimal) {
			t.Errorf("vector %d: Parse gave %d, %v, want %d", i, id, err, decimal)
		}
	}
}

// TestBulkAgainstReference compares the bulk functions with the oracle at all lengths and
// alignments, in place and out of place, and sees that they stay within their slices.
func TestBulkAgainstReference(t *testing.T) {
	const longest, guard = 300, 0xdeadbeef_cafebabe
	forEachBackend(t, func(t *testing.T) {
		secret := NewSecret()
		c, oracle := NewCipher(secret), newReferenceCipher(*secret.bytes())
		plain, sealed := make([]uint64, longest), make([]uint64, longest)
		for i := range plain {
			plain[i] = rand.Uint64()
			sealed[i] = oracle.encrypt(plain[i])
			if oracle.decrypt(sealed[i]) != plain[i] {
				t.Fatal("the oracle is not a permutation")
			}
		}
		first := rand.Uint64()
		buf := make([]uint64, longest+16)
		for n := range longest + 1 {
			at := n % 8
			dst := buf[at : at+n]
			check := func(what string, want func(i int) uint64) {
				t.Helper()
				for i, got := range dst {
					if got != want(i) {
						t.Fatalf("%s of %d: value %d is %x, want %x", what, n, i, got, want(i))
					}
				}
				if at > 0 && buf[at-1] != guard || buf[at+n] != guard {
					t.Fatalf("%s of %d wrote outside its slice", what, n)
				}
			}
			reset := func() {
				for i := range buf {
					buf[i] = guard
				}
			}
			reset()
			encryptSlice(c, dst, plain[:n])
			check("EncryptSlice", func(i int) uint64 { return sealed[i] })
			decryptSlice(c, dst, dst)
			check("DecryptSlice in place", func(i int) uint64 { return plain[i] })
			encryptSlice(c, dst, dst)
			check("EncryptSlice in place", func(i int) uint64 { return sealed[i] })
			reset()
			decryptSlice(c, dst, sealed[:n])
			check("DecryptSlice", func(i int) uint64 { return plain[i] })
			reset()
			encryptRun(c.keys(), dst, first)
			check("encryptRun", func(i int) uint64 { return oracle.encrypt(first + uint64(i)) })
		}
	})
}

func TestSlicesMustFit(t *testing.T) {
	c := NewCipher(NewSecret())
	buf := make([]uint64, 8)
	bytes := make([]byte, 16)
	for name, f := range map[string]func(){
		"short output":          func() { encryptSlice(c, buf[:3], buf[4:]) },
		"short output, decrypt": func() { decryptSlice(c, buf[:3], buf[4:]) },
		"overlap":               func() { encryptSlice(c, buf[1:5], buf[:4]) },
		"overlap, decrypt":      func() { decryptSlice(c, buf[:4], buf[3:7]) },
		"short block":           func() { c.Block().Encrypt(bytes, bytes[:7]) },
		"short output block":    func() { c.Block().Decrypt(bytes[:7], bytes) },
		"overlapping blocks":    func() { c.Block().Encrypt(bytes[1:], bytes) },
		"short fields":          func() { c.InspectSlice(make([]Fields, 1), make([]ID, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
	encryptSlice(c, buf[:4], buf[4:])   // side by side
	encryptSlice(c, buf, buf[:0])       // nothing to do
	encryptSlice(c, nil, nil)           // likewise
	encryptSlice(c, buf[:6], buf[:4:4]) // output longer than input
	c.Block().Encrypt(bytes[8:], bytes)
}

func TestInspectSlice(t *testing.T) {
	forEachBackend(t, func(t *testing.T) {
		c := NewCipher(NewSecret())
		for _, n := range []int{0, 1, 255, 256, 257, 1000} {
			ids := make([]ID, n)
			for i := range ids {
				ids[i] = ID(rand.Uint64())
			}
			got := make([]Fields, n)
			c.InspectSlice(got, ids)
			for i, id := range ids {
				if want := c.Inspect(id); got[i] != want {
					t.Fatalf("ID %d of %d: %v, want %v", i, n, got[i], want)
				}
			}
		}
	})
}

func FuzzCipher(f *testing.F) {
	f.Add(make([]byte, 16), uint64(0), uint16(5))
	f.Add([]byte("0123456789abcdef"), uint64(1)<<63, uint16(64))
	f.Fuzz(func(t *testing.T, key []byte, value uint64, n uint16) {
		var padded [16]byte
		copy(padded[:], key)
		c, oracle := cipherOf(padded[:]), newReferenceCipher(padded)
		sealed := encrypt(c, value)
		if want := oracle.encrypt(value); sealed != want {
			t.Fatalf("Encrypt(%x) = %x, want %x", value, sealed, want)
		}
		if got := decrypt(c, sealed); got != value {
			t.Fatalf("Decrypt(Encrypt(%x)) = %x", value, got)
		}
		plain := make([]uint64, n%512)
		for i := range plain {
			plain[i] = value + uint64(i)*uint64(i)*0x9e3779b97f4a7c15
		}
		for _, b := range backends() {
			chosen := active
			active = b
			bulk := make([]uint64, len(plain))
			encryptSlice(c, bulk, plain)
			for i, got := range bulk {
				if want := encrypt(c, plain[i]); got != want {
					t.Fatalf("%v: EncryptSlice value %d: %x, Encrypt gives %x", b, i, got, want)
				}
			}
			decryptSlice(c, bulk, bulk)
			for i, got := range bulk {
				if got != plain[i] {
					t.Fatalf("%v: DecryptSlice value %d: %x, want %x", b, i, got, plain[i])
				}
			}
			encryptRun(c.keys(), bulk, value)
			for i, got := range bulk {
				if want := oracle.encrypt(value + uint64(i)); got != want {
					t.Fatalf("%v: encryptRun value %d: %x, want %x", b, i, got, want)
				}
			}
			active = chosen
		}
	})
}
