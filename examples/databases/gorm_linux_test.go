package databases

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/ulid"
)

// A purchase has associations of each kind. K is the type of all keys.
type purchase[K any] struct {
	ID       K `gorm:"default:(-)"` // the database makes what is zero
	BuyerID  K
	Buyer    *buyer[K]
	ParentID *K
	Parent   *purchase[K]
	Item     string
	Parts    []part[K] `gorm:"foreignKey:PurchaseID"`
}

type buyer[K any] struct {
	ID   K
	Name string
}

type part[K any] struct {
	ID         K
	PurchaseID *K
	Name       string
}

type label[K any] struct {
	ID   K
	Name string
}

// A labelled is a purchase with its labels. It has no name, as GORM's many2many takes no generic one.
type labelled[K any] = struct {
	InPurchases
	ID      K
	BuyerID K
	Item    string
	Labels  []label[K] `gorm:"many2many:purchase_labels;joinForeignKey:purchase_id;joinReferences:label_id"`
}

type InPurchases struct{}

func (InPurchases) TableName() string { return "purchases" }
func (purchase[K]) TableName() string { return "purchases" }
func (buyer[K]) TableName() string    { return "buyers" }
func (part[K]) TableName() string     { return "parts" }
func (label[K]) TableName() string    { return "labels" }

// tables wants the types of a key, and of one that the database makes.
var tables = []string{
	"CREATE TABLE purchases (id %[2]s PRIMARY KEY, buyer_id %[1]s NOT NULL, parent_id %[1]s, item TEXT)",
	"CREATE TABLE buyers (id %[1]s PRIMARY KEY, name TEXT)",
	"CREATE TABLE parts (id %[1]s PRIMARY KEY, purchase_id %[1]s, name TEXT)",
	"CREATE TABLE labels (id %[1]s PRIMARY KEY, name TEXT)",
	"CREATE TABLE purchase_labels (purchase_id %[1]s, label_id %[1]s, PRIMARY KEY (purchase_id, label_id))",
}

const allRows = `
	SELECT CONCAT_WS(' ', 'purchase', id, buyer_id, parent_id, item) AS line FROM purchases
	UNION ALL SELECT CONCAT_WS(' ', 'buyer', id, name) FROM buyers
	UNION ALL SELECT CONCAT_WS(' ', 'part', id, purchase_id, name) FROM parts
	UNION ALL SELECT CONCAT_WS(' ', 'label', id, name) FROM labels
	UNION ALL SELECT CONCAT_WS(' ', 'labelled', purchase_id, label_id) FROM purchase_labels
	ORDER BY line`

// fill adds the purchases with the keys 1 to 4, and what belongs to them.
func (key keyType[K]) fill(t *testing.T, db *gorm.DB) {
	one, two := key(1), key(2)
	labels := []label[K]{{key(31), "new"}, {key(32), "sold"}}
	for _, rows := range []any{
		[]buyer[K]{{key(11), "ada"}, {key(12), "bob"}},
		[]purchase[K]{
			{ID: one, BuyerID: key(11), Item: "tea"},
			{ID: two, BuyerID: key(11), Item: "cups", ParentID: &one},
			{ID: key(3), BuyerID: key(12), Item: "pot", ParentID: &one},
			{ID: key(4), BuyerID: key(12), Item: "tea", ParentID: &two},
		},
		[]part[K]{{key(21), &one, "leaf"}, {key(22), &one, "bag"}, {key(23), &two, "cup"}, {key(24), nil, "spoon"}},
	} {
		must(t, db.Create(rows).Error)
	}
	must(t, db.Model(&labelled[K]{ID: one}).Association("Labels").Append(labels))
}

// A condition is one of the forms in which GORM takes keys.
type condition struct {
	name string
	args []any
}

