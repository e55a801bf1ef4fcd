package databases

import "github.com/randflake/randflake"

// A Ticket is a row. It is also the kind of its ID, so that a CustomerID in its place does not compile.
type Ticket struct {
	ID    TicketID `json:"id"` // "tkt_3vgoe12ccb8gh"
	Title string   `json:"title"`
}

type TicketID = randflake.Typed[Ticket]

func (Ticket) IDPrefix() string { return "tkt" }
