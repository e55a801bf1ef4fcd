package databases

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"

	"github.com/randflake/randflake"
)

// An Invoice is a schema, from which ent generates code.
type Invoice struct{ ent.Schema }

func (Invoice) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(InvoiceID{}).DefaultFunc(newID).Immutable().
			Annotations(entsql.Annotation{Incremental: new(bool)}), // no sequence
		field.String("customer"),
	}
}

// An InvoiceID is a struct, as ent can't write the name of a generic type. For a randflake.ID it is GoType(randflake.ID(0)).
type InvoiceID struct{ randflake.Typed[Invoice] }

func (Invoice) IDPrefix() string { return "inv" }

// newID panics where there is no ID: ent takes no error from it.
func newID() InvoiceID {
	id, err := generator.Wait(context.Background())
	if err != nil {
		panic(err)
	}
	return InvoiceID{randflake.Typed[Invoice](id)}
}

// TestEnt looks at what ent's generator is told: to generate code would take it most of a minute.
func TestEnt(t *testing.T) {
	id := Invoice{}.Fields()[0].Descriptor()
	must(t, id.Err)
	if id.Info.Ident != "databases.InvoiceID" || id.Info.PkgPath != "github.com/randflake/randflake/examples/databases" || !id.Immutable {
		t.Errorf("the field: %+v of type %+v", id, id.Info)
	}
	makes, ok := id.Default.(func() InvoiceID)
	if !ok {
		t.Fatalf("default: %T", id.Default)
	}
	if one, other := makes(), makes(); one == other {
		t.Errorf("twice the key %v", one)
	}
	var column interface { // by what it embeds
		driver.Valuer
		sql.Scanner
	} = new(InvoiceID)
	if err := column.Scan(int64(32)); err != nil || *column.(*InvoiceID) != (InvoiceID{32}) {
		t.Errorf("32 in a column is %v, %v", column, err)
	}
	if data, err := json.Marshal(InvoiceID{32}); string(data) != `"inv_10"` || err != nil {
		t.Errorf("in JSON %s, %v", data, err)
	}
	annotation, ok := id.Annotations[0].(entsql.Annotation)
	if !ok || annotation.Incremental == nil || *annotation.Incremental {
		t.Errorf("the key has a sequence: %+v", id.Annotations)
	}
}
