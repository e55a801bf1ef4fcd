package filestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// The state file, all numbers big-endian, times in Unix seconds and spans in seconds:
//
//	 0  8  "RFLEASES"
//	 8  4  format version, 1
//	12  4  number of records, n
//	16 16  incarnation, random, not zero
//	32  8  revision, from 1, one more at each write
//	40  8  rules: MaxTTL
//	48  8  rules: MaxSkew
//	56  8  no lease starts before this second; 0 for no bound
//	64 48n records, ordered by first node
//	    32 SHA-256 of everything before
//
// and each record:
//
//	 0  4  first node
//	 4  4  last node
//	 8 16  owner, zero for none
//	24  8  version, from 1
//	32  8  start
//	40  8  high-water mark
const (
	magic         = "RFLEASES"
	formatVersion = 1
	headerSize    = 64
	recordSize    = 48
	sumSize       = sha256.Size
	maxSize       = headerSize + recordSize*(randflake.MaxNode+1) + sumSize
)

// A state is all that a store knows.
type state struct {
	incarnation [16]byte
	revision    uint64
	rules       lease.Rules
	notBefore   int64
	records     []lease.Record // ordered by FirstNode, no node in two of them

	sum [sumSize]byte // of the file that the state was read from; not a part of it
}

// find returns the record of held's range, or the zero Record, which nobody holds.
func (st *state) find(held lease.Record) lease.Record {
	i, ok := st.search(held.FirstNode)
	if !ok || st.records[i].LastNode != held.LastNode {
		return lease.Record{}
	}
	return st.records[i]
}

// put stores rec, in place of the one of the same range if there is one.
func (st *state) put(rec lease.Record) {
	i, ok := st.search(rec.FirstNode)
	if ok {
		st.records[i] = rec
		return
	}
	st.records = slices.Insert(st.records, i, rec)
}

func (st *state) search(firstNode uint32) (int, bool) {
	return slices.BinarySearchFunc(st.records, firstNode, func(r lease.Record, first uint32) int {
		return int(r.FirstNode) - int(first)
	})
}

// distrust sets the floor, before which all that may have been forgotten by now has ended. It never
// lowers it.
func (st *state) distrust(now int64) error {
	notBefore, err := setup.Floor(st.rules, now)
	if err != nil {
		return err
	}
	st.notBefore = max(st.notBefore, notBefore)
	return nil
}

func sumOf(encoded []byte) [sumSize]byte {
	return [sumSize]byte(encoded[len(encoded)-sumSize:])
}

// encode returns the content of the state file.
func encode(st state) []byte {
	b := make([]byte, 0, headerSize+recordSize*len(st.records)+sumSize)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, formatVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(st.records)))
	b = append(b, st.incarnation[:]...)
	b = binary.BigEndian.AppendUint64(b, st.revision)
	b = binary.BigEndian.AppendUint64(b, uint64(st.rules.MaxTTL/time.Second))
	b = binary.BigEndian.AppendUint64(b, uint64(st.rules.MaxSkew/time.Second))
	b = binary.BigEndian.AppendUint64(b, uint64(st.notBefore))
	for _, r := range st.records {
		b = binary.BigEndian.AppendUint32(b, r.FirstNode)
		b = binary.BigEndian.AppendUint32(b, r.LastNode)
		b = append(b, r.Owner[:]...)
		b = binary.BigEndian.AppendUint64(b, r.Version)
		b = binary.BigEndian.AppendUint64(b, uint64(r.Start))
		b = binary.BigEndian.AppendUint64(b, uint64(r.HighWater))
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decode reads what encode wrote, and nothing else: each content that it accepts is the encoding
// of the state that it returns. Errors say what is wrong.
func decode(b []byte) (state, error) {
	switch {
	case len(b) < headerSize+sumSize:
		return state{}, fmt.Errorf("%d bytes, too short for a state file", len(b))
	case string(b[:8]) != magic:
		return state{}, fmt.Errorf("starts with %q, not with %q", b[:8], magic)
	case binary.BigEndian.Uint32(b[8:]) != formatVersion:
		return state{}, fmt.Errorf("format version %d, this program knows %d", binary.BigEndian.Uint32(b[8:]), formatVersion)
	}
	count := binary.BigEndian.Uint32(b[12:])
	if count > randflake.MaxNode+1 {
		return state{}, fmt.Errorf("%d records, more than there are nodes", count)
	}
	if want := headerSize + recordSize*int(count) + sumSize; len(b) != want {
		return state{}, fmt.Errorf("%d bytes, %d records take %d", len(b), count, want)
	}
	body := b[:len(b)-sumSize]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], b[len(body):]) {
		return state{}, errors.New("checksum does not match")
	}
	st := state{sum: sumOf(b)}
	if err := st.decodeHeader(body[:headerSize]); err != nil {
		return state{}, err
	}
	st.records = make([]lease.Record, 0, count)
	for body = body[headerSize:]; len(body) > 0; body = body[recordSize:] {
		if err := st.decodeRecord(body[:recordSize]); err != nil {
			return state{}, err
		}
	}
	return st, nil
}

