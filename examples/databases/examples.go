// Package databases has what docs/databases.md shows of SQL and of Go's libraries. Its tests are
// that IDs come back from the columns of real databases as they went there, in whatever form the
// drivers hand integers over, and that SQL opens them.
package databases

import (
	"time"

	"gorm.io/gorm"

	"github.com/randflake/randflake"
)

// generator makes the keys of all examples. A service has it from lease.Keep.
var generator = func() *randflake.Generator {
	now := time.Now().Truncate(time.Second)
	g, err := randflake.New(randflake.NewSecret(), randflake.Lease{Start: now.Add(-time.Minute), End: now.Add(time.Hour)})
	if err != nil {
		panic(err)
	}
	return g
}()

// A Ticket is a row. It is also the kind of its ID, so that a CustomerID in its place does not compile.
type Ticket struct {
	ID    TicketID `json:"id"` // "tkt_jvgoe12ccb8gh"
	Title string   `json:"title"`
}

type TicketID = randflake.Typed[Ticket]

func (Ticket) IDPrefix() string { return "tkt" }

// An Order has a key that GORM and PostgreSQL leave to the program: a row without one is refused.
type Order struct {
	ID   OrderID `gorm:"primaryKey;autoIncrement:false;default:null"`
	Item string
}

type OrderID = randflake.Typed[Order] // or ID is a randflake.ID

func (Order) IDPrefix() string { return "ord" }

// BeforeCreate sets the key, unless there is one.
func (o *Order) BeforeCreate(*gorm.DB) error {
	if o.ID != 0 {
		return nil
	}
	id, err := generator.Generate()
	o.ID = OrderID(id)
	return err
}

// Tables whose keys the database makes: IDs of its own, or masked numbers of a sequence.
const (
	ordersInPostgres = `
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT randflake_next(), item text);
`
	ordersInMariaDB = `
CREATE TABLE orders (id BIGINT DEFAULT 0 PRIMARY KEY, item TEXT);
CREATE TRIGGER order_ids BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = IF(NEW.id <> 0, NEW.id, ids.randflake_next());
`
	maskedInPostgres = `
CREATE SEQUENCE order_numbers;
CREATE TABLE masked (id bigint PRIMARY KEY DEFAULT randflake_mask(nextval('order_numbers')), item text);
`
)
