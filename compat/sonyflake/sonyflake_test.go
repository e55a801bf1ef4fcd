package sonyflake

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/snowflake"
)

func machine(id uint16) func() (uint16, error) { return func() (uint16, error) { return id, nil } }

var machines atomic.Uint32

// newMachine returns a machine ID that no other test has, nor this one when it runs again: a machine
// ID stays the process's own.
func newMachine() uint16 { return 1000 + uint16(machines.Add(1)) }

var errNoID = errors.New("no ID")

func TestNew(t *testing.T) {
	failing := func() (uint16, error) { return 1, errNoID }
	only5 := func(id uint16) bool { return id == 5 }
	for _, tt := range []struct {
		Settings
		err error
	}{
		{Settings{MachineID: machine(5)}, nil},
		{Settings{MachineID: machine(65535), StartTime: time.Now()}, nil},
		{Settings{MachineID: machine(5), CheckMachineID: only5}, nil},
		{Settings{MachineID: machine(6), CheckMachineID: only5}, ErrInvalidMachineID},
		{Settings{MachineID: failing, CheckMachineID: only5}, errNoID},
		{Settings{MachineID: machine(5), StartTime: time.Now().Add(time.Minute)}, ErrStartTimeAhead},
		{Settings{MachineID: machine(5), StartTime: time.UnixMilli(-1)}, snowflake.ErrInvalidLayout},
	} {
		sf, err := New(tt.Settings)
		require.That(t, errors.Is(err, tt.err) && (sf == nil) == (err != nil) && (NewSonyflake(tt.Settings) == nil) == (err != nil),
			"%+v: %v, %v, want %v", tt.Settings, sf, err, tt.err)
	}
}

func TestMachineOf(t *testing.T) {
	network := func(text string) net.Addr { return &net.IPNet{IP: net.ParseIP(text), Mask: net.CIDRMask(8, 32)} }
	for name, tt := range map[string]struct {
		addresses []net.Addr
		failure   error
		want      uint16
		err       error
	}{
		"the first": {[]net.Addr{network("10.1.2.3"), network("10.1.2.4")}, nil, 0x0203, nil},
		"not public": {[]net.Addr{network("127.0.0.1"), network("8.8.8.8"), network("fd00::1"), &net.UnixAddr{}, network("192.168.255.1")},
			nil, 0xff01, nil},
		"link-local": {[]net.Addr{network("fe80::1"), network("169.253.0.1"), network("169.254.3.4"), network("10.1.2.3")}, nil, 0x0304, nil},
		"no private": {[]net.Addr{network("172.15.0.1"), network("172.32.0.1")}, nil, 0, ErrNoPrivateAddress},
		"failure":    {nil, errNoID, 0, errNoID},
	} {
		id, err := machineOf(tt.addresses, tt.failure)
		require.That(t, id == tt.want && err == tt.err, "%s: %#x, %v, want %#x, %v", name, id, err, tt.want, tt.err)
	}
	id, err := machineOf(net.InterfaceAddrs())
	_, newErr := New(Settings{CheckMachineID: func(is uint16) bool { return is == id }})
	require.That(t, newErr == err, "New by default: %v, want %v and machine ID %d", newErr, err, id)
}

func TestDecompose(t *testing.T) {
	const id = 1<<63 | 0x123456<<24 | 0xab<<16 | 0xcdef
	want := map[string]uint64{"id": id, "msb": 1, "time": 1<<39 | 0x123456, "sequence": 0xab, "machine-id": 0xcdef}
	got := Decompose(id)
	require.That(t, maps.Equal(got, want), "%v, want %v", got, want)
	require.Equal(t, ElapsedTime(0x123456<<24), 0x123456*10*time.Millisecond, "made after")
}

