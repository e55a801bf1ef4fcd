package windows

import (
	"flag"
	"testing"
)

var dbgSet = flag.Int("set", 0, "")
var dbgSeed = flag.Uint64("seed", 1, "")
var dbg bool

func TestDebug(t *testing.T) { dbg = true; t.Log(play(*dbgSeed, sets[*dbgSet], bug{})) }
