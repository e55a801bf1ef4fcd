package cli

import (
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// A decoding is a way to read all IDs of an audit.
type decoding struct {
	name   string    // what they are; empty if they tell no time
	newest time.Time // of the samples
	read   func(entry) reading
}

// choose sets how IDs are read: as Randflakes where their secret is known, or in the layout with
// the newest times.
func (a *audit) choose() {
	a.read = func(entry) reading { return reading{} }
	asULID := func(e entry) reading { return readULID(e.id) }
	asRandflake := func(e entry) reading { return readRandflake(a.cipher, randflake.ID(e.bits64())) }
	switch {
	case a.wide:
		a.try("ULIDs, or UUIDs of version 7", time.UnixMilli(0), asULID)
	case a.layout != nil:
		a.tryLayout(a.layout)
	case a.cipher != nil && a.try(kindRandflake, time.Unix(randflake.Epoch, 0), asRandflake), a.kind == kindRandflake:
	default:
		for _, l := range snowflake.Presets() {
			if l.Expires().Before(a.now()) {
				continue // all positive numbers are of its past, random ones too
			}
			a.tryLayout(l)
		}
	}
}

func (a *audit) tryLayout(l *snowflake.Layout) {
	a.try(kindSnowflake+" "+l.Name(), l.Epoch(), func(e entry) reading {
		r, _ := readSnowflake(l, snowflake.ID(e.bits64())) // without a time if the ID is too long
		return r
	})
}

const samples = 9 // how many IDs are read to choose the layout of all

// try chooses a way to read IDs if it dates all samples in the past, and the newest of them later
// than the ways before.
func (a *audit) try(name string, epoch time.Time, read func(entry) reading) (ok bool) {
	first := epoch.AddDate(0, 1, 0) // small numbers are times soon after the epoch
	d := decoding{name: name, read: read}
	for i := range samples {
		middle := (len(a.entries) - 1) * (2*i + 1) / (2 * samples) // of one of as many parts
		r := read(a.entries[middle])
		if r.time.Before(first) || r.isFuture(a.now()) {
			return false
		}
		if r.time.After(d.newest) {
			d.newest = r.time
		}
	}
	switch {
	case d.newest.After(a.newest):
		a.runnerUp = a.decoding
		a.decoding = d
	case d.newest.Before(a.newest) && d.newest.After(a.runnerUp.newest):
		a.runnerUp = d
	}
	return true
}
