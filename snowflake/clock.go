package snowflake

import (
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// cached returns the cached time in Unix milliseconds, which may be late, or reads an injected clock.
func (g *Generator) cached() int64 {
	if g.now == nil {
		return coarse.Milliseconds.Now()
	}
	return g.now().UnixMilli()
}

// read reads the clock, in Unix milliseconds.
func (g *Generator) read() int64 {
	if g.now == nil {
		return coarse.Milliseconds.Read()
	}
	return g.now().UnixMilli()
}

// time returns the time by the generator's clock.
func (g *Generator) time() time.Time {
	if g.now == nil {
		return time.Now()
	}
	return g.now()
}

// unitAt returns the unit that contains ms, a time in Unix milliseconds. It is negative before the epoch.
func (l *Layout) unitAt(ms int64) int64 {
	since := ms - l.epoch
	if l.unit == 1 {
		return since
	}
	unit := since / l.unit
	if unit*l.unit > since {
		unit--
	}
	return unit
}

// startOf returns the start of a unit in Unix milliseconds.
func (l *Layout) startOf(unit int64) int64 { return l.epoch + unit*l.unit }