func (key keyType[K]) conditions(db *gorm.DB) []condition {
	type row = purchase[K]
	one, three := key(1), key(3)
	keys := []K{one, three}
	var zero K

	return []condition{
		{"nothing", nil},
		{"a key", []any{one}},
		{"another key", []any{key(9)}},
		{"zero", []any{zero}},
		{"a pointer", []any{&one}},
		{"a slice", []any{keys}},
		{"a slice of one", []any{keys[:1]}},
		{"an empty slice", []any{[]K{}}},
		{"a nil slice", []any{[]K(nil)}},
		{"a pointer to a slice", []any{&keys}},
		{"a slice of pointers", []any{[]*K{&one, &three}}},
		{"a slice of any", []any{[]any{one, &three}}},
		{"an array", []any{[2]K{one, three}}},
		{"arguments", []any{one, three}},
		{"a sql.Null", []any{sql.Null[K]{V: one, Valid: true}}},
		{"a sql.Null of NULL", []any{sql.Null[K]{}}},

		{"id = key", []any{"id = ?", one}},
		{"id = zero", []any{"id = ?", zero}},
		{"id = pointer", []any{"id = ?", &one}},
		{"id = nil pointer", []any{"id = ?", (*K)(nil)}},
		{"id = sql.Null", []any{"id = ?", sql.Null[K]{V: one, Valid: true}}},
		{"id > key", []any{"id > ?", one}},
		{"id IN slice", []any{"id IN ?", keys}},
		{"id IN (slice)", []any{"id IN (?)", keys}},
		{"id IN empty slice", []any{"id IN ?", []K{}}},
		{"id IN pointers", []any{"id IN ?", []*K{&one, &three}}},
		{"id IN array", []any{"id IN ?", [2]K{one, three}}},
		{"id IN subquery", []any{"id IN (?)", db.Model(&row{}).Select("parent_id").Where("id IN ?", keys)}},
		{"id NOT IN slice", []any{"id NOT IN ?", keys}},
		{"pairs", []any{"(id, buyer_id) IN ?", [][]any{{one, key(11)}, {three, key(11)}}}},
		{"a name", []any{"id = @id", sql.Named("id", one)}},
		{"a name of a map", []any{"id IN @ids", map[string]any{"ids": keys}}},
		{"a name of a struct", []any{"id = @ID", row{ID: one}}},
		{"a column, key", []any{"id", one}},
		{"a column, slice", []any{"id", keys}},
		{"a column, zero", []any{"parent_id", zero}},
		{"a column, a key that is not masked", []any{"parent_id", key(-1)}},

		{"a struct", []any{row{ID: one}}},
		{"a pointer to a struct", []any{&row{ID: one, Item: "tea"}}},
		{"a struct with another key", []any{row{BuyerID: key(11)}}},
		{"a struct with a pointer", []any{row{ParentID: &one}}},
		{"a struct with zero", []any{row{ID: zero, Item: "tea"}}},
		{"a struct of zeros", []any{row{}}},
		{"fields of a struct", []any{&row{BuyerID: key(11), Item: "tea"}, "buyer_id"}},
		{"zero fields of a struct", []any{&row{Item: "tea"}, "buyer_id"}},
		{"structs", []any{[]row{{ID: one}, {ID: three}}}},
		{"a map of a key", []any{map[string]any{"id": one}}},
		{"a map of a pointer", []any{map[string]any{"id": &one}}},
		{"a map of a nil pointer", []any{map[string]any{"parent_id": (*K)(nil)}}},
		{"a map of zero", []any{map[string]any{"parent_id": zero}}},
		{"a map of a slice", []any{map[string]any{"id": keys}}},
		{"a map of an empty slice", []any{map[string]any{"id": []K{}}}},
		{"a map of pointers", []any{map[string]any{"id": []*K{&one, &three}}}},
		{"a map of an array", []any{map[string]any{"id": [2]K{one, three}}}},
		{"a map of any", []any{map[any]any{"id": one}}},
		{"an Eq", []any{clause.Eq{Column: "id", Value: one}}},
		{"an Eq of a slice", []any{clause.Eq{Column: "id", Value: keys}}},
		{"an IN", []any{clause.IN{Column: clause.PrimaryColumn, Values: []any{one, three}}}},
		{"a group", []any{db.Where("id = ?", one).Or("id = ?", three)}},
	}
}

