// Package ff1 encrypts small numbers to numbers of the same size. Six digits become six digits, and
// different numbers stay different. It implements FF1 of NIST SP 800-38G: format-preserving
// encryption by ten rounds of a Feistel network over AES.
//
//	c, err := ff1.New(block, 10, 6, []byte("orders")) // block is AES under a key of its own
//	shown := c.Encrypt(42)                            // some number of up to six digits
//	n := c.Decrypt(shown)                             // 42
//
// A [Cipher] is a permutation of the numbers from 0 to radix^length-1, one for each key and tweak.
// The tweak need not be secret: it gives each use a permutation of its own. A number stands for its
// numerals, most significant first, so the result is FF1 of these numerals. A number has up to 64
// bits, so there are at most 19 decimal digits; in two halves it has up to 126 bits.
//
// # Security
//
// As revision 1 of the standard demands, radix^length is at least a million. In a smaller range, an
// attacker who sees many pairs of a number and its encryption can compute the others. In larger
// ranges that takes very many pairs, in the order of the range. FF1 hides how many numbers there
// are and which comes next. It does not sign them, and is not fit for storing passwords.
//
// Neither the branches taken nor the memory addresses read depend on the numbers or the key. AES is
// crypto/aes, which runs in constant time if the CPU has instructions for it. Unless the radix is a
// power of two, each round computes a remainder, which takes longer for larger dividends on some CPUs.
// The time may reveal something about one round's dividend, but nothing about the AES key.
package ff1

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
)

// ErrInvalidDomain says that numbers of the given radix and length can't be encrypted. The error
// that wraps it says what was expected.
var ErrInvalidDomain = errors.New("ff1: invalid domain")

// minDomain is the least radix^length of FF1, by section 5.1 of SP 800-38G, revision 1.
const minDomain = 1_000_000

const rounds = 10

// A Cipher is FF1 under one key, for numbers of one radix and length, with one tweak. It is safe
// for concurrent use. The comments on its fields have the standard's names.
type Cipher struct {
	encryptAES  func(dst, src []byte) // a func, as printers would show the keys of a cipher.Block
	domain      uint64                // radix^length, or 0 if that has more than 64 bits
	left, right uint64                // radix^u and radix^v: how many numbers each half has room for
	numberBytes int                   // b: how many bytes the right half has
	wide        bool                  // d is 12 instead of 8
	binary      bool                  // left and right are powers of two, as radix is

	// mac is the CBC-MAC of P || Q up to the last block of Q, xored with that block. The last 1+b bytes
	// of the block are missing: a round's number, and the half that it does not change.
	mac [16]byte
}

// New returns the cipher for numbers of length numerals in the given radix, 2 to 65,536. block must
// be AES, with a key of any size that is used for nothing else. If radix^length is less than
// 1,000,000, or half of the numerals have room for more than 2^63 numbers, the error wraps
// [ErrInvalidDomain].
func New(block cipher.Block, radix, length int, tweak []byte) (*Cipher, error) {
	if block.BlockSize() != 16 {
		return nil, fmt.Errorf("ff1: cipher with blocks of %d bytes: want AES", block.BlockSize())
	}
	if radix < 2 || radix > 1<<16 {
		return nil, fmt.Errorf("%w: radix %d: want 2 to 65536", ErrInvalidDomain, radix)
	}
	u := length / 2
	v := length - u
	left, _ := power(radix, u)
	right, fits := power(radix, v)
	if !fits || right > 1<<63 {
		return nil, fmt.Errorf("%w: radix %d, length %d: want at most 2^63 numbers of %d numerals",
			ErrInvalidDomain, radix, length, v)
	}
	high, domain := bits.Mul64(left, right)
	if high == 0 && domain < minDomain {
		return nil, fmt.Errorf("%w: radix %d, length %d: that is %d numbers: "+
			"want at least %d (NIST SP 800-38G, revision 1), which more numerals give",
			ErrInvalidDomain, radix, length, domain, minDomain)
	}
	if high > 0 {
		domain = 0
	}
	numberBytes := (bits.Len64(right-1) + 7) / 8
	return &Cipher{
		encryptAES:  block.Encrypt,
		domain:      domain,
		left:        left,
		right:       right,
		numberBytes: numberBytes,
		wide:        numberBytes > 4,
		binary:      bits.OnesCount(uint(radix)) == 1,
		mac:         macOf(block, radix, length, tweak, numberBytes),
	}, nil
}

