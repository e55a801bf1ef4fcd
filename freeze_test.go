package randflake

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// freezable returns a generator with a lease of a minute from now on, its own clock.
func freezable(t *testing.T, now *time.Time) *Generator {
	t.Helper()
	start := time.Unix(Epoch+1000, 0)
	*now = start
	g, err := New(NewSecret(), Lease{0, 3, start, start.Add(time.Minute)}, WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestFreezeGenerator(t *testing.T) {
	for _, used := range []bool{true, false} {
		var now time.Time
		g := freezable(t, &now)
		start, lastUsed := now, now.Add(-time.Second)
		now = now.Add(10 * time.Second)
		if used {
			lastUsed = now
			if _, err := g.Generate(); err != nil {
				t.Fatal(err)
			}
		}
		issued := g.Issued()
		g.Freeze()
		for _, at := range []time.Duration{0, 9 * time.Second, 10 * time.Second, 11 * time.Second, 50 * time.Second} {
			now = start.Add(at)
			if id, err := g.Generate(); err == nil {
				t.Errorf("used %v, frozen, at %v: made %v", used, at, id)
			}
			if n, err := g.Fill(make([]ID, 3)); n > 0 || err == nil {
				t.Errorf("used %v, frozen, at %v: filled %d", used, at, n)
			}
			if err := g.Ready(); err == nil {
				t.Errorf("used %v, frozen, at %v: ready", used, at)
			}
		}
		if _, err := g.Generate(); err != ErrLeaseEnded {
			t.Errorf("used %v, frozen: error %v, want ErrLeaseEnded", used, err)
		}
		if err := g.Extend(start.Add(time.Hour)); err != ErrLeaseEnded {
			t.Errorf("used %v, frozen: Extend: %v, want ErrLeaseEnded", used, err)
		}
		g.Freeze() // once more changes nothing
		if end := g.Lease().End; end.After(lastUsed.Add(time.Second)) {
			t.Errorf("used %v, frozen: the lease ends at %v, last used was %v", used, end, lastUsed)
		}
		if got := g.Issued(); got < issued {
			t.Errorf("used %v, frozen: %d issued, %d before", used, got, issued)
		}
		got, err := g.Replace(Lease{0, 3, start.Add(30 * time.Second), start.Add(time.Hour)})
		if err != nil || !got.Equal(lastUsed) {
			t.Errorf("used %v: Replace: last used %v, %v; want %v", used, got, err, lastUsed)
		}
		if _, err := g.Generate(); err != nil {
			t.Errorf("used %v, after Replace: %v", used, err)
		}
		g.Freeze()
		if got, err := g.Close(); err != nil || !got.Equal(now) {
			t.Errorf("used %v: Close: last used %v, %v; want %v", used, got, err, now)
		}
		if g.Freeze(); g.Ready() != ErrClosed {
			t.Error("closed, and ready")
		}
	}
}

// TestFreezeAtOnce: no ID is made once Freeze has returned, also not of blocks that processors have in hand.
func TestFreezeAtOnce(t *testing.T) {
	for range 50 {
		start := time.Now().Truncate(time.Second).Add(-time.Minute)
		g, err := New(NewSecret(), Lease{0, MaxNode, start, start.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		frozen := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 4 {
			generate := g.Generate
			if i%2 == 1 {
				generate = g.Local().Generate
			}
			wg.Go(func() {
				for {
					over := false
					select {
					case <-frozen:
						over = true
					default:
					}
					_, err := generate()
					if over {
						if !errors.Is(err, ErrLeaseEnded) {
							t.Errorf("after Freeze: error %v", err)
						}
						return
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		g.Freeze()
		close(frozen)
		wg.Wait()
	}
}

// TestReady: Ready says what Generate would, and makes nothing.
func TestReady(t *testing.T) {
	var now time.Time
	g := freezable(t, &now)
	start := now
	refusals := 0
	g.refused = func(error) { refusals++ }
	for _, tt := range []struct {
		at   time.Duration
		want error
	}{{-time.Second, ErrLeaseNotStarted}, {0, nil}, {time.Minute, ErrLeaseEnded}, {30 * time.Second, nil}} {
		now = start.Add(tt.at)
		if err := g.Ready(); err != tt.want {
			t.Errorf("at %v: %v, want %v", tt.at, err, tt.want)
		}
	}
	if n := g.Issued(); n != 0 || refusals != 0 {
		t.Errorf("Ready made %d IDs and counted %d refusals", n, refusals)
	}
	if n, err := g.Fill(make([]ID, 4<<SequenceBits)); err != nil {
		t.Fatal(n, err)
	}
	if err := g.Ready(); err != ErrExhausted {
		t.Errorf("used up: %v", err)
	}
	now = now.Add(-20 * time.Second)
	if err := g.Ready(); err != ErrClockBackward {
		t.Errorf("clock back: %v", err)
	}
}

func TestCheckValue(t *testing.T) {
	a, b := secretOf([16]byte{1}), secretOf([16]byte{1, 15: 1})
	if a.CheckValue() == b.CheckValue() {
		t.Errorf("two secrets have the check value %x", a.CheckValue())
	}
	// printf 'randflake key check value' | openssl dgst -sha256 -mac hmac -macopt hexkey:01000000000000000000000000000000
	if got := a.CheckValue(); got != [8]byte{0x83, 0xfb, 0xfa, 0x51, 0x14, 0x19, 0xe7, 0x03} {
		t.Errorf("check value %x", got)
	}
}

// The last second of a lease over everything ends one before the first raw value: a frozen generator still knows that it
// was used.
func TestFreezeInTheLastSecond(t *testing.T) {
	everything := testLease(0, MaxNode, Epoch, 1<<TimestampBits)
	clock := newFakeClock(MaxTimestamp)
	g := newGenerator(t, everything, WithClock(clock.now))
	if _, err := g.Generate(); err != nil {
		t.Fatal(err)
	}
	g.Freeze()
	if _, err := g.Generate(); err != ErrLeaseEnded {
		t.Errorf("frozen: error %v, want ErrLeaseEnded", err)
	}
	if _, err := g.Replace(everything); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("Replace with a used lease: error %v, want ErrInvalidLease", err)
	}
	if lastUsed, err := g.Close(); lastUsed.Unix() != MaxTimestamp || err != nil {
		t.Errorf("Close = %v, %v, want the last second", lastUsed, err)
	}
}
