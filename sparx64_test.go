package randflake

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// forEachBackend runs f as a subtest or a sub-benchmark for each supported backend, with that one in use.
func forEachBackend[T interface {
	testing.TB
	Run(string, func(T)) bool
}](t T, f func(T)) {
	chosen := active
	t.Cleanup(func() { active = chosen })
	for _, b := range supported() {
		t.Run(b.String(), func(t T) {
			active = b
			f(t)
		})
	}
	active = chosen
}

func TestBackendIsThePreferredOne(t *testing.T) {
	if got, want := Backend(), supported()[0].String(); got != want {
		t.Errorf("Backend() = %q, want %q, the first of supported()", got, want)
	}
	if last := supported()[len(supported())-1]; last != backendGeneric {
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
			plain, encrypted := binary.LittleEndian.Uint64(v.Plaintext), binary.LittleEndian.Uint64(v.Ciphertext)
			const length = 33
			for at := range length {
				values := make([]uint64, length)
				for j := range values {
					values[j] = rand.Uint64()
				}
				values[at] = plain
				encryptSlice(c, values, values)
				if values[at] != encrypted {
					t.Fatalf("vector %d at %d: EncryptSlice gave %x, want %x", i, at, values[at], encrypted)
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
	plain, encrypted := binary.LittleEndian.Uint64(chain.Plaintext), binary.LittleEndian.Uint64(chain.Ciphertext)
	value := plain
	for range chain.Iterations {
		value = encrypt(c, value)
	}
	if value != encrypted {
		t.Errorf("the chain ends at %x, want %x", value, encrypted)
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
		plain, encrypted := make([]uint64, longest), make([]uint64, longest)
		for i := range plain {
			plain[i] = rand.Uint64()
			encrypted[i] = oracle.encrypt(plain[i])
			if oracle.decrypt(encrypted[i]) != plain[i] {
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
			check("EncryptSlice", func(i int) uint64 { return encrypted[i] })
			decryptSlice(c, dst, dst)
			check("DecryptSlice in place", func(i int) uint64 { return plain[i] })
			encryptSlice(c, dst, dst)
			check("EncryptSlice in place", func(i int) uint64 { return encrypted[i] })
			reset()
			decryptSlice(c, dst, encrypted[:n])
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

func FuzzCipher(f *testing.F) {
	f.Add(make([]byte, 16), uint64(0), uint16(5))
	f.Add([]byte("0123456789abcdef"), uint64(1)<<63, uint16(64))
	f.Add([]byte("0"), uint64(9223372036854775808), uint16(56))
	f.Add([]byte("0"), uint64(0), uint16(0))
	f.Fuzz(func(t *testing.T, key []byte, value uint64, n uint16) {
		var padded [16]byte
		copy(padded[:], key)
		c, oracle := cipherOf(padded[:]), newReferenceCipher(padded)
		encrypted := encrypt(c, value)
		if want := oracle.encrypt(value); encrypted != want {
			t.Fatalf("Encrypt(%x) = %x, want %x", value, encrypted, want)
		}
		if got := decrypt(c, encrypted); got != value {
			t.Fatalf("Decrypt(Encrypt(%x)) = %x", value, got)
		}
		plain := make([]uint64, n%512)
		for i := range plain {
			plain[i] = value + uint64(i)*uint64(i)*0x9e3779b97f4a7c15
		}
		for _, b := range supported() {
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

// referenceCipher is SPARX-64/128 and its use for IDs written down from the paper and the format,
// as plainly as can be. It shares no code with the library: it is the oracle of the tests.
type referenceCipher struct {
	keys [17][6]uint16
}

func newReferenceCipher(key [16]byte) *referenceCipher {
	var k [8]uint16
	for i := range k {
		k[i] = uint16(key[2*i])<<8 | uint16(key[2*i+1])
	}
	c := new(referenceCipher)
	for i := range c.keys {
		copy(c.keys[i][:], k[:])
		k[0] = bits.RotateLeft16(k[0], 9)
		k[0] += k[1]
		k[1] = bits.RotateLeft16(k[1], 2)
		k[1] ^= k[0]
		k[2] += k[0]
		k[3] += k[1]
		k[7] += uint16(i + 1)
		k6, k7 := k[6], k[7]
		for j := 7; j >= 2; j-- {
			k[j] = k[j-2]
		}
		k[0], k[1] = k6, k7
	}
	return c
}

func (c *referenceCipher) encrypt(raw uint64) uint64 {
	x := wordsOf(raw)
	for step := range 8 {
		for branch := range 2 {
			for round := range 3 {
				x[2*branch] ^= c.keys[2*step+branch][2*round]
				x[2*branch+1] ^= c.keys[2*step+branch][2*round+1]
				x[2*branch] = bits.RotateLeft16(x[2*branch], -7)
				x[2*branch] += x[2*branch+1]
				x[2*branch+1] = bits.RotateLeft16(x[2*branch+1], 2)
				x[2*branch+1] ^= x[2*branch]
			}
		}
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x[2] ^= x[0] ^ t
		x[3] ^= x[1] ^ t
		x[0], x[1], x[2], x[3] = x[2], x[3], x[0], x[1]
	}
	for i := range x {
		x[i] ^= c.keys[16][i]
	}
	return valueOf(x)
}

func (c *referenceCipher) decrypt(id uint64) uint64 {
	x := wordsOf(id)
	for i := range x {
		x[i] ^= c.keys[16][i]
	}
	for step := 7; step >= 0; step-- {
		x[0], x[1], x[2], x[3] = x[2], x[3], x[0], x[1]
		t := bits.RotateLeft16(x[0]^x[1], 8)
		x[2] ^= x[0] ^ t
		x[3] ^= x[1] ^ t
		for branch := range 2 {
			for round := 2; round >= 0; round-- {
				x[2*branch+1] ^= x[2*branch]
				x[2*branch+1] = bits.RotateLeft16(x[2*branch+1], -2)
				x[2*branch] -= x[2*branch+1]
				x[2*branch] = bits.RotateLeft16(x[2*branch], 7)
				x[2*branch] ^= c.keys[2*step+branch][2*round]
				x[2*branch+1] ^= c.keys[2*step+branch][2*round+1]
			}
		}
	}
	return valueOf(x)
}

// wordsOf returns the big-endian words of the value's little-endian bytes.
func wordsOf(v uint64) (x [4]uint16) {
	for i := range x {
		low, high := byte(v>>(16*i)), byte(v>>(16*i+8))
		x[i] = uint16(low)<<8 | uint16(high)
	}
	return x
}

func valueOf(x [4]uint16) (v uint64) {
	for i, word := range x {
		v |= uint64(word>>8)<<(16*i) | uint64(word&0xff)<<(16*i+8)
	}
	return v
}

// TestRunWhereWordsCarry encrypts runs of consecutive raw values that begin just before, at and after a
// carry out of their lowest 16, 32, 48 and 64 bits.
func TestRunWhereWordsCarry(t *testing.T) {
	secret := NewSecret()
	c, oracle := NewCipher(secret), newReferenceCipher(*secret.bytes())
	forEachBackend(t, func(t *testing.T) {
		for _, carry := range []uint64{1 << 16, 1 << 32, 1 << 48, 0} {
			for before := range uint64(130) {
				first := carry - before
				var got [131]uint64
				encryptRun(c.keys(), got[:], first)
				for i, id := range got {
					if want := oracle.encrypt(first + uint64(i)); id != want {
						t.Fatalf("value %d of the run from %#x on: %x, want %x", i, first, id, want)
					}
				}
			}
		}
	})
}

// promised returns the backends that the CPU's own flags promise, the preferred one first. Where
// emulation shows the flags of another CPU, the environment variable RANDFLAKE_BACKENDS names them.
func promised(t *testing.T) []string {
	if names, ok := os.LookupEnv("RANDFLAKE_BACKENDS"); ok {
		return strings.Fields(names)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skipf("no list of CPU flags to compare with: %v", err)
	}
	var flags []string
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && (strings.HasPrefix(key, "flags") || strings.HasPrefix(key, "Features")) {
			flags = strings.Fields(value)
			break
		}
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if !slices.Contains(flags, name) {
				return false
			}
		}
		return len(flags) > 0
	}
	var list []string
	switch runtime.GOARCH {
	case "amd64":
		if has("avx512f", "avx512bw", "avx512vl", "avx512_vbmi2") {
			list = append(list, "avx512")
		}
		if has("avx2") {
			list = append(list, "avx2")
		}
	case "arm64":
		if has("sve2") {
			list = append(list, "sve2")
		}
		if has("asimd") {
			list = append(list, "neon")
		}
	}
	return append(list, "generic")
}

// A test that compares generic with itself because no other backend was selected proves nothing.
func TestBackendsAreThosePromised(t *testing.T) {
	var got []string
	for _, b := range supported() {
		got = append(got, b.String())
	}
	want := promised(t)
	if !hasAssembly {
		want = []string{"generic"}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("backends %v, the CPU promises %v", got, want)
	}
	t.Logf("in use: %s, of %v", Backend(), got)
	for _, name := range map[string][]string{"amd64": {"avx512", "avx2"}, "arm64": {"sve2", "neon"}}[runtime.GOARCH] {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(got, name) {
				t.Skip("this CPU does not have it")
			}
		})
	}
}

var soakPairs = flag.Int("soak", 100_000, "pairs of key and block that TestSoak compares for each backend")

var soakSeed = flag.Uint64("soak-seed", rand.Uint64(), "seed of TestSoak, which a failure tells")

// TestSoak compares every backend with the oracle on random keys and blocks, lengths, alignments and carries. `make soak` and
// `make fuzz-night` run it with many more of them.
func TestSoak(t *testing.T) {
	forEachBackend(t, func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("again: go test -run TestSoak . -soak %d -soak-seed %d, on %s (family %d, model %d)", *soakPairs, *soakSeed, cpuid.CPU.BrandName, cpuid.CPU.Family, cpuid.CPU.Model)
			}
		})
		rand := rand.New(rand.NewPCG(*soakSeed, 0))
		var memory [3][208]uint64
		for done := 0; done < *soakPairs; {
			plain, encrypted, run := memory[0][rand.IntN(8):], memory[1][rand.IntN(8):], memory[2][rand.IntN(8):]
			var key [16]byte
			binary.LittleEndian.PutUint64(key[:], rand.Uint64())
			binary.LittleEndian.PutUint64(key[8:], rand.Uint64()|1)
			secret := veil(key)
			c, oracle := NewCipher(secret), newReferenceCipher(key)
			n := 1 + rand.IntN(200)
			first := rand.Uint64()
			if done%3 == 0 {
				first |= 0xff80 // a carry within the run
			}
			for i := range n {
				plain[i] = rand.Uint64()
			}
			encryptSlice(c, encrypted[:n], plain[:n])
			encryptRun(c.keys(), run[:n], first)
			for i := range n {
				if want := oracle.encrypt(plain[i]); encrypted[i] != want {
					t.Fatalf("secret %s: block %x of %d became %x, want %x", secret.Hex(), plain[i], n, encrypted[i], want)
				}
			}
			if i := rand.IntN(n); run[i] != oracle.encrypt(first+uint64(i)) {
				t.Fatalf("secret %s: run of %d from %x: value %d is %x", secret.Hex(), n, first, i, run[i])
			}
			decryptSlice(c, encrypted[:n], encrypted[:n])
			for i := range n {
				if encrypted[i] != plain[i] {
					t.Fatalf("secret %s: block %x of %d came back as %x", secret.Hex(), plain[i], n, encrypted[i])
				}
			}
			done += n
		}
	})
}
