package etcdstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// Values, all numbers big-endian, times in Unix seconds and spans in seconds. The meta:
//
//	 0  4  "RFm" and the format version, 1
//	 4 16  incarnation, random, not zero
//	20  8  rules: MaxTTL
//	28  8  rules: MaxSkew
//	36  8  no lease starts before this second; 0 for no bound
//	44  8  id of the cluster that the store lives in
//	52  8  the first bytes of the SHA-256 of everything before
//
// and a record:
//
//	 0  4  "RFr" and the format version, 1
//	 4  4  first node
//	 8  4  last node
//	12 16  owner, zero for none
//	28  8  version, from 1
//	36  8  start
//	44  8  high-water mark
//	52  8  the first bytes of the SHA-256 of everything before
const (
	metaMagic   = "RFm\x01"
	recordMagic = "RFr\x01"
	valueSize   = 60
	sumSize     = 8
)

// A meta is what a store knows beside its records.
type meta struct {
	setup.Meta
	Cluster uint64 // id of the cluster that the store lives in
}

func encodeMeta(m meta) string {
	b := make([]byte, 0, valueSize)
	b = append(b, metaMagic...)
	b = append(b, m.Incarnation[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Rules.MaxTTL/time.Second))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Rules.MaxSkew/time.Second))
	b = binary.BigEndian.AppendUint64(b, uint64(m.NotBefore))
	b = binary.BigEndian.AppendUint64(b, m.Cluster)
	return seal(b)
}

func encodeRecord(r lease.Record) string {
	b := make([]byte, 0, valueSize)
	b = append(b, recordMagic...)
	b = binary.BigEndian.AppendUint32(b, r.FirstNode)
	b = binary.BigEndian.AppendUint32(b, r.LastNode)
	b = append(b, r.Owner[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Version)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Start))
	b = binary.BigEndian.AppendUint64(b, uint64(r.HighWater))
	return seal(b)
}

func seal(b []byte) string {
	sum := sha256.Sum256(b)
	return string(append(b, sum[:sumSize]...))
}

// unseal checks what frames every value.
func unseal(b []byte, magic string) error {
	switch name := len(magic) - 1; {
	case len(b) != valueSize:
		return fmt.Errorf("%d bytes, want %d", len(b), valueSize)
	case string(b[:name]) != magic[:name]:
		return fmt.Errorf("starts with %q, not with %q", b[:name], magic[:name])
	case b[name] != magic[name]:
		return fmt.Errorf("format version %d, this program knows %d", b[name], magic[name])
	}
	body := b[:valueSize-sumSize]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:sumSize], b[len(body):]) {
		return errors.New("checksum does not match")
	}
	return nil
}

// decodeMeta reads what encodeMeta wrote, and nothing else: a value that it accepts is the
// encoding of what it returns. So does decodeRecord. Errors say what is wrong.
func decodeMeta(b []byte) (meta, error) {
	if err := unseal(b, metaMagic); err != nil {
		return meta{}, err
	}
	var m meta
	m.Incarnation = [16]byte(b[4:])
	maxTTL, maxSkew := binary.BigEndian.Uint64(b[20:]), binary.BigEndian.Uint64(b[28:])
	m.NotBefore = int64(binary.BigEndian.Uint64(b[36:]))
	m.Cluster = binary.BigEndian.Uint64(b[44:])
	const most = math.MaxInt64 / uint64(time.Second)
	switch {
	case m.Incarnation == [16]byte{}:
		return meta{}, errors.New("no incarnation")
	case maxTTL > most || maxSkew > most:
		return meta{}, fmt.Errorf("rules allow %d and %d seconds, %d is the most", maxTTL, maxSkew, most)
	case m.NotBefore < 0 || m.NotBefore > randflake.MaxTimestamp:
		return meta{}, fmt.Errorf("no lease before second %d, beyond the format's end", m.NotBefore)
	}
	m.Rules = lease.Rules{MaxTTL: time.Duration(maxTTL) * time.Second, MaxSkew: time.Duration(maxSkew) * time.Second}
	return m, m.Rules.Check()
}

func decodeRecord(b []byte) (lease.Record, error) {
	if err := unseal(b, recordMagic); err != nil {
		return lease.Record{}, err
	}
	r := lease.Record{
		FirstNode: binary.BigEndian.Uint32(b[4:]),
		LastNode:  binary.BigEndian.Uint32(b[8:]),
		Owner:     lease.Owner(b[12:28]),
		Version:   binary.BigEndian.Uint64(b[28:]),
		Start:     int64(binary.BigEndian.Uint64(b[36:])),
		HighWater: int64(binary.BigEndian.Uint64(b[44:])),
	}
	switch {
	case !isRange(r):
		return lease.Record{}, fmt.Errorf("nodes %d to %d are no range", r.FirstNode, r.LastNode)
	case r.Version == 0:
		return lease.Record{}, errors.New("no version")
	case r.Start < randflake.Epoch || r.Start > randflake.MaxTimestamp:
		return lease.Record{}, fmt.Errorf("start %d is outside the format", r.Start)
	case r.HighWater < r.Start-1 || r.HighWater > randflake.MaxTimestamp:
		return lease.Record{}, fmt.Errorf("high-water mark %d, start %d, format's end %d", r.HighWater, r.Start, randflake.MaxTimestamp)
	}
	return r, nil
}
