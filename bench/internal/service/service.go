// Package service is the chapter that measures randflaked, beside the engines that it stands on, and what answers with a
// counter and does nothing else. Each is a process of its own, and all are on one machine.
package service

import (
	"time"

	"github.com/randflake/randflake/bench/internal/report"
)

// Chapter returns the chapter.
func Chapter() report.Chapter {
	return report.Chapter{
		Name:   "service",
		About:  "what randflaked gives, beside its engines and what does nothing but answer",
		Quick:  formOf(true).takes(),
		Full:   formOf(false).takes(),
		Run:    run,
		Render: render,
	}
}

// A form says how much is measured.
type form struct {
	rounds int
	slice  time.Duration // of a source in a round
}

func formOf(quick bool) form {
	if quick {
		return form{1, 80 * time.Millisecond}
	}
	return form{4, time.Second}
}

// warmUp is which part of a slice precedes it, unmeasured: one of so many.
const warmUp = 5

// takes reckons with the compiler, the start of servers, and with as many sources as there are when all are installed.
func (f form) takes() time.Duration {
	const starting, sources = 6 * time.Second, 34
	return starting + time.Duration(f.rounds*sources)*f.slice*(warmUp+1)/warmUp
}

// A server is one that was to be measured.
type server struct {
	Name    string `csv:"server"`
	Skipped string `csv:"skipped"` // why it was not
}

// A memory is how much randflaked has.
type memory struct {
	Spaces   int    `csv:"spaces"`
	When     string `csv:"when"`
	Resident int64  `csv:"resident"` // bytes
}