// An operation returns what it found or wrote, and how it ended: as a *gorm.DB, or an error.
type operation struct {
	name string
	do   func(db *gorm.DB) []any
}

// found finds a T.
func found[T any](do func(db *gorm.DB, got *T) *gorm.DB) func(*gorm.DB) []any {
	return func(db *gorm.DB) []any {
		got := new(T)
		return []any{do(db, got), got}
	}
}

// wrote writes rows.
func wrote(rows any, do func(db *gorm.DB, rows any) *gorm.DB) func(*gorm.DB) []any {
	return func(db *gorm.DB) []any { return []any{do(db, rows), rows} }
}

func created(rows any) func(*gorm.DB) []any { return wrote(rows, (*gorm.DB).Create) }
func saved(rows any) func(*gorm.DB) []any   { return wrote(rows, (*gorm.DB).Save) }

func updated(rows any, column string, value any) func(*gorm.DB) []any {
	return wrote(rows, func(db *gorm.DB, rows any) *gorm.DB { return db.Model(rows).Update(column, value) })
}

func changed(rows, values any) func(*gorm.DB) []any {
	return wrote(rows, func(db *gorm.DB, rows any) *gorm.DB { return db.Model(rows).Updates(values) })
}

func deleted(rows any) func(*gorm.DB) []any {
	return wrote(rows, func(db *gorm.DB, rows any) *gorm.DB { return db.Delete(rows) })
}

// conditional is what takes a condition.
func (key keyType[K]) conditional(db *gorm.DB) (operations []operation) {
	type row = purchase[K]
	for _, c := range key.conditions(db) {
		add := func(name string, do func(db *gorm.DB) []any) {
			operations = append(operations, operation{name + ", by " + c.name, do})
		}
		find := func(name string, do func(db *gorm.DB, got *[]row) *gorm.DB) { add(name, found(do)) }
		one := func(name string, do func(db *gorm.DB, got *row) *gorm.DB) { add(name, found(do)) }
		write := func(name string, do func(db *gorm.DB, rows any) *gorm.DB) { add(name, wrote(&row{}, do)) }
		where := func(db *gorm.DB) *gorm.DB {
			if c.args == nil {
				return db
			}
			return db.Where(c.args[0], c.args[1:]...)
		}

		find("Find", func(db *gorm.DB, got *[]row) *gorm.DB { return db.Find(got, c.args...) })
		one("First", func(db *gorm.DB, got *row) *gorm.DB { return db.First(got, c.args...) })
		one("Take", func(db *gorm.DB, got *row) *gorm.DB { return db.Take(got, c.args...) })
		one("Find in one with a key", func(db *gorm.DB, got *row) *gorm.DB {
			got.ID = key(1)
			return db.Find(got, c.args...)
		})
		find("Where", func(db *gorm.DB, got *[]row) *gorm.DB { return where(db).Find(got) })
		if c.args != nil {
			find("Not", func(db *gorm.DB, got *[]row) *gorm.DB { return db.Not(c.args[0], c.args[1:]...).Find(got) })
			find("Or", func(db *gorm.DB, got *[]row) *gorm.DB {
				return db.Where("item = ?", "cups").Or(c.args[0], c.args[1:]...).Find(got)
			})
		}
		add("Count", found(func(db *gorm.DB, n *int64) *gorm.DB { return where(db.Model(&row{})).Count(n) }))
		add("Pluck", found(func(db *gorm.DB, ids *[]K) *gorm.DB { return where(db.Model(&row{})).Pluck("id", ids) }))
		one("FirstOrInit", func(db *gorm.DB, got *row) *gorm.DB { return db.FirstOrInit(got, c.args...) })
		one("FirstOrCreate", func(db *gorm.DB, got *row) *gorm.DB {
			return db.Attrs(row{ID: key(5), BuyerID: key(12)}).FirstOrCreate(got, c.args...)
		})
		find("Preload", func(db *gorm.DB, got *[]row) *gorm.DB { return db.Preload("Parent", c.args...).Find(got) })
		add("Association", func(db *gorm.DB) []any {
			var got []row
			children := []row{{ID: key(2), ParentID: new(key(1))}, {ID: key(4), ParentID: new(key(3))}}
			return []any{db.Model(&children).Association("Parent").Find(&got, c.args...), &got}
		})

		write("Delete", func(db *gorm.DB, rows any) *gorm.DB { return db.Delete(rows, c.args...) })
		write("Where and Delete", func(db *gorm.DB, rows any) *gorm.DB {
			return db.Where("item = ?", "tea").Delete(rows, c.args...)
		})
		write("Delete of Where", func(db *gorm.DB, rows any) *gorm.DB { return where(db).Delete(rows) })
		write("Update", func(db *gorm.DB, rows any) *gorm.DB { return where(db.Model(rows)).Update("buyer_id", key(12)) })
		write("Updates", func(db *gorm.DB, rows any) *gorm.DB {
			return where(db.Model(rows)).Updates(row{BuyerID: key(12), Item: "mug"})
		})
	}
	return operations
}

