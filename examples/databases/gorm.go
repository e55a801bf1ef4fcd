package databases

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/randflake/randflake"
)

// An Invoice has a key that giveIDs sets, as have its lines.
type Invoice struct {
	ID    randflake.ID
	Lines []Line
}

type Line struct {
	ID        LineID
	InvoiceID randflake.ID
	Label     *Label
	LabelID   randflake.TextID `gorm:"type:varchar(13)"`
}

type LineID = randflake.Typed[Line]

func (Line) IDPrefix() string { return "line" }

// A Label has a key in a text column.
type Label struct {
	ID   randflake.TextID `gorm:"type:varchar(13)"`
	Text string
}

// giveIDs sets the keys of the rows that GORM creates, of associations too, if they are a
// randflake.ID, Typed or TextID without a value:
//
//	db.Callback().Create().Before("gorm:create").Register("randflake", giveIDs)
func giveIDs(db *gorm.DB) {
	if db.Error != nil || db.Statement.Schema == nil || db.Statement.Schema.PrioritizedPrimaryField == nil {
		return
	}
	key := db.Statement.Schema.PrioritizedPrimaryField
	ours := key.FieldType.PkgPath() == reflect.TypeFor[randflake.ID]().PkgPath()
	if !ours || key.FieldType.Kind() != reflect.Int64 {
		return
	}
	give := func(row reflect.Value) {
		if row.Kind() != reflect.Struct {
			db.AddError(fmt.Errorf("no key for a row that is a %s: want a struct", row.Kind()))
			return
		}
		if _, zero := key.ValueOf(db.Statement.Context, row); !zero {
			return
		}
		id, err := generator.Generate()
		db.AddError(err)
		key.ReflectValueOf(db.Statement.Context, row).SetInt(int64(id))
	}
	switch rows := db.Statement.ReflectValue; rows.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range rows.Len() {
			give(reflect.Indirect(rows.Index(i)))
		}
	default:
		give(rows)
	}
}
