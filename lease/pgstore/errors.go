package pgstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/randflake/randflake/lease"
)

// unsafeCode is the SQLSTATE by which the functions refuse a server's settings.
const unsafeCode = "RF001"

// explain wraps an error of the driver with what was tried, and what to do where that is known.
func (s *Store) explain(what string, err error) error {
	server := new(pgconn.PgError)
	if !errors.As(err, &server) {
		return fmt.Errorf("pgstore: %s: %w", what, err)
	}
	switch code := server.Code; {
	case code == unsafeCode:
		return fmt.Errorf("pgstore: %s: refused: %w", what, err)
	case code == "3F000" || code == "42P01" || code == "42883" || code == "3D000": // no schema, table, function, database
		return fmt.Errorf("pgstore: %s: %w: %w: %s", what, lease.ErrNoStore, err, howToCreate)
	case code == "42501":
		return fmt.Errorf("pgstore: %s: %w: grant USAGE on schema %s, SELECT, INSERT and UPDATE on its tables, EXECUTE on its functions; to create it, CREATE on the database, or let somebody run what pgstore.DDL returns",
			what, err, s.names.quoted)
	case strings.HasPrefix(code, "23"):
		return fmt.Errorf("pgstore: %s: %w: %w", what, lease.ErrCorrupt, err)
	}
	return fmt.Errorf("pgstore: %s: %w", what, err)
}

const howToCreate = "randflake lease init -store URL makes one, as does pgstore.Create"

func (s *Store) thereIsOne() error {
	return fmt.Errorf("pgstore: create: schema %s: %w: a store, or what is left of one, is never replaced: use Open, or another schema", s.names.quoted, fs.ErrExist)
}

func (s *Store) noStore(what string) error {
	return fmt.Errorf("pgstore: %s: schema %s: %w: %s", what, s.names.quoted, lease.ErrNoStore, howToCreate)
}