// writing is what makes and changes rows.
func (key keyType[K]) writing() []operation {
	type row = purchase[K]
	one, two, three := key(1), key(2), key(3)
	family := row{ID: key(6), Buyer: &buyer[K]{key(13), "eve"}, Parts: []part[K]{{ID: key(25)}, {ID: key(26)}}}
	plan := []row{{ID: one, BuyerID: key(12), Item: "mug"}, {ID: key(5), BuyerID: key(12)}}
	batches := []*row{{ID: key(5), BuyerID: key(11)}, {ID: key(6), BuyerID: key(11)}, {ID: key(7), BuyerID: key(11)}}
	nobody := map[string]any{"parent_id": (*K)(nil)}

	return []operation{
		{"Create", created(&[]row{{ID: key(5), BuyerID: key(11), ParentID: &one, Item: "mug"}, family})},
		{"Create without a key", created(&row{BuyerID: key(11), Item: "mug"})},
		{"Create without another key", created(&row{ID: key(5)})},
		{"Create again", created(&row{ID: one, BuyerID: key(12)})},
		{"Create or change", wrote(&plan, func(db *gorm.DB, rows any) *gorm.DB {
			return db.Clauses(clause.OnConflict{UpdateAll: true}).Create(rows)
		})},
		{"CreateInBatches", wrote(batches, func(db *gorm.DB, rows any) *gorm.DB { return db.CreateInBatches(rows, 2) })},
		{"Create of a map", func(db *gorm.DB) []any {
			return []any{db.Model(&row{}).Create(map[string]any{"ID": key(5), "BuyerID": key(12), "ParentID": &one})}
		}},

		{"Save", saved(&row{ID: one, BuyerID: key(12), ParentID: &two})},
		{"Save of a new row", saved(&row{ID: key(5), BuyerID: key(12)})},
		{"Save of rows", saved(&[]row{{ID: one, BuyerID: key(12)}, {ID: key(5), BuyerID: key(11)}})},

		{"Update of a row", updated(&row{ID: one}, "item", "mug")},
		{"Update of rows", updated(&[]row{{ID: one}, {ID: three}}, "item", "mug")},
		{"Update of a row without a key", updated(&row{}, "item", "mug")},
		{"Update of a key", updated(&row{ID: one}, "id", key(5))},
		{"Updates by a map", changed(&row{ID: two}, map[string]any{"buyer_id": key(12), "parent_id": &three})},
		{"Updates by a map of nil", changed(&row{ID: two, ParentID: &one}, map[string]any{"parent_id": nil})},
		{"Updates by a map of a nil pointer", changed(&row{ID: two}, nobody)},
		{"Updates by a struct", wrote(&row{ID: two, BuyerID: key(12)}, (*gorm.DB).Updates)},
		{"Updates of zeros", wrote(&row{ID: two}, func(db *gorm.DB, rows any) *gorm.DB {
			return db.Model(rows).Select("buyer_id", "parent_id").Updates(row{})
		})},
		{"UpdateColumns", wrote(&row{}, func(db *gorm.DB, rows any) *gorm.DB {
			return db.Model(rows).Where("buyer_id", key(11)).UpdateColumns(row{BuyerID: key(12)})
		})},

		{"Delete of a row", deleted(&row{ID: one})},
		{"Delete of rows", deleted(&[]row{{ID: one}, {ID: three}})},
		{"Delete of a row without a key", deleted(&row{})},
		{"Delete of a row with another condition", wrote(&row{ID: one}, func(db *gorm.DB, rows any) *gorm.DB {
			return db.Where("item = ?", "cups").Delete(rows)
		})},
		{"Delete of a row and its parts", wrote(&row{ID: one}, func(db *gorm.DB, rows any) *gorm.DB {
			return db.Select("Parts").Delete(rows)
		})},
		{"Delete of returned rows", found(func(db *gorm.DB, got *[]row) *gorm.DB {
			return db.Clauses(clause.Returning{}).Delete(got, []K{one, three})
		})},
		{"Exec", func(db *gorm.DB) []any {
			return []any{db.Exec("UPDATE purchases SET item = 'mug' WHERE id IN ? OR id = ?", []K{one}, &three)}
		}},
	}
}

