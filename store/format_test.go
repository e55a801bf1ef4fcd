package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestStored(t *testing.T) {
	keys := store.Keys{{Check: store.CheckValue{1, 2}}}
	meta := store.Meta{Format: store.Format, Incarnation: "0a1b", Predecessor: "2c3d", MaxTTL: 600, MaxSkew: 60, Floor: 1767268800, Losses: 2, LossID: "4e5f",
		Lineage: "here", Check: keys, Barred: &store.Interval{From: 1767268801, To: 1767268802}, Failover: 1767268803, Moved: "there", Ended: []store.Ended{{Prefix: "c/x/", Before: 1767268804}}, Changes: 7, Body: json.RawMessage("[]")}
	storetest.WantStored(t, "meta", meta, func(m store.Meta) store.Item { return store.Item{Name: "meta", Body: m.Encode()} }, func(i store.Item) (store.Meta, error) {
		m, err := store.DecodeMeta(i.Body)
		if err != nil {
			return meta, err
		}
		m.Format = store.Format // whichever it was
		return *m, nil
	})
	item := store.Item{Name: "x", Second: 1767268800, Body: []byte("a b")}
	storetest.WantStored(t, "item", item, func(i store.Item) store.Item { return store.Item{Name: "x", Body: i.Encode()} },
		func(i store.Item) (store.Item, error) { return store.DecodeItem("x", i.Body) })
	s := newTestbed(t).create(store.ForSecret(keys))
	storetest.WantStored(t, "claim", s.Claims(keys)[0], func(e store.Entry) store.Item { return store.Item{Name: e.Name, Body: e.Value} },
		func(i store.Item) (store.Entry, error) { return store.Entry{Name: i.Name, Value: i.Body}, nil })
}

// TestNewerIsNotLost: a space in a format that this program does not know keeps its secret.
func TestNewerIsNotLost(t *testing.T) {
	w := newTestbed(t)
	keys := store.Keys{{Check: store.CheckValue{1, 2}}}
	w.create(store.ForSecret(keys))
	storetest.Put(t, w.data.Connect(), "default/meta", fmt.Sprintf(`{"format":%d}`, store.Format+1))
	if _, err := store.Create(t.Context(), w.data.Connect(), store.WithSpace("other"), store.ForSecret(keys)); !errors.Is(err, store.ErrWrongSecret) {
		t.Errorf("another space for the secret: %v, want ErrWrongSecret", err)
	}
}
