package databases

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/randflake/randflake"
)

// A Note is a row of bun.
type Note struct {
	ID     randflake.ID     `bun:",pk"`
	Author randflake.TextID `bun:"type:varchar(13)"` // or bun makes it a BIGINT
	Text   string
}

// BeforeAppendModel sets the key of a new row, unless there is one.
func (n *Note) BeforeAppendModel(_ context.Context, query bun.Query) error {
	if _, ok := query.(*bun.InsertQuery); !ok || n.ID != 0 {
		return nil
	}
	id, err := generator.Generate()
	n.ID = id
	return err
}
