package databases

import (
	"context"
	"database/sql"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake"
)

// renameOrder changes the row that a client names.
func renameOrder(ctx context.Context, db *sql.DB, text, item string) error {
	id, err := randflake.Parse(text)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "UPDATE orders SET item = ? WHERE id = ?", item, id)
	return err
}

// useSecretInMariaDB gives a secret to a session. The rows of a LOAD DATA are in no log and no plan.
func useSecretInMariaDB(ctx context.Context, conn *sql.Conn, secret randflake.Secret) error {
	mysql.RegisterReaderHandler("secret", func() io.Reader { return strings.NewReader(secret.Hex()) })
	defer mysql.DeregisterReaderHandler("secret")
	for _, statement := range []string{
		"USE ids",
		"CREATE TEMPORARY TABLE given (secret CHAR(32))",
		"LOAD DATA LOCAL INFILE 'Reader::secret' INTO TABLE given",
		"SET @randflake_key = (SELECT randflake_key_of(secret) FROM given)",
		"DROP TEMPORARY TABLE given",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