func (st *state) decodeHeader(b []byte) error {
	st.incarnation = [16]byte(b[16:])
	st.revision = binary.BigEndian.Uint64(b[32:])
	maxTTL, maxSkew := binary.BigEndian.Uint64(b[40:]), binary.BigEndian.Uint64(b[48:])
	st.notBefore = int64(binary.BigEndian.Uint64(b[56:]))
	const most = math.MaxInt64 / uint64(time.Second)
	switch {
	case st.incarnation == [16]byte{}:
		return errors.New("no incarnation")
	case st.revision == 0:
		return errors.New("no revision")
	case maxTTL > most || maxSkew > most:
		return fmt.Errorf("rules allow %d and %d seconds, %d is the most", maxTTL, maxSkew, most)
	case st.notBefore < 0 || st.notBefore > randflake.MaxTimestamp:
		return fmt.Errorf("no lease before second %d, beyond the format's end", st.notBefore)
	}
	st.rules = lease.Rules{MaxTTL: time.Duration(maxTTL) * time.Second, MaxSkew: time.Duration(maxSkew) * time.Second}
	return st.rules.Check()
}

// decodeRecord appends a record, which must make sense and follow the one before.
func (st *state) decodeRecord(b []byte) error {
	r := lease.Record{
		FirstNode: binary.BigEndian.Uint32(b),
		LastNode:  binary.BigEndian.Uint32(b[4:]),
		Owner:     lease.Owner(b[8:24]),
		Version:   binary.BigEndian.Uint64(b[24:]),
		Start:     int64(binary.BigEndian.Uint64(b[32:])),
		HighWater: int64(binary.BigEndian.Uint64(b[40:])),
	}
	n := len(st.records)
	switch {
	case r.FirstNode > r.LastNode || r.LastNode > randflake.MaxNode:
		return fmt.Errorf("record %d: nodes %d to %d are no range", n, r.FirstNode, r.LastNode)
	case n > 0 && r.FirstNode <= st.records[n-1].LastNode:
		return fmt.Errorf("record %d: first node %d, the record before goes to %d", n, r.FirstNode, st.records[n-1].LastNode)
	case r.Version == 0:
		return fmt.Errorf("record %d: no version", n)
	case r.Start < randflake.Epoch || r.Start > randflake.MaxTimestamp:
		return fmt.Errorf("record %d: start %d is outside the format", n, r.Start)
	case r.HighWater < r.Start-1 || r.HighWater > randflake.MaxTimestamp:
		return fmt.Errorf("record %d: high-water mark %d, start %d, format's end %d", n, r.HighWater, r.Start, randflake.MaxTimestamp)
	}
	st.records = append(st.records, r)
	return nil
}
