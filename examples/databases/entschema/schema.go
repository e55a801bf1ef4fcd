// Package entschema has a mixin of ent whose rows have IDs. The schema is one that has it.
package entschema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/randflake/randflake"
)

// generator makes the keys. A service has it from lease.Keep.
var generator = func() *randflake.Generator {
	now := time.Now().Truncate(time.Second)
	g, err := randflake.New(randflake.NewSecret(), randflake.Lease{Start: now.Add(-time.Minute), End: now.Add(time.Hour)})
	if err != nil {
		panic(err)
	}
	return g
}()

// An IDMixin gives a schema a key that the program makes, in a column without a default.
type IDMixin struct{ mixin.Schema }

func (IDMixin) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").
			GoType(randflake.ID(0)).
			DefaultFunc(newID).
			Immutable().
			Annotations(entsql.Annotation{Incremental: new(bool)}),
	}
}

// newID panics at the end of a lease that nobody renews: ent has no place for an error here.
func newID() randflake.ID {
	id, err := generator.Generate()
	if err != nil {
		panic(err)
	}
	return id
}

type Parcel struct{ ent.Schema }

func (Parcel) Mixin() []ent.Mixin { return []ent.Mixin{IDMixin{}} }

func (Parcel) Fields() []ent.Field { return []ent.Field{field.String("item")} }
