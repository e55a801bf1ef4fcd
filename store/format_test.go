package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

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
