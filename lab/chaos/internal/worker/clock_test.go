package worker

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// offset is read by this process for good.
var offset atomic.Int64

func TestShiftClock(t *testing.T) {
	before := time.Now()
	if err := shiftClock(&offset); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, off := range []time.Duration{0, time.Hour, -time.Hour, 365 * 24 * time.Hour, 0} {
		offset.Store(int64(off / time.Second))
		now := time.Now()
		if got := now.Round(0).Sub(before.Round(0)) - off; got < 0 || got > time.Minute {
			t.Errorf("with the clock %v off it is %v, and was %v", off, now, before)
		}
		if passed := now.Sub(before); passed < 0 || passed > time.Minute {
			t.Errorf("with the clock %v off %v have passed by the monotonic clock", off, passed)
		}
	}
}