// macOf returns the mac of a Cipher. P and Q are those of algorithms 7 and 8, steps 5 and 6i.
func macOf(block cipher.Block, radix, length int, tweak []byte, numberBytes int) (mac [16]byte) {
	p := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), rounds, byte(length / 2)}
	p = binary.BigEndian.AppendUint32(p, uint32(length))
	p = binary.BigEndian.AppendUint32(p, uint32(len(tweak)))
	q := append(p, tweak...)
	for (len(q)+1+numberBytes)%16 != 0 {
		q = append(q, 0)
	}
	q = append(q, make([]byte, 1+numberBytes)...)
	for len(q) > 16 {
		subtle.XORBytes(mac[:], mac[:], q)
		block.Encrypt(mac[:], mac[:])
		q = q[16:]
	}
	subtle.XORBytes(mac[:], mac[:], q)
	return mac
}

// power returns radix^n, and whether it fits 64 bits.
func power(radix, n int) (product uint64, fits bool) {
	product = 1
	for range n {
		high, next := bits.Mul64(product, uint64(radix))
		if high != 0 {
			return 0, false
		}
		product = next
	}
	return product, true
}

// Domain returns how many numbers there are: radix^length, or 0 if that has more than 64 bits.
func (c *Cipher) Domain() uint64 { return c.domain }

// Encrypt returns the number that stands for n. It panics unless n is less than Domain. If Domain is
// 0 it always panics: use EncryptHalves.
func (c *Cipher) Encrypt(n uint64) uint64 {
	c.check(n)
	high, low := c.EncryptHalves(n/c.right, n%c.right)
	return high*c.right + low
}

// Decrypt returns the number that n stands for. It panics as Encrypt does.
func (c *Cipher) Decrypt(n uint64) uint64 {
	c.check(n)
	high, low := c.DecryptHalves(n/c.right, n%c.right)
	return high*c.right + low
}

func (c *Cipher) check(n uint64) {
	if n >= c.domain {
		panic(fmt.Sprintf("ff1: number %d: want less than %d", n, c.domain))
	}
}

// EncryptHalves is Encrypt for a number in two halves, as 64 bits may be too few for it. high has
// the first length/2 numerals, and low the others. It panics if a half is too large.
//
// It is algorithm 7 of SP 800-38G, FF1.Encrypt, on the numbers of the halves. The standard calls
// them A and B, and swaps these names in each round. Here a and b stay: even rounds change a, and
// odd ones b.
func (c *Cipher) EncryptHalves(high, low uint64) (uint64, uint64) {
	c.checkHalves(high, low)
	r := blocks.Get().(*[16]byte)
	a, b := high, low
	for i := byte(0); i < rounds; i += 2 {
		a = add(a, c.round(r, i, b, c.left), c.left)
		b = add(b, c.round(r, i+1, a, c.right), c.right)
	}
	blocks.Put(r)
	return a, b
}

// DecryptHalves is Decrypt for a number in two halves, as EncryptHalves has them: algorithm 8,
// FF1.Decrypt.
func (c *Cipher) DecryptHalves(high, low uint64) (uint64, uint64) {
	c.checkHalves(high, low)
	r := blocks.Get().(*[16]byte)
	a, b := high, low
	for i := byte(rounds); i > 0; i -= 2 {
		b = add(b, c.right-c.round(r, i-1, a, c.right), c.right)
		a = add(a, c.left-c.round(r, i-2, b, c.left), c.left)
	}
	blocks.Put(r)
	return a, b
}

func (c *Cipher) checkHalves(high, low uint64) {
	if high >= c.left || low >= c.right {
		panic(fmt.Sprintf("ff1: number in halves of %d and %d: want less than %d and %d",
			high, low, c.left, c.right))
	}
}

// round returns y of round i, modulo radix^m: the first d bytes of PRF(P || Q) as a number. number
// is the half that the round does not change.
func (c *Cipher) round(r *[16]byte, i byte, number, modulus uint64) uint64 {
	*r = c.mac
	r[15-c.numberBytes] ^= i
	// number has at most numberBytes bytes, so this leaves the round in its place.
	binary.BigEndian.PutUint64(r[8:], binary.BigEndian.Uint64(r[8:])^number)
	c.encryptAES(r[:], r[:])
	high, low := uint64(0), binary.BigEndian.Uint64(r[:])
	if c.wide {
		high, low = uint64(binary.BigEndian.Uint32(r[:])), binary.BigEndian.Uint64(r[4:])
	}
	if c.binary {
		return low & (modulus - 1) // a division would take as long as AES
	}
	return bits.Rem64(high, low, modulus)
}

// add returns a+b modulo m, which is at most 2^63. The sum is less than 2m. No branch depends on it.
func add(a, b, m uint64) uint64 {
	sum, borrow := bits.Sub64(a+b, m, 0)
	return sum + m&-borrow
}

// blocks holds buffers for a round's block. A local buffer would be allocated on the heap at each
// call, as the compiler can't know what a cipher.Block does with the buffer.
var blocks = sync.Pool{New: func() any { return new([16]byte) }}
