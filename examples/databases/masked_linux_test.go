package databases

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
)

// Kinds of masked keys. They have no masker, so whatever asks for a masked form fails.
type (
	numbered struct{}
	sortable struct{}
	dated    struct{}

	numberedKey = mask.ID[numbered, int64]
	sortableKey = mask.ID[sortable, snowflake.ID]
	datedKey    = mask.UUID[dated, uuid.UUID]
)

func (numbered) IDPrefix() string                   { return "num" }
func (numbered) Masker() *mask.Masker[int64]        { return nil }
func (sortable) IDPrefix() string                   { return "" }
func (sortable) Masker() *mask.Masker[snowflake.ID] { return nil }
func (dated) Masker() *mask.UUIDMasker[uuid.UUID]   { return nil }

// A keyType is a type of keys. Key n is the same value in a plain type and in a masked one.
type keyType[K any] func(n int64) K

// Plain keys, and masked ones of the same values. Below 0 a number or a UUID can't be masked.
func signedPlain(n int64) int64          { return n<<53 | n }
func signedMasked(n int64) numberedKey   { return mask.Of[numbered](signedPlain(n)) }
func unsignedPlain(n int64) int64        { return -signedPlain(n) } // from 2^63 on
func unsignedMasked(n int64) sortableKey { return mask.Of[sortable](snowflake.ID(unsignedPlain(n))) }
func uuidMasked(n int64) datedKey        { return mask.OfUUID[dated](uuidPlain(n)) }

func uuidPlain(n int64) (id uuid.UUID) {
	const variant = 2 << 62
	binary.BigEndian.PutUint64(id[8:], variant|uint64(n)&^(3<<62))
	id[6] = 7 << 4
	if n < 0 {
		id[6] = 4 << 4
	}
	return id
}

// show prints a value by its kind, as methods of masked keys show something else.
func show(v reflect.Value) string {
	var parts []string
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return show(v.Elem())
	case reflect.Int64:
		return fmt.Sprint(v.Int())
	case reflect.Struct:
		for i := range v.NumField() {
			parts = append(parts, show(v.Field(i)))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			parts = append(parts, show(v.Index(i)))
		}
	default: // nil too
		return fmt.Sprint(v)
	}
	return fmt.Sprint(parts)
}

// testMaskedInPGX copies rows with masked keys, and reads those that arrays of keys name.
func testMaskedInPGX(t *testing.T, conn *pgx.Conn) {
	ctx := t.Context()
	_, err := conn.Exec(ctx, "CREATE TABLE documents (id bigint PRIMARY KEY, page uuid NOT NULL, parent bigint)")
	must(t, err)
	type document struct {
		ID     numberedKey
		Page   datedKey
		Parent *numberedKey
	}
	var all []document
	for n := range int64(3) {
		all = append(all, document{ID: signedMasked(n), Page: uuidMasked(n)})
	}
	all[2].Parent = &all[0].ID
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"documents"}, []string{"id", "page", "parent"},
		pgx.CopyFromSlice(len(all), func(i int) ([]any, error) { return []any{all[i].ID, all[i].Page, all[i].Parent}, nil }))
	must(t, err)

	const query = `SELECT id, page, parent FROM documents
		WHERE id = ANY($1) AND page = ANY($2) AND (parent IS NULL OR parent = $3) ORDER BY id`
	ids := []numberedKey{all[0].ID, all[2].ID, 7}
	pages := []datedKey{all[0].Page, all[1].Page, all[2].Page}
	rows, err := conn.Query(ctx, query, ids, pages, all[2].Parent)
	must(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[document])
	must(t, err)
	if shown, want := show(reflect.ValueOf(got)), show(reflect.ValueOf([]document{all[0], all[2]})); shown != want {
		t.Errorf("got %s, want %s", shown, want)
	}
}

// A shop of bun has goods. K is the type of all keys.
type shop[K any] struct {
	bun.BaseModel `bun:"table:shops,alias:shop"`

	ID     K `bun:",pk"`
	Parent *K
	Goods  []*good[K] `bun:"rel:has-many,join:id=shop_id"`
}

type good[K any] struct {
	bun.BaseModel `bun:"table:goods,alias:good"`

	ID     K `bun:",pk"`
	ShopID K
	Shop   *shop[K] `bun:"rel:belongs-to,join:shop_id=id"`
}

// inBun has bun do everything with keys of a type. It returns the statements, how they end, and what
// is found.
func (key keyType[K]) inBun(t *testing.T) (lines []string) {
	source, err := sql.Open("pgx", postgresServer.URL())
	must(t, err)
	defer source.Close()
	source.SetMaxOpenConns(1) // a session has the tables
	db := bun.NewDB(source, pgdialect.New())
	one, two := key(1), key(2)
	others := []K{key(3), key(4)}
	shops := []shop[K]{{ID: one}, {ID: two, Parent: &one}}
	goods := []good[K]{{ID: key(11), ShopID: one}, {ID: key(12), ShopID: two}}

	for _, query := range []fmt.Stringer{
		db.NewCreateTable().Temp().Model((*shop[K])(nil)),
		db.NewCreateTable().Temp().Model((*good[K])(nil)),
		db.NewInsert().Model(&shops),
		db.NewInsert().Model(&goods),
		db.NewUpdate().Model(&shop[K]{ID: one, Parent: &two}).WherePK(),
		db.NewUpdate().Model(&shops).Column("parent").Bulk(),
		db.NewUpdate().Model((*shop[K])(nil)).Set("parent = ?", &two).Where("id = ?", one),
		db.NewDelete().Model(&shop[K]{ID: others[0]}).WherePK(),
		db.NewDelete().Model(&[]shop[K]{{ID: others[0]}, {ID: others[1]}}).WherePK(),
		db.NewDelete().Model((*shop[K])(nil)).Where("id IN (?)", bun.List(others)),
		db.NewDelete().Model((*shop[K])(nil)).Where("id IN (?)", bun.List([]K{})),
		db.NewDelete().Model((*shop[K])(nil)).Where("id = ANY(?)", pgdialect.Array(others)),
		db.NewDelete().Model((*shop[K])(nil)).Where("(id, parent) IN (?)", bun.List([]any{bun.Tuple(others)})),
	} {
		_, err := db.Exec(query.String())
		lines = append(lines, fmt.Sprint(query, err))
	}

	var found []shop[K]
	err = db.NewSelect().Model(&found).Relation("Goods.Shop").Where("id IN (?)", bun.List([]K{one, two})).Scan(t.Context())
	lines = append(lines, fmt.Sprint(show(reflect.ValueOf(found)), err))
	var parents []*K
	err = db.NewSelect().Model((*shop[K])(nil)).Column("parent").Scan(t.Context(), &parents)
	lines = append(lines, fmt.Sprint(show(reflect.ValueOf(parents)), err))
	return lines
}

// TestBunMasked: bun writes with masked keys what it writes with plain ones.
func TestBunMasked(t *testing.T) {
	testBun(t, signedPlain, signedMasked)
	testBun(t, unsignedPlain, unsignedMasked)
	testBun(t, uuidPlain, uuidMasked)
}

func testBun[P, M any](t *testing.T, plain keyType[P], masked keyType[M]) {
	wants := plain.inBun(t)
	for i, got := range masked.inBun(t) {
		require.That(t, got == wants[i], "%s\nwith plain keys: %s", got, wants[i])
	}
}
