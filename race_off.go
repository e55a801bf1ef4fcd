//go:build !race

package randflake

const raceEnabled = false

// A soleUse does nothing without the race detector.
type soleUse struct{}

func (soleUse) mark() {}
