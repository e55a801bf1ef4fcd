package cli

import (
	"fmt"
	"io"
	"time"
)

// progressPause is the least time between two updates of the progress.
const progressPause = 250 * time.Millisecond

// A progress is the last line of a terminal, which says how far a long run is.
type progress struct {
	screen  io.Writer // the terminal, or nil: then nothing is shown
	started time.Time
	shown   time.Time // when the line was updated last
	width   int       // of the line
}

// newProgress begins a run that shows its progress on standard error, if that is a terminal and
// other, a stream that the run reads or writes meanwhile, is none.
func (t *tool) newProgress(other any) progress {
	now := time.Now()
	p := progress{started: now, shown: now}
	if isTerminal(t.stderr) && !isTerminal(other) {
		p.screen = t.stderr
	}
	return p
}

// update shows what line returns for the time since the start, unless it is too early.
func (p *progress) update(line func(took time.Duration) string) {
	if p.screen == nil || time.Since(p.shown) < progressPause {
		return
	}
	p.shown = time.Now()
	p.show(line(time.Since(p.started)))
}

func (p *progress) show(line string) {
	fmt.Fprintf(p.screen, "\r%-*s", p.width, line)
	p.width = len(line)
}

// clear takes the line away.
func (p *progress) clear() {
	if p.width > 0 {
		p.show("")
		io.WriteString(p.screen, "\r")
	}
}
