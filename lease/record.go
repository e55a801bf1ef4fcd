package lease

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

func recordName(first uint32) string { return "n/" + fiveDigits(first) }

// recordsFrom and recordsTo bound the names of records.
const recordsFrom, recordsTo = "n/", "n0"

// fiveDigits returns a node as hexadecimal digits.
func fiveDigits(node uint32) string { return strconv.FormatUint(uint64(node)+1<<20, 16)[1:] }

// item returns r as an item of the store, under the name of its first node: its numbers, tokens and label in the order
// of Record, with blanks between.
func (r Record) item() store.Item {
	b := make([]byte, 0, 160)
	b = append(strconv.AppendUint(b, uint64(r.FirstNode), 10), ' ')
	b = append(strconv.AppendUint(b, uint64(r.LastNode), 10), ' ')
	b = append(hex.AppendEncode(b, r.Owner[:]), ' ')
	b = append(hex.AppendEncode(b, r.Change[:]), ' ')
	b = append(strconv.AppendInt(b, r.Changed, 10), ' ')
	b = append(strconv.AppendUint(b, r.Version, 10), ' ')
	b = append(strconv.AppendInt(b, r.Start, 10), ' ')
	b = append(strconv.AppendInt(b, r.HighWater, 10), ' ')
	b = append(b, r.Label...)
	return store.Item{Name: recordName(r.FirstNode), Second: r.Changed, Body: b}
}

// decodeRecord reads what item returned, or returns the zero Record where there is none.
func decodeRecord(item store.Item) (r Record, err error) {
	if item.Body == nil {
		return r, nil
	}
	words := strings.Split(string(item.Body), " ")
	if len(words) == 9 {
		number := func(i int) int64 {
			n, wrong := strconv.ParseInt(words[i], 10, 64)
			err = cmp.Or(err, wrong)
			return n
		}
		first, last := number(0), number(1)
		r = Record{FirstNode: uint32(first), LastNode: uint32(last), Changed: number(4), Version: uint64(number(5)), Start: number(6), HighWater: number(7), Label: words[8]}
		err = cmp.Or(err, r.Owner.UnmarshalText([]byte(words[2])), r.Change.UnmarshalText([]byte(words[3])))
		if err == nil && 0 <= first && first <= last && last <= randflake.MaxNode && item.Name == recordName(r.FirstNode) &&
			int64(r.Version) > 0 && r.Start >= 0 && r.HighWater >= r.Start-1 {
			return r, nil
		}
	}
	return r, fmt.Errorf("%w: record %s is %.200q: nothing was changed", store.ErrCorrupt, item.Name, item.Body)
}

// state returns what the store knows of a cell by its item.
func (c cell) state(item store.Item, meta *store.Meta) (Record, error) {
	stored, err := decodeRecord(item)
	if err != nil {
		return Record{}, err
	}
	return c.current(stored, meta), nil
}

// current returns what the store knows of a cell whose record is stored, or zero. That may be more than the record says,
// or less: nothing from before the nodes were cut so, and nothing of seconds that are barred.
func (c cell) current(stored Record, meta *store.Meta) Record {
	r := stored
	r.Signature = Token{}
	if stored.Version == 0 || r.LastNode != c.last() || r.HighWater < c.run.Since {
		r = Record{Version: r.Version, HighWater: c.run.Since, Start: c.run.Since + 1}
	}
	r.FirstNode, r.LastNode = c.first, c.last()
	if meta.Barred.Has(r.HighWater) {
		r = Record{FirstNode: r.FirstNode, LastNode: r.LastNode, Version: r.Version, HighWater: meta.Floor - 1, Start: meta.Floor}
	}
	return r
}
