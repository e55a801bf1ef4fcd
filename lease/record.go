package lease

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

// An entry is a Record as it is stored, under the name of its first node.
type entry struct {
	First   uint32 `json:"first"`
	Last    uint32 `json:"last"`
	Owner   Token  `json:"owner,omitzero"`
	Change  Token  `json:"change"`
	Changed int64  `json:"changed"`
	Version uint64 `json:"version"`
	Start   int64  `json:"start"`
	High    int64  `json:"high"`
}

func recordName(first uint32) string { return fmt.Sprintf("n/%05x", first) }

// recordsFrom and recordsTo bound the names of records.
const recordsFrom, recordsTo = "n/", "n0"

// item returns r as an item of the store.
func (r Record) item() store.Item {
	body, err := json.Marshal(entry{r.FirstNode, r.LastNode, r.Owner, r.Change, r.Changed, r.Version, r.Start, r.HighWater})
	if err != nil {
		panic(err) // never: these are numbers and texts
	}
	return store.Item{Name: recordName(r.FirstNode), Second: r.Changed, Body: body}
}

// decodeRecord reads what item returned, or returns the zero Record where there is none.
func decodeRecord(item store.Item) (r Record, err error) {
	if item.Body == nil {
		return r, nil
	}
	var e entry
	d := json.NewDecoder(bytes.NewReader(item.Body))
	d.DisallowUnknownFields()
	err = d.Decode(&e)
	r = Record{e.First, e.Last, e.Owner, e.Change, e.Changed, e.Version, e.Start, e.High}
	if err != nil || item.Name != recordName(e.First) || e.Last < e.First || e.Last > randflake.MaxNode || e.Version == 0 || e.Start < 0 || e.High < e.Start-1 {
		return r, fmt.Errorf("%w: record %s is %.200q: nothing was changed", store.ErrCorrupt, item.Name, item.Body)
	}
	return r, nil
}

// state returns what the store knows of a cell, which may be more than its item says, or less: nothing
// from before it was cut, and nothing of seconds that are barred.
func (c cell) state(item store.Item, meta *store.Meta) (Record, error) {
	r, err := decodeRecord(item)
	if err != nil {
		return r, err
	}
	if item.Body == nil || r.LastNode != c.last() || r.HighWater < c.run.Since {
		r = Record{Version: r.Version, HighWater: c.run.Since, Start: c.run.Since + 1}
	}
	r.FirstNode, r.LastNode = c.first, c.last()
	if meta.Barred.Has(r.HighWater) {
		r = Record{FirstNode: r.FirstNode, LastNode: r.LastNode, Version: r.Version, HighWater: meta.Floor - 1, Start: meta.Floor}
	}
	return r, nil
}
