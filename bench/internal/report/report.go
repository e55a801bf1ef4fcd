// Package report keeps what a measurement found: data as CSV, tables in Markdown and pictures, all
// under one directory of results, and the copies of the tables in the documentation.
package report

import (
	"context"
	"time"
)

// A Chapter is a part of the evidence that can be produced by itself. Its results are the files in
// the directory of its name.
type Chapter struct {
	Name  string // also the name of its directory and of its flag; lower-case letters
	About string // what it finds out, in a few words

	// How long Run takes in the quick form and in the full one, on the machine at hand.
	Quick, Full time.Duration

	// Run measures, and keeps the data, by Results.CSV and Results.Text. When
	// there is no Render, it makes tables and pictures too.
	Run func(ctx context.Context, r *Results) error

	// Render makes the tables and pictures from the data that Run kept, by Results.Table and
	// figure.Keep, and from nothing else: so that they can be made again, and compared with
	// what the documentation says, without measuring again.
	Render func(r *Results) error
}

// Takes returns how long the chapter takes in one of its forms.
func (c Chapter) Takes(quick bool) time.Duration {
	if quick {
		return c.Quick
	}
	return c.Full
}

// Takes returns how long the chapters take together.
func Takes(chapters []Chapter, quick bool) time.Duration {
	var sum time.Duration
	for _, c := range chapters {
		sum += c.Takes(quick)
	}
	return sum
}
