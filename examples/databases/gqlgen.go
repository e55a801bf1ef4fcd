package databases

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/randflake/randflake"
)

// MarshalTicketID writes the text.
func MarshalTicketID(id TicketID) graphql.Marshaler { return graphql.MarshalString(id.String()) }

// UnmarshalTicketID reads the text, and refuses numbers.
func UnmarshalTicketID(v any) (TicketID, error) {
	text, err := graphql.UnmarshalString(v)
	if err != nil {
		return 0, err
	}
	return randflake.ParseTyped[Ticket](text)
}
