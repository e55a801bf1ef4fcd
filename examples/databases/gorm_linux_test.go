package databases

import (
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/randflake/randflake"
)

// An Order has a key that GORM leaves alone, so that PostgreSQL refuses a row without one.
type Order struct {
	ID   randflake.ID `gorm:"primaryKey;autoIncrement:false;default:null"`
	Item string
}

// A FilledOrder has one that GORM fills in.
type FilledOrder Order

// BeforeCreate sets the key, unless there is one.
func (o *FilledOrder) BeforeCreate(*gorm.DB) (err error) {
	if o.ID == 0 {
		o.ID, err = generator.Generate()
	}
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
	db := openGORM(t, &Order{}, &FilledOrder{})
	for _, orders := range []any{&Order{Item: "tea"}, &[]Order{{ID: -1, Item: "tea"}, {Item: "tea"}}} {
		if err := db.Create(orders).Error; err == nil {
			t.Errorf("orders without keys went in: %v", orders)
		}
	}
	order := Order{ID: -1, Item: "tea"}
	must(t, db.Create(&order).Error)
	filled := []FilledOrder{{Item: "tea"}, {ID: -1, Item: "two cups"}, {Item: "tea"}}
	must(t, db.Create(&filled).Error)
	for _, want := range filled {
		var got FilledOrder
		if err := db.First(&got, "id = ?", want.ID).Error; err != nil || got != want || got.ID == 0 {
			t.Errorf("%v came back as %v: %v", want, got, err)
		}
		if err := db.First(&got, want.ID).Error; err != nil || got != want {
			t.Errorf("%v came back as %v: %v", want, got, err)
		}
	}
	if filled[1].ID != -1 || filled[0].ID == filled[2].ID {
		t.Errorf("keys: %v", filled)
	}
}
