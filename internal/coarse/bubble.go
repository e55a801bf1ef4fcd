package coarse

import (
	"syscall"
	"time"
)

// In a testing/synctest bubble time.Now is the bubble's, and timers are gone when the bubble ends.
// So what is read there is not published, as readers outside would see it, and no timer is started:
// calls inside a bubble ask the system each time.

// OfBubble returns time.Now in a bubble, and nil elsewhere: what is made in a bubble goes by its time.
func OfBubble() func() time.Time {
	if InBubble(time.Now()) {
		return time.Now
	}
	return nil
}

// systemTime is time.Now outside of bubbles, where the system tells it, to the microsecond.
func systemTime() time.Time {
	var t syscall.Timeval
	if syscall.Gettimeofday(&t) != nil {
		return time.Now()
	}
	return time.Unix(int64(t.Sec), int64(t.Usec)*1000)
}