// reading is what finds rows, other than by conditions alone.
func (key keyType[K]) reading() []operation {
	type row = purchase[K]
	keys := []K{key(1), key(3)}
	of := func(db *gorm.DB) *gorm.DB { return db.Model(&row{}) }
	cups := func(db *gorm.DB) *gorm.DB { return of(db).Select("id").Where("item = ?", "cups") }
	children := func(db *gorm.DB) *gorm.DB { return of(db).Where("parent_id IS NOT NULL") }
	type nullable struct {
		ID       *K
		BuyerID  sql.Null[K]
		ParentID sql.Null[K]
	}
	type counted struct {
		BuyerID K
		N       int64
	}

	return []operation{
		{"First into a row with a key", found(func(db *gorm.DB, got *row) *gorm.DB {
			got.ID = key(3)
			return db.First(got)
		})},
		{"Preload of all", found(func(db *gorm.DB, got *[]row) *gorm.DB {
			return db.Preload(clause.Associations).Preload("Parent.Parts").Find(got)
		})},
		{"Preload of parts", found(func(db *gorm.DB, got *[]row) *gorm.DB {
			return db.Preload("Parts", []K{key(21), key(23)}).Find(got)
		})},
		{"Preload of labels", found(func(db *gorm.DB, got *[]labelled[K]) *gorm.DB {
			return db.Preload("Labels").Find(got)
		})},
		{"Joins", found(func(db *gorm.DB, got *[]row) *gorm.DB { return db.Joins("Buyer").Joins("Parent").Find(got) })},
		{"Joins by conditions", found(func(db *gorm.DB, got *[]row) *gorm.DB {
			buyers, parents := db.Where(&buyer[K]{ID: key(11)}), db.Where(&row{ID: key(1)})
			return db.Joins("Buyer", buyers).InnerJoins("Parent", parents).Find(got)
		})},
		{"Joins by SQL", found(func(db *gorm.DB, got *[]row) *gorm.DB {
			const parts = "JOIN parts ON parts.purchase_id = purchases.id AND parts.id IN ?"
			return db.Joins(parts, []K{key(21), key(23)}).Find(got, key(1))
		})},

		{"Scan into keys", found(func(db *gorm.DB, got *[]K) *gorm.DB { return children(db).Select("parent_id").Scan(got) })},
		{"Scan into a key", found(func(db *gorm.DB, got *K) *gorm.DB { return cups(db).Scan(got) })},
		{"Scan into a pointer", found(func(db *gorm.DB, got **K) *gorm.DB { return cups(db).Scan(got) })},
		{"Scan into structs", found(func(db *gorm.DB, got *[]nullable) *gorm.DB { return of(db).Scan(got) })},
		{"Scan into a map", func(db *gorm.DB) []any {
			var ids []any
			var got []map[string]any
			end := of(db).Find(&got)
			for _, g := range got {
				ids = append(ids, g["id"], g["parent_id"])
			}
			return []any{end, &ids}
		}},
		{"Pluck of pointers", found(func(db *gorm.DB, got *[]*K) *gorm.DB { return children(db).Pluck("parent_id", got) })},
		{"Pluck of NULL", found(func(db *gorm.DB, got *[]sql.Null[K]) *gorm.DB { return of(db).Pluck("parent_id", got) })},
		{"Distinct", found(func(db *gorm.DB, got *[]K) *gorm.DB {
			return of(db).Distinct("buyer_id").Order("buyer_id").Find(got)
		})},
		{"Group", found(func(db *gorm.DB, got *[]counted) *gorm.DB {
			groups := of(db).Select("buyer_id, COUNT(*) AS n").Group("buyer_id")
			return groups.Having("buyer_id IN ?", []K{key(11)}).Scan(got)
		})},
		{"FindInBatches", found(func(db *gorm.DB, all *[]row) *gorm.DB {
			var got []row
			return db.FindInBatches(&got, 3, func(*gorm.DB, int) error {
				*all = append(*all, got...)
				return nil
			})
		})},
		{"Rows", func(db *gorm.DB) []any {
			rows, err := of(db).Where("id", key(1)).Rows()
			if err != nil {
				return []any{err}
			}
			defer rows.Close()
			var got row
			rows.Next()
			return []any{db.ScanRows(rows, &got), &got}
		}},
		{"Raw", found(func(db *gorm.DB, got *[]row) *gorm.DB {
			return db.Raw("SELECT * FROM purchases WHERE id IN @ids", sql.Named("ids", keys)).Scan(got)
		})},
		{"generics", func(db *gorm.DB) []any {
			got, err := gorm.G[row](db).Where("id IN ?", keys).Find(db.Statement.Context)
			n, deleteErr := gorm.G[row](db).Where(keys).Delete(db.Statement.Context)
			return []any{got, err, int64(n), deleteErr}
		}},
	}
}

