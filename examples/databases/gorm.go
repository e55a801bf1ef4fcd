package databases

import (
	"gorm.io/gorm"

	"github.com/randflake/randflake"
)

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
