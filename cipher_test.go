// The tests of the cipher. In the order of files they come before those of generators, so that of a
// wrong kernel a wrong vector shows first.

package randflake

import (
	"encoding/binary"
	"flag"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
)

// forEachBackend runs f as a subtest or a sub-benchmark for each backend of this machine, with that
// one in use.
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

// These tests work on unsigned integers, as the kernels do, and on keys that no secret has.

func cipherOf(key []byte) *Cipher { return newCipher((*[16]byte)(key)) }

func encrypt(c *Cipher, value uint64) uint64 { return uint64(c.Encrypt(Raw(value))) }

func decrypt(c *Cipher, value uint64) uint64 { return uint64(c.Decrypt(ID(value))) }

func encryptSlice(c *Cipher, dst, src []uint64) { encryptBlocks(c.keys(), dst, src) }

func decryptSlice(c *Cipher, dst, src []uint64) { decryptBlocks(c.keys(), dst, src) }

// The designers' vectors, at every position of a slice whose other values are noise; and a chain of
// a million encryptions.
func TestVectorsOfTheCipher(t *testing.T) {
	type vector struct {
		Key, Plaintext, Ciphertext idtest.Hex
		Iterations                 int
	}
	var file struct {
		Vectors []vector
		Chain   vector
	}
	idtest.ReadJSON(t, "testdata/sparx64.json", &file)
	if len(file.Vectors) < 200 || file.Chain.Iterations != 1_000_000 {
		t.Fatalf("%d vectors, %d steps in the chain", len(file.Vectors), file.Chain.Iterations)
	}
	forEachBackend(t, func(t *testing.T) {
		for i, v := range file.Vectors {
			c := cipherOf(v.Key)
			plain := binary.LittleEndian.Uint64(v.Plaintext)
			encrypted := binary.LittleEndian.Uint64(v.Ciphertext)
			for at := range 33 {
				values := make([]uint64, 33)
				for j := range values {
					values[j] = rand.Uint64()
				}
				values[at] = plain
				encryptSlice(c, values, values)
				got := values[at]
				decryptSlice(c, values, values)
				if got != encrypted || values[at] != plain {
					t.Fatalf("vector %d at %d: %x, want %x; and back %x", i, at, got, encrypted, values[at])
				}
			}
		}
	})
	chain := file.Chain
	c := cipherOf(chain.Key)
	plain := binary.LittleEndian.Uint64(chain.Plaintext)
	value := plain
	for range chain.Iterations {
		value = encrypt(c, value)
	}
	if want := binary.LittleEndian.Uint64(chain.Ciphertext); value != want {
		t.Errorf("the chain ends at %x, want %x", value, want)
	}
	for range chain.Iterations {
		value = decrypt(c, value)
	}
	require.Equal(t, value, plain, "the chain leads back to")
}

func TestVectorsOfTheFormat(t *testing.T) {
	for i, v := range idtest.Vectors(t, "testdata/randflake.json") {
		c := cipherOf(v.Secret)
		id := ID(v.ID)
		fields := Fields{time.Unix(v.Timestamp, 0).UTC(), v.Node, v.Sequence}
		require.Equal(t, pack(v.Timestamp, v.Node, v.Sequence), v.Raw, "vector %d: raw value", i)
		require.Gives(t, id, "vector %d: composed", i)(c.Compose(fields))
		require.Equal(t, c.Inspect(id), fields, "vector %d: opens to", i)
		if parsed, err := Parse(v.Text); parsed != id || err != nil || id.String() != v.Text {
			t.Errorf("vector %d: parsed %d, %v; text %v, want %s", i, parsed, err, id, v.Text)
		}
	}
}

// checkBulk compares the bulk functions in the active backend with the oracle, apart and in place,
// and checks that they stay within their slices, which begin at any alignment.
func checkBulk(t *testing.T, key [16]byte, plain []uint64, first uint64) {
	t.Helper()
	const guard = 0xdeadbeef_cafebabe
	c := cipherOf(key[:])
	oracle := newReferenceCipher(key)
	n := len(plain)
	encrypted := make([]uint64, n)
	for i, value := range plain {
		encrypted[i] = oracle.encrypt(value)
	}
	buf := make([]uint64, n+16)
	at := 1 + rand.IntN(8)
	dst := buf[at : at+n]
	for _, step := range []struct {
		name string
		do   func()
		want func(i int) uint64
	}{
		{"encryptBlocks", func() { encryptSlice(c, dst, plain) }, func(i int) uint64 { return encrypted[i] }},
		{"decryptBlocks in place", func() { decryptSlice(c, dst, dst) }, func(i int) uint64 { return plain[i] }},
		{"encryptBlocks in place", func() { encryptSlice(c, dst, dst) }, func(i int) uint64 { return encrypted[i] }},
		{"decryptBlocks", func() { decryptSlice(c, dst, encrypted) }, func(i int) uint64 { return plain[i] }},
		{"encryptRun", func() { encryptRun(c.keys(), dst, first) }, func(i int) uint64 { return oracle.encrypt(first + uint64(i)) }},
	} {
		buf[at-1] = guard
		buf[at+n] = guard
		step.do()
		for i, got := range dst {
			if want := step.want(i); got != want {
				t.Fatalf("%v, key %x: %s of %d from %x: value %d is %x, want %x", active, key, step.name, n, first, i, got, want)
			}
		}
		if buf[at-1] != guard || buf[at+n] != guard {
			t.Fatalf("%v: %s of %d wrote outside its slice", active, step.name, n)
		}
	}
}

