package databases

import (
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

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

func openGORM(t *testing.T, models ...any) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(postgres.Open(postgresServer(t).URL()), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	must(t, db.AutoMigrate(models...))
	t.Cleanup(func() {
		pool, err := db.DB()
		must(t, err)
		pool.Close()
	})
	return db
}

// TestGORMTrap shows why the tags are there: without them the key is a sequence's, and without the default it is 0.
func TestGORMTrap(t *testing.T) {
	type Careless struct {
		ID   randflake.ID
		Item string
	}
	type LessCareless struct {
		ID   randflake.ID `gorm:"primaryKey;autoIncrement:false"`
		Item string
	}
	db := openGORM(t, &Careless{}, &LessCareless{})
	careless, less := Careless{Item: "tea"}, LessCareless{Item: "tea"}
	if err := db.Create(&careless).Error; err != nil || careless.ID != 1 {
		t.Errorf("GORM has become more careful: key %d, %v; docs/databases.md says otherwise", int64(careless.ID), err)
	}
	if err := db.Create(&less).Error; err != nil || less.ID != 0 {
		t.Errorf("GORM has become more careful: key %d, %v; docs/databases.md says otherwise", int64(less.ID), err)
	}
}

func TestGORM(t *testing.T) {
	db := openGORM(t, &Order{})
	orders := []Order{{Item: "tea"}, {ID: -1, Item: "two cups"}, {Item: "tea"}}
	must(t, db.Create(&orders).Error)
	for _, want := range orders {
		var byID, first Order
		if err := db.First(&byID, "id = ?", want.ID).Error; err != nil || byID != want || byID.ID == 0 {
			t.Errorf("%v came back as %v: %v", want, byID, err)
		}
		if err := db.First(&first, want.ID).Error; err != nil || first != want {
			t.Errorf("%v came back as %v: %v", want, first, err)
		}
	}
	if orders[1].ID != -1 || orders[0].ID == orders[2].ID {
		t.Errorf("keys: %v", orders)
	}
}
