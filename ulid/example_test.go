package ulid_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake/ulid"
)

func Example() {
	generator, err := ulid.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := generator.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(id.String()), time.Since(ulid.Inspect(id).Time) < time.Hour)
	ids := make([]ulid.ID, 1000)
	n, err := generator.Fill(ids)
	fmt.Println(n, err, slices.IsSortedFunc(ids, ulid.ID.Compare))
	// Output:
	// 26 true
	// 1000 <nil> true
}

func ExampleParse() {
	id, err := ulid.Parse("01M7WD7TG0TSV4RRFFQ69G5FAV")
	fmt.Println(ulid.Inspect(id).Time, err)
	id, err = ulid.Parse("01m7wd7tg0tsv4rrffq69g5fav") // as some write it
	fmt.Println(id, err)
	// Output:
	// 2026-11-20 12:00:00 +0000 UTC <nil>
	// 01M7WD7TG0TSV4RRFFQ69G5FAV <nil>
}

func ExampleFormatUUID() {
	id, err := ulid.ParseUUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	fmt.Println(id, ulid.Inspect(id).Time, err)
	fmt.Println(ulid.FormatUUID(id))
	// Output:
	// 01FWHE4YDGFK1SHH6W1G60EECF 2022-02-22 19:22:22 +0000 UTC <nil>
	// 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
}
