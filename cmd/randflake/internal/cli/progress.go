package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progressPause is the minimum time between two updates of the line.
const progressPause = 250 * time.Millisecond

// A progress is a line on a terminal that shows how much of a long run is done and how long the rest takes. Only one
// goroutine at a time may use it.
type progress struct {
	screen        io.Writer // nil to be silent
	unit          string
	total, done   int64
	started, last time.Time
	width         int // of the line that is there
}

// progress returns a progress line. It is silent unless standard error is a terminal and standard output is not.
func (t *tool) progress(total int64, unit string) *progress {
	p := &progress{unit: unit, total: total, started: time.Now(), last: time.Now()}
	if isTerminal(t.stderr) && !isTerminal(t.stdout) {
		p.screen = t.stderr
	}
	return p
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *progress) add(n int64) {
	p.done += n
	if now := time.Now(); p.screen != nil && now.Sub(p.last) >= progressPause {
		p.last = now
		p.show(p.line(now.Sub(p.started)))
	}
}

// line describes the progress after that time.
func (p *progress) line(took time.Duration) string {
	rate := float64(p.done) / took.Seconds()
	left := time.Duration(float64(p.total-p.done) / rate * float64(time.Second))
	return fmt.Sprintf("%3.0f%%  %d of %d %s, %.0f a second, %v left", 100*float64(p.done)/float64(p.total), p.done, p.total, p.unit, rate, left.Round(time.Second))
}

// show replaces the line on the terminal.
func (p *progress) show(line string) {
	fmt.Fprintf(p.screen, "\r%-*s", p.width, line)
	p.width = len(line)
}

func (p *progress) clear() {
	if p.width > 0 {
		p.show("")
		io.WriteString(p.screen, "\r")
	}
}
