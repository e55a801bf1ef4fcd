package cli

import (
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// An interpretation is a way to read all IDs of an analysis: as one kind, or in one layout.
type interpretation struct {
	name   string    // what the IDs are, or "" if they tell no time
	newest time.Time // the latest time of the samples
	read   func(entry) reading
}

// choose sets how the IDs are read: as they show themselves, or as the user says. Otherwise they are
// read as Randflake IDs if the secret fits them. If it does not, choose takes the layout that finds the latest time.
func (a *analysis) choose() {
	a.chosen.read = func(entry) reading { return reading{} }
	asULID := func(e entry) reading { return readULID(e.id) }
	asRandflake := func(e entry) reading { return readRandflake(a.in.cipher, randflake.ID(e.bits64())) }
	if a.isWide() {
		a.try("ULIDs, or UUIDs of version 7", time.UnixMilli(0), asULID)
		return
	}
	if a.in.layout != nil {
		a.tryLayout(a.in.layout)
		return
	}
	if a.in.cipher != nil {
		fits := a.try(kindRandflake, time.Unix(randflake.Epoch, 0), asRandflake)
		if fits {
			return
		}
	}
	if a.in.kind == kindRandflake || a.hasTexts { // then no layout is wanted
		return
	}
	for _, l := range snowflake.Presets() {
		// In a layout that has ended, all positive numbers are of the past, random ones too.
		if !l.Expires().Before(a.in.now()) {
			a.tryLayout(l)
		}
	}
}

func (a *analysis) tryLayout(l *snowflake.Layout) {
	a.try(kindSnowflake+" "+l.Name(), l.Epoch(), func(e entry) reading {
		r, _ := readSnowflake(l, snowflake.ID(e.bits64())) // without a time if the ID is too long
		return r
	})
}

// samples is how many IDs are read to choose the interpretation of all.
const samples = 9

// try tries an interpretation, and returns false if it gives a sample a time in the future or close to the
// epoch. It chooses the interpretation if its newest sample is later than that of the one chosen before,
// and otherwise keeps it as the runner-up if it is later than the runner-up so far.
func (a *analysis) try(name string, epoch time.Time, read func(entry) reading) (ok bool) {
	first := epoch.AddDate(0, 1, 0) // small numbers are times soon after the epoch
	candidate := interpretation{name: name, read: read}
	for i := range samples {
		// Of as many equal parts of the entries as there are samples, the middle of part i.
		middle := (a.entries.len() - 1) * (2*i + 1) / (2 * samples)
		r := read(a.entries.at(middle))
		if r.time.Before(first) || r.isFuture(a.in.now()) {
			return false
		}
		if r.time.After(candidate.newest) {
			candidate.newest = r.time
		}
	}
	switch {
	case candidate.newest.After(a.chosen.newest):
		a.runnerUp = a.chosen
		a.chosen = candidate
	case candidate.newest.Before(a.chosen.newest) && candidate.newest.After(a.runnerUp.newest):
		a.runnerUp = candidate
	}
	return true
}