var (
	soakPairs = flag.Int("soak", 100_000, "pairs of key and block that TestSoak compares for each backend")
	soakSeed  = flag.Uint64("soak-seed", rand.Uint64(), "seed of TestSoak and TestCopiedMachine, which a failure tells")
)

// TestSoak compares every backend with the oracle, first at all lengths, then at random ones: with
// random keys and blocks, and runs that begin just before, at and after a carry out of their lowest
// 16, 32, 48 and 64 bits.
func TestSoak(t *testing.T) {
	const longest = 300
	forEachBackend(t, func(t *testing.T) {
		rand := rand.New(rand.NewPCG(*soakSeed, 0))
		for n, done := 0, 0; n <= longest || done < *soakPairs; n++ {
			plain := make([]uint64, n)
			if n > longest {
				plain = plain[:rand.IntN(longest)]
			}
			for i := range plain {
				plain[i] = rand.Uint64()
			}
			var key [16]byte
			binary.LittleEndian.PutUint64(key[:], rand.Uint64())
			binary.LittleEndian.PutUint64(key[8:], rand.Uint64())
			first := rand.Uint64()
			if carry := 16 * (1 + n%8); carry <= 64 { // in half of the rounds the run begins near a carry
				first = first>>carry<<carry - uint64(rand.IntN(len(plain)+2))
			}
			checkBulk(t, key, plain, first)
			done += len(plain)
		}
		if t.Failed() {
			t.Logf("again: go test -run TestSoak . -soak %d -soak-seed %d, on %s", *soakPairs, *soakSeed, cpuid.CPU.BrandName)
		}
	})
}

func FuzzCipher(f *testing.F) {
	f.Add(make([]byte, 16), uint64(0), uint16(5))
	f.Add([]byte("0123456789abcdef"), uint64(1)<<63, uint16(64))
	f.Add([]byte("0"), uint64(9223372036854775808), uint16(56))
	f.Add([]byte("0"), uint64(0), uint16(0))
	f.Fuzz(func(t *testing.T, key []byte, value uint64, n uint16) {
		var padded [16]byte
		copy(padded[:], key)
		c := cipherOf(padded[:])
		encrypted := encrypt(c, value)
		back := decrypt(c, encrypted)
		want := newReferenceCipher(padded).encrypt(value)
		if encrypted != want || back != value {
			t.Fatalf("Encrypt(%x) = %x, want %x; and back %x", value, encrypted, want, back)
		}
		plain := make([]uint64, n%512)
		for i := range plain {
			plain[i] = value + uint64(i)*uint64(i)*0x9e3779b97f4a7c15
		}
		defer func(chosen backend) { active = chosen }(active)
		for _, active = range supported() {
			checkBulk(t, padded, plain, value)
		}
	})
}

func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
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
		k = [8]uint16{k[6], k[7], k[0], k[1], k[2], k[3], k[4], k[5]}
	}
	return c
}

func (c *referenceCipher) encrypt(raw uint64) uint64 {
	x := wordsOf(raw)
	for step := range 8 {
		for branch := range 2 {
			keys := c.keys[2*step+branch]
			left, right := &x[2*branch], &x[2*branch+1]
			for round := range 3 {
				*left ^= keys[2*round]
				*right ^= keys[2*round+1]
				*left = bits.RotateLeft16(*left, -7)
				*left += *right
				*right = bits.RotateLeft16(*right, 2)
				*right ^= *left
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
		key, value, _ := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if key == "flags" || key == "Features" { // as amd64 and arm64 call them
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
	if Backend() != got[0] || got[len(got)-1] != "generic" {
		t.Errorf("Backend() = %s of %v, want the first one, and generic as the last", Backend(), got)
	}
	want := promised(t)
	if !hasAssembly {
		want = []string{"generic"}
	}
	slices.Sort(got)
	slices.Sort(want)
	require.That(t, slices.Equal(got, want), "backends %v, the CPU promises %v", got, want)
	t.Logf("in use: %s, of %v", Backend(), got)
	for _, name := range map[string][]string{"amd64": {"avx512", "avx2"}, "arm64": {"sve2", "neon"}}[runtime.GOARCH] {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(got, name) {
				t.Skip("this CPU does not have it")
			}
		})
	}
}
