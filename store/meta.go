package store

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// earliest is the Unix second of 2024-10-27: a clock that shows an earlier time is wrong.
const earliest = 1730000000

// farthest is the last second of the year 9999; no stored second may lie beyond it.
const farthest = 253402300799

// A Meta is the record of a space itself, beside the entries of its protocol. Every Swap expects it unchanged.
type Meta struct {
	Format      int    `json:"format"`      // of the space's entries, up to the constant Format
	Incarnation string `json:"incarnation"` // random; distinguishes this space from a later one with the same name

	// Predecessor is the incarnation that this one replaced, once the floor was set for that loss.
	Predecessor string `json:"predecessor,omitempty"`

	MaxTTL  int64 `json:"maxTTL"`  // seconds
	MaxSkew int64 `json:"maxSkew"` // seconds

	// Floor is the first second that may be granted after a loss of data, or 0. All forgotten grants end before it.
	Floor int64 `json:"floor,omitempty"`

	// Losses counts how often the floor was set, and LossID is random and new each time.
	Losses uint64 `json:"losses,omitempty"`
	LossID string `json:"lossID,omitempty"`

	Lineage string    `json:"lineage"`         // of the data when the floor was last set, or the space created
	Check   Keys      `json:"check,omitempty"` // of the secret that the space is bound to
	Barred  *Interval `json:"barred,omitzero"` // seconds that are never granted again; see Space.ForgiveClock

	// Failover is the second before which another Lineage sets no floor, once; see Space.PlanFailover.
	Failover int64 `json:"failover,omitempty"`

	// Moved says where the space was moved to; nothing changes here any more.
	Moved string `json:"moved,omitempty"`

	// Ended says which counters were removed and are never made again; see Space.End.
	Ended []Ended `json:"ended,omitempty"`

	// Changes counts the versions of this Meta.
	Changes uint64 `json:"changes"`

	// Body is the protocol's own.
	Body json.RawMessage `json:"body,omitempty"`
}

// An Interval is the seconds From <= second < To.
type Interval struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Has reports whether second lies in i, which may be nil.
func (i *Interval) Has(second int64) bool { return i != nil && i.From <= second && second < i.To }

// Limits returns the limits of the space.
func (m *Meta) Limits() Limits {
	return Limits{MaxTTL: time.Duration(m.MaxTTL) * time.Second, MaxSkew: time.Duration(m.MaxSkew) * time.Second}
}

func (m *Meta) setLimits(l Limits) { m.MaxTTL, m.MaxSkew = l.TTL(), l.Skew() }

func (m *Meta) encode() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // a protocol's Body that is not JSON
	}
	return b
}

func decodeMeta(value []byte) (*Meta, error) {
	m := new(Meta)
	var is struct{ Format int }
	if json.Unmarshal(value, &is) == nil && is.Format > Format { // before fields that only later formats have
		return nil, newer(is.Format)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("entry %s: %w", metaName, err)
	}
	const most = math.MaxInt64 / int64(time.Second)
	switch {
	case d.More():
		return nil, errors.New("more than one JSON value")
	case m.Format < 1:
		return nil, fmt.Errorf("format is %d", m.Format)
	case m.Incarnation == "" || m.Changes == 0:
		return nil, errors.New("no incarnation, or no changes")
	case m.MaxTTL > most || m.MaxSkew > most:
		return nil, fmt.Errorf("limits of %d and %d seconds", m.MaxTTL, m.MaxSkew)
	case m.Floor < 0 || m.Floor > farthest:
		return nil, fmt.Errorf("floor is second %d", m.Floor)
	}
	return m, m.Limits().Check()
}

// newToken returns 128 random bits.
func newToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its contract
	return fmt.Sprintf("%x", b)
}

// An Item is an entry of a protocol.
type Item struct {
	Name string

	// Second is the time when the item was put, or shortly before, by the clock of the process that put it. After a loss
	// of data, a clock that shows less than the newest known Second is slow.
	Second int64

	Body []byte // nil where there is no such item

	value []byte // as the engine has it
}

// encode returns the item as the engine has it, or nil if it is to be removed: from format 2 on after the number of the format and a colon.
func (i Item) encode(format int) (value []byte) {
	if i.Body == nil {
		return nil
	}
	if format > 1 {
		value = append(strconv.AppendInt(value, int64(format), 10), ':')
	}
	return append(append(strconv.AppendInt(value, i.Second, 10), ' '), i.Body...)
}

func decodeItem(name string, value []byte) (Item, error) {
	item := Item{Name: name, value: value}
	if value == nil {
		return item, nil
	}
	second, body, found := bytes.Cut(value, []byte{' '})
	if format, rest, found := bytes.Cut(second, []byte{':'}); found {
		n, err := strconv.Atoi(string(format))
		if err == nil && n > Format {
			return item, newer(n)
		}
		if err == nil && n > 1 {
			second = rest
		}
	}
	n, err := strconv.ParseInt(string(second), 10, 64)
	if !found || err != nil || n < 0 || n > farthest {
		return item, fmt.Errorf("entry %s is %.60q: %w: it does not begin with a second", name, value, ErrCorrupt)
	}
	item.Second, item.Body = n, body
	return item, nil
}
