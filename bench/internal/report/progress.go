package report

import (
	"fmt"
	"io"
	"time"
)

// Progress tells how far a long run has come: on a terminal in one line that is kept up to date,
// elsewhere in a line every half minute. A nil Progress tells nothing.
type Progress struct {
	out      io.Writer
	terminal bool
	total    time.Duration // as estimated
	past     time.Duration // as estimated, of the chapters that have ended
	chapter  Chapter
	quick    bool
	told     time.Time
}

// NewProgress returns the progress of a run of chapters in one form.
func NewProgress(out io.Writer, terminal bool, chapters []Chapter, quick bool) *Progress {
	return &Progress{out: out, terminal: terminal, total: Takes(chapters, quick), quick: quick, told: time.Now()}
}

// Begin says that a chapter begins.
func (p *Progress) Begin(c Chapter) {
	p.chapter = c
	p.tell(0)
}

// At says which part of the chapter is done, from 0 to 1.
func (p *Progress) At(part float64) {
	if p == nil {
		return
	}
	pause := 30 * time.Second
	if p.terminal {
		pause = 200 * time.Millisecond
	}
	if time.Since(p.told) >= pause {
		p.tell(part)
	}
}

// End says that the chapter has ended.
func (p *Progress) End() {
	p.past += p.chapter.Takes(p.quick)
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K") // clears the line
	}
}

func (p *Progress) tell(part float64) {
	p.told = time.Now()
	done := p.past + time.Duration(part*float64(p.chapter.Takes(p.quick)))
	line := fmt.Sprintf("%3.0f%%, about %s left: %s, %s", 100*done.Seconds()/max(p.total.Seconds(), 1),
		(p.total - done).Round(time.Second), p.chapter.Name, p.chapter.About)
	if p.terminal {
		fmt.Fprint(p.out, "\r\033[K"+line)
	} else {
		fmt.Fprintln(p.out, line)
	}
}
