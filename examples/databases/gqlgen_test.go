package databases

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

// TestGQLGen: a scalar of gqlgen is the text of an ID, and a number is none.
func TestGQLGen(t *testing.T) {
	id := TicketID(4594531474933654033)
	var b strings.Builder
	MarshalTicketID(id).MarshalGQL(&b)
	if b.String() != strconv.Quote(id.String()) {
		t.Errorf("%v is written as %s", id, &b)
	}
	if got, err := UnmarshalTicketID(id.String()); got != id || err != nil {
		t.Errorf("%v is read as %v: %v", id, got, err)
	}
	for _, stranger := range []any{
		5, int64(5), 5.0, json.Number("4594531474933654033"), true, "5", "", "jvgoe12ccb8gh", "ord_jvgoe12ccb8gh",
	} {
		if got, err := UnmarshalTicketID(stranger); !errors.Is(err, randflake.ErrInvalidID) {
			t.Errorf("%v is read as %v: %v", stranger, got, err)
		}
	}
	for _, stranger := range []any{nil, []any{id.String()}, map[string]any{}} {
		if got, err := UnmarshalTicketID(stranger); err == nil {
			t.Errorf("%v is read as %v", stranger, got)
		}
	}
}
