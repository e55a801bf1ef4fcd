package lease

import (
	"encoding/json"
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestStored(t *testing.T) {
	record := Record{FirstNode: 5, LastNode: 8, Owner: Token{1, 2}, Change: Token{3, 4}, Changed: 1767268800, Version: 9, Start: 1767268700, HighWater: 1767269000, Label: "web-7:4711"}
	storetest.WantStored(t, "lease", record, Record.item, decodeRecord, "Signature")
	all := []run{{First: 0, Size: 1, Count: 1<<17 - 4, Since: 1767268800, Closed: true}, {First: 1<<17 - 4, Size: 4, Count: 1, Since: 1767268801, Closed: true}}
	storetest.WantStored(t, "cells", all[1], func(run) store.Item { return store.Item{Name: "body", Body: cells(all).encode()} }, func(i store.Item) (run, error) {
		read, err := decodeCells(i.Body)
		return read[len(read)-1], err
	})
	if _, err := decodeCells([]byte(`[{"first":0,"size":131072,"count":1,"more":1}]`)); err == nil {
		t.Error("cells with a field that would be lost")
	}
	storetest.WantStored(t, "gone", watch{Seen: map[uint32]glance{5: {Version: 1, Start: 2, Since: 3}}, Ahead: 4},
		func(w watch) store.Item { return (&acquisition{watch: &w}).withWatch()[0] }, decoded[watch])
	storetest.WantStored(t, "hint", hint{Nodes: 1, Below: 2, Since: 3, Until: 4, Changes: 5, LossID: "6", Ahead: 7},
		hint.item, decoded[hint])
	a := acquisition{Request: Request{Owner: Token{1, 2}}}
	storetest.WantStored(t, "granted", record, func(r Record) store.Item {
		return a.receipt(situation{View: &store.View{}}, r)
	}, func(i store.Item) (Record, error) {
		r := record
		r.FirstNode, _ = a.grantedBefore(i)
		return r, nil
	}, "Signature")
}

func decoded[T any](i store.Item) (v T, err error) {
	err = json.Unmarshal(i.Body, &v)
	return v, err
}
