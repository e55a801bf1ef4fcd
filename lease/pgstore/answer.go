package pgstore

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// An answer is what each function of the store returns, as JSON.
type answer struct {
	Loss        string // what was found lost, and nothing decided; or empty
	Now         int64
	Incarnation string
	MaxTTL      int64 // seconds, as all that follow
	MaxSkew     int64
	NotBefore   int64
	Position    int64 // of the log; 0 if nothing was written
	Record      *row
}

// A row is one of the table of ranges.
type row struct {
	FirstNode, LastNode int64
	Owner               *string // nil for nobody
	Version             int64
	Start, HighWater    int64
}

func (a answer) rules() (lease.Rules, error) { return rulesOf(a.MaxTTL, a.MaxSkew) }

// rulesOf returns limits that are given in seconds.
func rulesOf(maxTTL, maxSkew int64) (lease.Rules, error) {
	const most = math.MaxInt64 / int64(time.Second)
	rules := lease.Rules{MaxTTL: time.Duration(maxTTL) * time.Second, MaxSkew: time.Duration(maxSkew) * time.Second}
	if maxTTL > most || maxSkew > most || rules.Check() != nil {
		return lease.Rules{}, corrupt("meta has max_ttl %d, max_skew %d", maxTTL, maxSkew)
	}
	return rules, nil
}

// record returns the record of r, or the zero Record, which nobody holds, if there is none.
func (r *row) record() (rec lease.Record, err error) {
	if r == nil {
		return rec, nil
	}
	sound := 0 <= r.FirstNode && r.FirstNode <= r.LastNode && r.LastNode <= randflake.MaxNode &&
		r.Version >= 1 && r.Start >= randflake.Epoch && r.HighWater >= r.Start-1 && r.HighWater <= randflake.MaxTimestamp
	if r.Owner != nil {
		digits := strings.ReplaceAll(*r.Owner, "-", "")
		sound = sound && rec.Owner.UnmarshalText([]byte(digits)) == nil && rec.Owner != lease.Owner{}
	}
	if !sound {
		return lease.Record{}, corrupt("nodes %d to %d have version %d, start %d, high-water mark %d", r.FirstNode, r.LastNode, r.Version, r.Start, r.HighWater)
	}
	rec.FirstNode, rec.LastNode = uint32(r.FirstNode), uint32(r.LastNode)
	rec.Version, rec.Start, rec.HighWater = uint64(r.Version), r.Start, r.HighWater
	return rec, nil
}

// corrupt returns an error that wraps lease.ErrCorrupt.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("pgstore: "+format+": %w: somebody changed the tables by hand: create a new store in another schema, not as one for a new secret",
		append(args, lease.ErrCorrupt)...)
}
