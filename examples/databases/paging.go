package databases

import (
	"context"
	"database/sql"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
)

// An Article has a key that sorts by time, and is shown masked.
type Article struct {
	ID   ArticleID
	Text string
}

type ArticleID = mask.ID[Article, snowflake.ID]

// A real program reads its secret: with another one, all cursors and URLs of before are wrong.
var articleMasker = mask.NewMasker[snowflake.ID](randflake.NewSecret(), "article", nil)

func (Article) IDPrefix() string                   { return "art" }
func (Article) Masker() *mask.Masker[snowflake.ID] { return articleMasker }

// articlesAfter returns at most limit articles, oldest first, and the cursor of those that follow. A cursor is the
// text of the last article's key, which tells a client nothing. The first one is "". If no articles are left, next is
// cursor again: stop there.
func articlesAfter(
	ctx context.Context, db *sql.DB, cursor string, limit int,
) (articles []Article, next string, err error) {
	next = cursor
	var last ArticleID
	if cursor != "" {
		last, err = mask.Parse[Article](cursor)
		if err != nil {
			return nil, "", err
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT id, text FROM articles WHERE id > $1 ORDER BY id LIMIT $2", last, limit)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	for rows.Next() {
		var a Article
		err := rows.Scan(&a.ID, &a.Text)
		if err != nil {
			return nil, "", err
		}
		articles, next = append(articles, a), a.ID.String()
	}
	return articles, next, rows.Err()
}