// associating is each method of an association, for each kind of one.
func (key keyType[K]) associating() (operations []operation) {
	for _, a := range []struct {
		name         string
		owner        func() any
		there, other any // one that is there, and another
		find         func() any
	}{
		{
			name:  "Parts", // has many
			owner: func() any { return &purchase[K]{ID: key(1), BuyerID: key(11)} },
			there: &part[K]{ID: key(22), Name: "bag"},
			other: &part[K]{ID: key(27), Name: "lid"},
			find:  func() any { return &[]part[K]{} },
		},
		{
			name:  "Buyer", // belongs to
			owner: func() any { return &purchase[K]{ID: key(1), BuyerID: key(11)} },
			there: &buyer[K]{ID: key(11), Name: "ada"},
			other: &buyer[K]{ID: key(13), Name: "eve"},
			find:  func() any { return &[]buyer[K]{} },
		},
		{
			name:  "Parent", // belongs to, or not
			owner: func() any { return &purchase[K]{ID: key(2), BuyerID: key(11), ParentID: new(key(1))} },
			there: &purchase[K]{ID: key(1), BuyerID: key(11)},
			other: &purchase[K]{ID: key(3), BuyerID: key(11)},
			find:  func() any { return &[]purchase[K]{} },
		},
		{
			name:  "Labels", // many to many
			owner: func() any { return &labelled[K]{ID: key(1), BuyerID: key(11)} },
			there: &label[K]{ID: key(32), Name: "sold"},
			other: &label[K]{ID: key(33), Name: "lost"},
			find:  func() any { return &[]label[K]{} },
		},
	} {
		add := func(name string, do func(of *gorm.Association) []any) {
			operations = append(operations, operation{name + " of " + a.name, func(db *gorm.DB) []any {
				owner := a.owner()
				return append(do(db.Model(owner).Association(a.name)), owner)
			}})
		}
		add("Find", func(of *gorm.Association) []any {
			got := a.find()
			return []any{of.Find(got), got}
		})
		add("Find by a slice", func(of *gorm.Association) []any {
			got := a.find()
			return []any{of.Find(got, []K{key(1), key(11), key(22), key(32)}), got}
		})
		add("Count", func(of *gorm.Association) []any { return []any{of.Count(), of.Error} })
		add("Append", func(of *gorm.Association) []any { return []any{of.Append(a.other)} })
		add("Replace", func(of *gorm.Association) []any { return []any{of.Replace(a.other)} })
		add("Delete", func(of *gorm.Association) []any { return []any{of.Delete(a.there)} })
		add("Delete of another", func(of *gorm.Association) []any { return []any{of.Delete(a.other)} })
		add("Clear", func(of *gorm.Association) []any { return []any{of.Clear()} })
	}
	return operations
}

