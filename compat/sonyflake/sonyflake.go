// Package sonyflake is a drop-in for github.com/sony/sonyflake v1.3.0: change the import path to
// github.com/randflake/randflake/compat/sonyflake and nothing else. IDs are the same, and its
// package awsutil works with both. New code should use package snowflake with the layout sonyflake.
// The differences are:
//
//   - All Sonyflakes of one machine ID and StartTime in a process share one generator. Theirs make the same IDs.
//   - [Keep] leases the machine ID. The default is theirs, half of a private or link-local address:
//     containers with the same one make the same IDs. Releases before v1.2.1 have no link-local ones.
//   - A clock that is set, back or forward, has no effect until the process ends. A StartTime before 1970 is an error,
//     and so is a copy of the machine.
package sonyflake

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/compat/internal/worker"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// How many bits the parts of an ID have, from high to low.
const (
	BitLenTime      = 39
	BitLenSequence  = 8
	BitLenMachineID = 16

	unit = 10 * time.Millisecond // of the time
)

// Settings are what New makes a Sonyflake of. All fields can be left out.
type Settings struct {
	StartTime      time.Time              // what times in IDs count from; by default 2014-09-01 UTC
	MachineID      func() (uint16, error) // which no other process may have; by default half of a private or link-local address
	CheckMachineID func(id uint16) (ok bool)
}

// The errors of New, NextID and Compose, which are not wrapped.
var (
	ErrStartTimeAhead   = errors.New("sonyflake: StartTime is in the future")
	ErrNoPrivateAddress = errors.New("sonyflake: this machine has no private or link-local IPv4 address: set MachineID, or call Keep")
	ErrOverTimeLimit    = errors.New("sonyflake: 39 bits of time since StartTime have ended: no more IDs")
	ErrInvalidMachineID = errors.New("sonyflake: CheckMachineID refuses the machine ID")
	ErrInvalidSequence  = errors.New("sonyflake: the sequence number has more than 8 bits")
)

// A Sonyflake makes the IDs of one machine ID. It is safe for concurrent use.
type Sonyflake worker.Worker

// New returns a Sonyflake, or one of the errors above, or that of MachineID. While this process has
// a Sonyflake of [Keep] with the same StartTime, New refuses the machine IDs of its space, but for
// those for which there were Sonyflakes before.
func New(st Settings) (*Sonyflake, error) {
	layout, err := layoutOf(st.StartTime)
	if err != nil {
		return nil, err
	}
	id, err := st.machine()
	switch {
	case err != nil:
		return nil, err
	case st.CheckMachineID != nil && !st.CheckMachineID(id):
		return nil, ErrInvalidMachineID
	}
	w, err := worker.Own(layout, uint32(id))
	return (*Sonyflake)(w), err
}

func (st Settings) machine() (uint16, error) {
	if st.MachineID != nil {
		return st.MachineID()
	}
	return machineOf(net.InterfaceAddrs())
}

// NewSonyflake is New, but returns nil where that returns an error.
func NewSonyflake(st Settings) *Sonyflake {
	sf, _ := New(st)
	return sf
}

// Keep returns a Sonyflake whose machine ID is leased and may change with each window. No two of
// one space make the same ID. Keep leaves out the machine IDs for which this process called New
// before: if n of these are consecutive, it uses up n+1 of each window. But Sonyflakes of New in
// other processes can make the same IDs. start is the StartTime.
// The options are those of snowflake.Leasing. The errors are those of snowflake.Keep, as for a space
// of more than 65,536 nodes.
func Keep(ctx context.Context, space lease.Source, start time.Time, options ...lease.Option) (*Sonyflake, error) {
	layout, err := layoutOf(start)
	if err != nil {
		return nil, err
	}
	w, err := worker.Keep(ctx, space, layout, options)
	return (*Sonyflake)(w), err
}

// Close ends the lease of a Sonyflake of Keep, which makes no more IDs. For one of New it does nothing.
func (sf *Sonyflake) Close() { (*worker.Worker)(sf).Close() }

// layoutOf returns the layout of IDs whose times count from the unit that contains start.
func layoutOf(start time.Time) (*snowflake.Layout, error) {
	switch {
	case start.IsZero():
		start = time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC)
	case start.After(time.Now()):
		return nil, ErrStartTimeAhead
	}
	epoch := start.UTC().Truncate(unit).Format(time.RFC3339Nano)
	return snowflake.ParseLayout("sonyflake: time 39, sequence 8, machine 16; 10ms since " + epoch)
}

// machineOf returns half of the first IPv4 address that is private or link-local.
func machineOf(addresses []net.Addr, err error) (uint16, error) {
	for _, address := range addresses {
		network, ok := address.(*net.IPNet)
		if !ok {
			continue
		}
		ip := network.IP.To4()
		if ip.IsPrivate() || ip.IsLinkLocalUnicast() {
			return binary.BigEndian.Uint16(ip[2:]), nil
		}
	}
	return 0, cmp.Or(err, ErrNoPrivateAddress)
}

// NextID returns a new ID, for which it waits if need be, or ErrOverTimeLimit, or an error of
// package snowflake, as after Close.
func (sf *Sonyflake) NextID() (uint64, error) {
	id, err := (*worker.Worker)(sf).Next()
	if errors.Is(err, randflake.ErrEndOfLife) {
		return 0, ErrOverTimeLimit
	}
	return uint64(id), err
}

// The parts of an ID. ElapsedTime is how long after StartTime it was made.
func ElapsedTime(id uint64) time.Duration { return time.Duration(units(id)) * unit }
func SequenceNumber(id uint64) uint64     { return id >> BitLenMachineID & (1<<BitLenSequence - 1) }
func MachineID(id uint64) uint64          { return id & (1<<BitLenMachineID - 1) }

func units(id uint64) uint64 { return id >> (BitLenSequence + BitLenMachineID) }

// Compose returns the ID that a machine makes at a time with a sequence number, by the StartTime of sf. The error is
// ErrStartTimeAhead if t is before that, ErrOverTimeLimit if it is beyond 39 bits, or ErrInvalidSequence.
func Compose(sf *Sonyflake, t time.Time, sequence, machineID uint16) (uint64, error) {
	start := (*worker.Worker)(sf).Layout().Epoch()
	elapsed := (t.UnixMilli() - start.UnixMilli()) / unit.Milliseconds()
	switch {
	case t.Before(start):
		return 0, ErrStartTimeAhead
	case elapsed >= 1<<BitLenTime:
		return 0, ErrOverTimeLimit
	case sequence >= 1<<BitLenSequence:
		return 0, ErrInvalidSequence
	}
	return uint64(elapsed)<<(BitLenSequence+BitLenMachineID) | uint64(sequence)<<BitLenMachineID | uint64(machineID), nil
}

// Decompose returns an ID and its parts, with the time in units of 10 ms.
func Decompose(id uint64) map[string]uint64 {
	return map[string]uint64{
		"id":         id,
		"msb":        id >> 63,
		"time":       units(id),
		"sequence":   SequenceNumber(id),
		"machine-id": MachineID(id),
	}
}
