package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const progressPause = 250 * time.Millisecond

// A progress tells on a terminal how far a long run is, in one line that it writes over and over. A
// nil progress tells nothing.
type progress struct {
	out    io.Writer
	total  int64
	start  time.Time
	ticker *time.Ticker
	width  int // of the line on the screen
}

// newProgress returns nil unless stderr is a terminal and stdout is none, where the line would be
// lost between the IDs.
func newProgress(stdout, stderr io.Writer, total int64) *progress {
	if !isTerminal(stderr) || isTerminal(stdout) {
		return nil
	}
	return &progress{out: stderr, total: total, start: time.Now(), ticker: time.NewTicker(progressPause)}
}

// isTerminal reports whether w is a device that takes characters, other than the null device. That
// is right for terminals, on Windows too, and wrong for hardly anything else.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// tick returns a channel that says when to show how things stand.
func (p *progress) tick() <-chan time.Time {
	if p == nil {
		return nil
	}
	return p.ticker.C
}

// show writes the line anew, once a second has passed.
func (p *progress) show(done int64) {
	elapsed := time.Since(p.start)
	if elapsed < time.Second {
		return
	}
	line := progressLine(done, p.total, elapsed)
	fmt.Fprintf(p.out, "\r%-*s", p.width, line)
	p.width = len(line)
}

func progressLine(done, total int64, elapsed time.Duration) string {
	return fmt.Sprintf("%s of %s IDs, %d%%, %.1f million a second",
		grouped(done), grouped(total), int64(100*float64(done)/float64(total)), float64(done)/elapsed.Seconds()/1e6)
}

// grouped writes n, which is not negative, with commas between thousands.
func grouped(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// clear removes the line.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.ticker.Stop()
	if p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
	}
}
