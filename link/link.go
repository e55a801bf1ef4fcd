// Package link makes texts of IDs that nobody can guess or forge, for links that open without a
// login, such as those to a receipt.
//
// An ID alone proves nothing: any 64-bit value could be one. A link's text is the ID and its
// message authentication code (MAC), in 26 digits, so whoever knows it can open that one thing and
// nothing else:
//
//	receipts := link.New(secret, "receipt")              // the secret of the IDs
//	url := "https://example.com/r/" + receipts.Text(id)  // .../r/jvgoe12ccb8gh6ir7vlf49ddmp
//	id, err := receipts.Verify(r.PathValue("text"))      // link.ErrForged, or randflake.ErrInvalidID
//
// Anyone who sees a link can open it: browsers, proxies and logs keep URLs, and chats fetch them.
// So use links to show something, and require a login to change it. A link does not expire: keep
// the time at which it does, and whether it was revoked, in the row that the ID leads to.
//
// # Format
//
// A text is that of the ID, and 13 base32hex digits of the MAC, in lower case, with leading zeros.
// The MAC is the first 8 bytes, big-endian, of HMAC-SHA-256 (RFC 2104) of the ID's 8 bytes,
// little-endian. Its key is Derive("link\x00"+purpose, 1) of the secret: 16 bytes of HKDF-SHA-256,
// so that the MAC's key reveals nothing about the secret, and one secret is all there is to keep.
// Unlike AES, HMAC-SHA-256 of the standard library takes constant time on every processor; it makes
// or verifies a link in about a microsecond.
//
// # How hard a forgery is
//
// HMAC is a pseudorandom function, so an attacker can't do better than guess. One try succeeds with
// a probability of 2^-64, whatever other links the attacker has seen: on average after 292,000
// years at 1,000,000 tries a second, and for all IDs together. RFC 2104 (section 5) advises 80 bits
// or more; 64 are enough here because only a program that has the secret can tell whether a try is
// right. So count the errors that are [ErrForged], and refuse a client that causes more than a few
// a minute. Where that is not possible, store 128 random bits beside the row.
package link

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/hidden"
	"github.com/randflake/randflake/internal/idtext"
)

// length is the number of characters of a text.
const length = 2 * digits

const digits = 13 // of an ID, and as many of its MAC

var values = idtext.Values(idtext.Base32hex)

// ErrForged says that a text has the form of a link's, but the wrong MAC: somebody made it up or
// changed it, or it is of another purpose or secret. It wraps randflake.ErrInvalidID.
var ErrForged = fmt.Errorf("%w: a link with the wrong MAC: forged, or of another purpose or secret", randflake.ErrInvalidID)

// A Signer makes and verifies the texts of links for one purpose. It is safe for concurrent use.
type Signer struct {
	macs hidden.Pointer[sync.Pool] // of *mac
}

// A mac makes MACs under a key. What it needs for one is in it, so that nothing is allocated.
type mac struct {
	hash hash.Hash
	id   [8]byte
	sum  [sha256.Size]byte
}

// of returns the MAC of an ID, which is good until the next call.
func (m *mac) of(id randflake.ID) []byte {
	binary.LittleEndian.PutUint64(m.id[:], uint64(id))
	m.hash.Reset()
	m.hash.Write(m.id[:])
	return m.hash.Sum(m.sum[:0])[:8]
}

// New returns a Signer with the given secret. The purpose is any text; a link for one is invalid
// for another. New panics on the zero Secret, as randflake.NewCipher does.
func New(secret randflake.Secret, purpose string) *Signer {
	key := hidden.Key(secret.Derive("link\x00"+purpose, 1)).Bytes()[:]
	return &Signer{hidden.To(&sync.Pool{New: func() any { return &mac{hash: hmac.New(sha256.New, key)} }})}
}

// Text returns the text of the link to id. It is always the same for the same ID.
func (s *Signer) Text(id randflake.ID) string {
	var buf [length]byte
	text, _ := id.AppendText(buf[:0])
	sum := s.sign(id)
	for shift := 60; shift >= 0; shift -= 5 {
		text = append(text, idtext.Base32hex[sum>>shift&31])
	}
	return string(text)
}

// Verify returns the ID of a text that Text returned. For one with the wrong MAC the error is
// ErrForged, and for one of another form, such as the text of an ID alone, it wraps
// randflake.ErrInvalidID. No error contains the text, which may be that of a link with a typo. How
// long it takes does not depend on the right MAC.
func (s *Signer) Verify(text string) (randflake.ID, error) {
	if len(text) != length {
		return 0, fmt.Errorf("%w: want the %d characters of a link, got %d bytes", randflake.ErrInvalidID, length, len(text))
	}
	id, err := randflake.Parse(text[:digits])
	found, ok := parseMAC(text[digits:])
	if err != nil || !ok {
		return 0, fmt.Errorf("%w: want a link: the 13 digits of an ID and 13 of its MAC, in lower case", randflake.ErrInvalidID)
	}
	var got, want [8]byte
	binary.BigEndian.PutUint64(got[:], found)
	binary.BigEndian.PutUint64(want[:], s.sign(id))
	if !hmac.Equal(got[:], want[:]) {
		return 0, ErrForged
	}
	return id, nil
}

// parseMAC reads the 13 digits of a MAC, of which the first has four bits.
func parseMAC(text string) (sum uint64, ok bool) {
	for i := range len(text) {
		value := values[text[i]]
		if value == idtext.None {
			return 0, false
		}
		sum = sum<<5 | uint64(value)
	}
	return sum, values[text[0]] < 16
}

// Parse reads the text of a link, and also that of an ID alone, for a page that takes either.
// verified tells which, and is false with every error: an ID that is not verified may be guessed,
// so check whether the caller may see it. The errors are those of Verify and of randflake.Parse: a
// link with the wrong MAC never comes back as an ID that is not verified.
func (s *Signer) Parse(text string) (id randflake.ID, verified bool, err error) {
	if len(text) <= digits {
		id, err = randflake.Parse(text)
		return id, false, err
	}
	id, err = s.Verify(text)
	return id, err == nil, err
}

// sign returns the MAC of an ID as a number.
func (s *Signer) sign(id randflake.ID) uint64 {
	pool := s.pool()
	m := pool.Get().(*mac)
	defer pool.Put(m)
	return binary.BigEndian.Uint64(m.of(id))
}

// pool returns the pool of *mac. It panics unless New made s.
func (s *Signer) pool() *sync.Pool {
	if s != nil {
		if pool := s.macs.Get(); pool != nil {
			return pool
		}
	}
	panic("link: no Signer, or the zero one: make one with New")
}