func TestCompose(t *testing.T) {
	start := time.Date(2020, 1, 1, 0, 0, 0, 3e6, time.UTC) // within a unit
	sf, err := New(Settings{StartTime: start, MachineID: machine(newMachine())})
	require.NoError(t, err)
	first := start.Truncate(unit)
	end := first.Add(1 << BitLenTime * unit)
	for _, tt := range []struct {
		at       time.Time
		sequence uint16
		want     uint64
		err      error
	}{
		{first, 0, 0x1234, nil},
		{start.Add(unit), 255, 1<<24 | 255<<16 | 0x1234, nil},
		{end.Add(-1).Local(), 7, (1<<BitLenTime-1)<<24 | 7<<16 | 0x1234, nil},
		{first.Add(-1), 0, 0, ErrStartTimeAhead},
		{time.Time{}, 0, 0, ErrStartTimeAhead},
		{end, 0, 0, ErrOverTimeLimit},
		{start, 256, 0, ErrInvalidSequence},
	} {
		id, err := Compose(sf, tt.at, tt.sequence, 0x1234)
		require.That(t, id == tt.want && err == tt.err,
			"at %v, sequence %d: %#x, %v, want %#x, %v", tt.at, tt.sequence, id, err, tt.want, tt.err)
	}
}

// In a bubble, where 256 IDs every 10 ms take no time to wait for. Times begin with the unit of the start.
func TestNextID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Add(-time.Hour - 3*time.Millisecond)
		own := newMachine()
		settings := Settings{StartTime: start, MachineID: machine(own)}
		l := &idtest.Ledger[uint64]{TB: t}
		next := func() (id uint64, err error) {
			sf, err := New(settings) // as where each request makes one
			if err != nil {
				return 0, err
			}
			return sf.NextID()
		}
		first, err := next()
		if err != nil || MachineID(first) != uint64(own) || SequenceNumber(first) != 0 || ElapsedTime(first) != time.Hour+10*time.Millisecond {
			t.Errorf("%v, %v", Decompose(first), err)
		}
		l.Add(first)
		l.AtOnce(200, func(err error) bool {
			if err != nil {
				t.Error(err)
			}
			return err == nil
		}, idtest.One(next))
		took := time.Since(start)
		require.That(t, l.Count() >= 4000 && took >= time.Hour+150*time.Millisecond, "%d IDs after %v", l.Count(), took)
	})
}

// By default times begin with 2014-09-01.
func TestDefaultStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2014, 9, 1, 1, 0, 0, 0, time.UTC)))
		sf, err := New(Settings{MachineID: machine(newMachine())})
		require.NoError(t, err)
		id, err := sf.NextID()
		require.That(t, err == nil && ElapsedTime(id) == time.Hour, "%v, %v, want an hour", Decompose(id), err)
	})
}

func TestNextIDAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sf, err := New(Settings{StartTime: time.Unix(0, 0), MachineID: machine(newMachine())})
		require.NoError(t, err)
		end := time.Unix(0, 0).Add(1 << BitLenTime * unit)
		time.Sleep(time.Until(end) - time.Nanosecond)
		id, err := sf.NextID()
		require.That(t, err == nil && Decompose(id)["time"] == 1<<BitLenTime-1, "at the end: %v, %v", Decompose(id), err)
		time.Sleep(time.Nanosecond)
		id, err = sf.NextID()
		require.That(t, id == 0 && err == ErrOverTimeLimit, "after the end: %d, %v", id, err)
		sf.Close() // which does nothing
	})
}

func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
		spaceOf := func(nodes uint32) *lease.Space {
			space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{Limits: lease.Limits{Nodes: nodes}, NeverUsed: true})
			require.NoError(t, err)
			return space
		}
		space := spaceOf(65536)
		start := time.Unix(1<<30, 0) // which no other test has, as those are not in 2030
		l := &idtest.Ledger[uint64]{TB: t}
		for range 2 {
			sf, err := Keep(t.Context(), space, start, lease.WithLogger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			for range 1000 {
				id, err := sf.NextID()
				require.NoError(t, err)
				l.Add(id)
			}
			_, err = New(Settings{StartTime: start, MachineID: machine(9)})
			require.That(t, err != nil, "New has a machine ID that Keep leases")
			defer func() {
				sf.Close()
				require.Refuses(t, randflake.ErrClosed, "closed")(sf.NextID())
			}()
		}
		_, err := Keep(t.Context(), spaceOf(65537), time.Time{})
		require.That(t, errors.Is(err, snowflake.ErrInvalidLayout) && strings.Contains(err.Error(), "65536 nodes"),
			"too many nodes: %v", err)
		_, err = Keep(t.Context(), space, time.Now().Add(time.Hour))
		require.That(t, err == ErrStartTimeAhead, "a later start: %v", err)
	})
}