// An outcome is what an operation found, how it ended, and the rows that there are then.
type outcome struct {
	operation
	text, rows string
	failed     bool
}

// run fills tables, and does each operation in a transaction that is undone.
func (key keyType[K]) run(t *testing.T, db *gorm.DB) (outcomes []outcome) {
	key.fill(t, db)
	for _, operation := range slices.Concat(key.conditional(db), key.writing(), key.reading(), key.associating()) {
		tx := db.Begin()
		got := outcome{operation: operation}
		for _, v := range operation.do(tx) {
			switch v := v.(type) {
			case *gorm.DB:
				got.text += fmt.Sprintln(v.RowsAffected, v.Error)
				got.failed = got.failed || v.Error != nil
			case error:
				got.text += fmt.Sprintln(v)
				got.failed = true
			default:
				got.text += show(reflect.ValueOf(v)) + "\n"
			}
		}
		var lines []string
		err := tx.Raw(allRows).Scan(&lines).Error
		must(t, tx.Rollback().Error)
		if got.failed && err != nil { // PostgreSQL has undone what there was before the error
			err = db.Raw(allRows).Scan(&lines).Error
		}
		must(t, err)
		got.rows = strings.Join(lines, "\n")
		outcomes = append(outcomes, got)
	}
	return outcomes
}

// A dialect is one of GORM's, with types of columns.
type dialect struct {
	open     func(t *testing.T, database string) gorm.Dialector
	identity string
}

var dialects = map[string]dialect{
	"PostgreSQL": {
		open: func(t *testing.T, database string) gorm.Dialector {
			conn := connectPostgres(t)
			for _, statement := range []string{
				"CREATE SCHEMA " + database,
				"ALTER SYSTEM SET autovacuum = off", // new statistics would change plans, and so the order of rows
				"SELECT pg_reload_conf()",
			} {
				require.Done(t)(conn.Exec(t.Context(), statement))
			}
			return postgres.Open(postgresServer.URL() + "&search_path=" + database)
		},
		identity: "bigint GENERATED BY DEFAULT AS IDENTITY",
	},
	"MariaDB": {
		open: func(t *testing.T, database string) gorm.Dialector {
			require.Done(t)(mariaDB.Do("CREATE DATABASE " + database))
			source := databases(t)["MariaDB, binary"].source
			return mysql.Open(source[:strings.LastIndex(source, "/")+1] + database)
		},
		identity: "BIGINT AUTO_INCREMENT",
	},
}

// refused reports whether an operation is by a form of keys that GORM takes in a []int64 alone.
func (o operation) refused() bool {
	return strings.HasSuffix(o.name, ", by a column, slice") || strings.HasSuffix(o.name, ", by an Eq of a slice")
}

