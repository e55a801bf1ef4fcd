//go:build race

package randflake

const raceEnabled = true

// A soleUse is of an object that one goroutine at a time may use. Its calls write to it without any lock, so that the
// race detector reports two goroutines even where the object has locks inside, which hide them from it.
type soleUse struct{ calls int }

func (s *soleUse) mark() { s.calls++ }
