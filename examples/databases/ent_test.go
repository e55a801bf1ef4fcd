package databases

import (
	"context"
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
		field.Int64("id").GoType(randflake.ID(0)).DefaultFunc(newID).Immutable().
			Annotations(entsql.Annotation{Incremental: new(bool)}), // no sequence
		field.String("customer"),
	}
}

// newID panics where there is no ID: ent takes no error from it.
func newID() randflake.ID {
	id, err := generator.Wait(context.Background())
	if err != nil {
		panic(err)
	}
	return id
}

// TestEnt looks at what ent's generator is told: to generate code would take it most of a minute.
func TestEnt(t *testing.T) {
	id := Invoice{}.Fields()[0].Descriptor()
	must(t, id.Err)
	if id.Info.Ident != "randflake.ID" || id.Info.PkgPath != "github.com/randflake/randflake" || !id.Immutable {
		t.Errorf("the field: %+v of type %+v", id, id.Info)
	}
	makes, ok := id.Default.(func() randflake.ID)
	if !ok {
		t.Fatalf("default: %T", id.Default)
	}
	if one, other := makes(), makes(); one == other {
		t.Errorf("twice the key %v", one)
	}
	annotation, ok := id.Annotations[0].(entsql.Annotation)
	if !ok || annotation.Incremental == nil || *annotation.Incremental {
		t.Errorf("the key has a sequence: %+v", id.Annotations)
	}
}
