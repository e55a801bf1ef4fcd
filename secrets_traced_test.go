//go:build valgrind && linux && amd64

package randflake

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/randflake/randflake/internal/testing/valgrind"
)

// TestSecretsTraced runs the cipher under Memcheck with keys and values undefined. Valgrind has no AVX-512: cpuid finds
// none there, so that the kernels for it are not among the backends.
func TestSecretsTraced(t *testing.T) {
	key := [16]byte([]byte("0123456789abcdef"))
	oracle := newReferenceCipher(key)
	valgrind.Hide(key[:])
	schedule := make([]uint32, len(roundKeys{}))
	valgrind.Trace(t, "key schedule", schedule[:finalKeys+2], func() { copy(schedule, expandKey(&key)[:]) })
	valgrind.Hide(schedule)
	c := &Cipher{schedule: unsafe.Pointer(&schedule[0])}

	plain, encrypted := make([]uint64, 200), make([]uint64, 200)
	for i := range plain {
		plain[i] = uint64(i) * 0x9e3779b97f4a7c15
		encrypted[i] = oracle.encrypt(plain[i])
	}
	is := func(what string, got, want []uint64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %x, want %x", what, got, want)
		}
	}
	secret, computed := make([]uint64, 200), make([]uint64, 200)
	hidden := func(values []uint64) []uint64 {
		copy(secret, values)
		valgrind.Hide(secret)
		return secret[:len(values)]
	}
	out := computed[:1]
	valgrind.Trace(t, "Encrypt", out, func() { out[0] = encrypt(c, hidden(plain[1:2])[0]) })
	is("Encrypt", out, encrypted[1:2])
	valgrind.Trace(t, "Decrypt", out, func() { out[0] = decrypt(c, hidden(encrypted[1:2])[0]) })
	is("Decrypt", out, plain[1:2])

	forEachBackend(t, func(t *testing.T) {
		valgrind.Reveal(unsafe.Slice(&active, 1))
		for _, n := range []int{1, 3, 4, 7, 8, 31, 32, 33, 64, 100, 128, 200} {
			out := computed[:n]
			valgrind.Trace(t, "EncryptSlice", out, func() { encryptSlice(c, out, hidden(plain[:n])) })
			is("EncryptSlice", out, encrypted[:n])
			valgrind.Trace(t, "DecryptSlice", out, func() { decryptSlice(c, out, hidden(encrypted[:n])) })
			is("DecryptSlice", out, plain[:n])
			first := uint64(0x123456789abcffc0) // carries
			valgrind.Trace(t, "encryptRun", out, func() { encryptRun(c.keys(), out, first) })
			for i, id := range out {
				is("encryptRun", []uint64{id}, []uint64{oracle.encrypt(first + uint64(i))})
			}
		}
		traceGenerator(t)
	})
	for _, name := range []string{"avx512"} {
		t.Run(name, func(t *testing.T) {
			t.Skip("Valgrind does not know its instructions: the proofs of internal/tools/prove alone say that they do not depend on data")
		})
	}
}

// traceGenerator has a generator make IDs with its keys undefined. Its raw values are public: what is left of a second
// and of a lease decides what it does next. Inspect's fields are secret until the caller has them.
// Each attempt has a new generator, for what one does only once.
func traceGenerator(t *testing.T) {
	start := time.Now().Truncate(time.Second)
	var g *Generator
	var err error
	begin := func() {
		if g, err = New(NewSecret(), Lease{LastNode: MaxNode, Start: start, End: start.Add(24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		valgrind.Hide(g.Cipher().keys()[:])
	}
	ids := make([]ID, 150)
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	valgrind.Trace(t, "Generate", ids, func() {
		begin()
		for i := range ids {
			ids[i], err = g.Generate()
			check(err)
		}
	})
	valgrind.Trace(t, "Fill", ids, func() { begin(); _, err = g.Fill(ids); check(err) })
	valgrind.Trace(t, "Local.Generate", ids, func() {
		begin()
		local := g.Local()
		for i := range ids {
			ids[i], err = local.Generate()
			check(err)
		}
	})
	fields := []Fields{{}}
	if n := valgrind.Reports(func() { fields[0] = g.Cipher().Inspect(ids[0]) }); n > 0 {
		t.Errorf("Inspect: %d reports", n)
	}
	valgrind.Reveal(fields)
	if now := time.Now(); fields[0].Time.Before(start) || fields[0].Time.After(now) {
		t.Errorf("made at %v, want %v to %v", fields[0].Time, start, now)
	}
}

// TestPlantedLeaks is the negative control: a branch and an address that depend on a secret are reported, and so is how
// a secret with several keys decrypts, whose time tells the key.
func TestPlantedLeaks(t *testing.T) {
	key := [16]byte{1}
	valgrind.Hide(key[:])
	keys := expandKey(&key)
	r := ring{{keys, 0}, {keys, 1 << 60}}
	var table [256]uint64
	var sum uint64
	for name, leak := range map[string]func(){
		"branch": func() {
			if encryptBlock(keys, 5)&1 == 1 {
				sum++
			}
		},
		"address":      func() { sum += table[uint8(encryptBlock(keys, 5))] },
		"several keys": func() { sum += r.decrypt(5) },
	} {
		if valgrind.Reports(leak) == 0 {
			t.Errorf("%s: not reported", name)
		}
	}
}
