package decoders

import (
	"testing"

	"github.com/jinzhu/copier"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
)

type keyed[T any] struct{ ID T }

// TestCopier: copied into a string, an ID becomes a character, and a masked UUID the inner one.
func TestCopier(t *testing.T) {
	var id, masked keyed[string]
	require.NoError(t, copier.Copy(&id, keyed[randflake.ID]{'g'}))
	require.NoError(t, copier.Copy(&masked, keyed[documentID]{mask.OfUUID[document](inner)}))
	require.Equal(t, id.ID, "g", "an ID")
	require.Equal(t, masked.ID, inner.String(), "a masked UUID")
}
