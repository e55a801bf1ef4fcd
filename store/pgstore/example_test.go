package pgstore_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/randflake/randflake/store/pgstore"
)

// For a database administrator who lets no program create tables.
func ExampleDDL() {
	statements, err := pgstore.DDL("leases")
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(statements) {
		if strings.Contains(line, "GRANT") {
			fmt.Print(line)
		}
	}
	// Output:
	// --   GRANT USAGE ON SCHEMA "leases" TO role;
	// --   GRANT SELECT, INSERT, UPDATE, DELETE ON "leases".entries TO role;
	// --   GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "leases" TO role;
}
