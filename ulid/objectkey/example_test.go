package objectkey_test

import (
	"fmt"
	"time"

	"github.com/randflake/randflake/ulid"
	"github.com/randflake/randflake/ulid/objectkey"
)

// Objects of an interval are found with one listing. A store lists them page by page; here, a slice
// stands for it.
func ExampleKeys_Listing() {
	keys, err := objectkey.New(objectkey.Format{Prefix: "events/", Splits: []int{6}, Delimiter: "/", Suffix: ".json"})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := noon
	generator, err := ulid.New(ulid.WithClock(func() time.Time { return now }))
	if err != nil {
		fmt.Println(err)
		return
	}
	var store []string
	for range 24 {
		id, _ := generator.Generate()
		store = append(store, keys.Key(id))
		now = now.Add(5 * time.Minute)
	}

	listing, _ := keys.Listing(noon.Add(30*time.Minute), noon.Add(time.Hour))
	fmt.Printf("%+v\n", listing)
	for _, key := range store { // ListObjectsV2 with listing.Prefix and listing.StartAfter
		if listing.Ends(key) {
			break
		}
		if listing.Contains(key) {
			id, _ := keys.Parse(key)
			fmt.Println(ulid.Inspect(id).Time.Format(time.TimeOnly))
		}
	}
	// Output:
	// {Prefix:events/01M7W StartAfter:events/01M7WE/YRA0 Until:events/01M7WG/NP40}
	// 12:30:00
	// 12:35:00
	// 12:40:00
	// 12:45:00
	// 12:50:00
	// 12:55:00
}