// testKeys has GORM do everything with plain keys, and with masked ones of the same values. All ends
// alike, except that masked keys are refused in some forms.
func testKeys[P, M any](t *testing.T, plain keyType[P], masked keyType[M]) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			column, made := "bigint", d.identity
			if id, ok := any(plain(99)).(uuid.UUID); ok {
				column, made = "uuid", fmt.Sprintf("uuid DEFAULT '%s'", id)
			}
			open := func(keys string) *gorm.DB {
				database := keys + strings.ReplaceAll(strings.ToLower(t.Name()), "/", "_")
				db, err := gorm.Open(d.open(t, database), &gorm.Config{Logger: logger.Discard})
				must(t, err)
				for _, table := range tables {
					must(t, db.Exec(fmt.Sprintf(table, column, made)).Error)
				}
				return db
			}
			wants := plain.run(t, open("plain_"))
			for i, got := range masked.run(t, open("masked_")) {
				want := wants[i]
				if want.name == "Scan into a key" { // is counted if that is an int64
					want.text = strings.Replace(want.text, "1 <nil>", "0 <nil>", 1)
				}
				same := got.text == want.text && got.rows == want.rows
				if want.name == "Delete, by a slice" {
					same = same && strings.HasPrefix(got.text, "2 <nil>\n")
				}
				if want.refused() {
					same = got.failed && got.rows == wants[0].rows
				}
				require.That(t, same,
					"%s: %s%s\nwith plain keys: %s%s", want.name, got.text, got.rows, want.text, want.rows)
			}
		})
	}
}

// TestGORMMasked: masked keys are to GORM what plain ones are.
func TestGORMMasked(t *testing.T) {
	t.Run("signed", func(t *testing.T) { testKeys(t, signedPlain, signedMasked) })
	t.Run("unsigned", func(t *testing.T) { testKeys(t, unsignedPlain, unsignedMasked) })
	t.Run("UUID", func(t *testing.T) { testKeys(t, uuidPlain, uuidMasked) })
}

// TestGORMMigrates: GORM makes the same columns for masked keys as for plain ones.
func TestGORMMigrates(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			db, err := gorm.Open(d.open(t, "migrated"), &gorm.Config{Logger: logger.Discard})
			must(t, err)
			plain := migrated[int64, uuid.UUID](t, db.Table("plain"))
			masked := migrated[numberedKey, datedKey](t, db.Table("masked"))
			require.That(t, masked == plain, "%s, with plain keys: %s", masked, plain)
		})
	}
}

func migrated[N, U any](t *testing.T, db *gorm.DB) (columns string) {
	type row struct {
		ID     N
		Parent *N
		Page   U `gorm:"type:uuid"`
		Text   U
	}
	must(t, db.AutoMigrate(&row{}))
	types, err := db.Migrator().ColumnTypes(&row{})
	must(t, err)
	for _, c := range types {
		kind, _ := c.ColumnType()
		made, _ := c.AutoIncrement()
		columns += fmt.Sprintln(c.Name(), kind, made)
	}
	return columns
}

// TestGORMULID: to GORM a ulid.ID is 16 keys, its bytes, and in MariaDB a BINARY(16) that is no decimal
// number is 0, so that a ULID with a byte of 0 deletes every row.
func TestGORMULID(t *testing.T) {
	db, err := gorm.Open(dialects["MariaDB"].open(t, "ulids"), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	type row struct {
		ID ulid.ID `gorm:"type:binary(16)"`
	}
	must(t, db.AutoMigrate(&row{}))
	rows := []row{{ulid.ID{1, 15: 1}}, {ulid.ID{1, 15: 2}}, {ulid.ID{1, 15: 3}}}
	must(t, db.Create(&rows).Error)
	id := rows[0].ID

	for _, tt := range []struct {
		conditions []any
		deleted    int64
	}{
		{[]any{id}, 3},
		{[]any{"id = ?", id}, 1},
		{[]any{"id IN ?", []ulid.ID{id}}, 1},
		{[]any{[]ulid.ID{id}}, 1},
		{[]any{&row{id}}, 1},
	} {
		tx := db.Begin()
		got := tx.Delete(&row{}, tt.conditions...)
		require.That(t, got.Error == nil && got.RowsAffected == tt.deleted,
			"Delete by %v deletes %d rows, %v, want %d, as docs/databases.md says",
			tt.conditions, got.RowsAffected, got.Error, tt.deleted)
		must(t, tx.Rollback().Error)
	}
}
