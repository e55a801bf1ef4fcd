package ulid_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake/ulid"
)

func Example() {
	generator := ulid.New()
	id, err := generator.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	text := id.String()
	fmt.Println(len(text), time.Since(ulid.Inspect(id).Time) < time.Hour)
	// Output: 26 true
}

func ExampleGenerator_Fill() {
	ids := make([]ulid.ID, 1000)
	n, err := ulid.New().Fill(ids)
	fmt.Println(n, err, slices.IsSortedFunc(ids, ulid.ID.Compare))
	// Output: 1000 <nil> true
}

func ExampleParse() {
	id, err := ulid.Parse("01M7WD7TG0TSV4RRFFQ69G5FAV")
	fmt.Println(ulid.Inspect(id).Time, err)
	_, err = ulid.Parse("01m7wd7tg0tsv4rrffq69g5fav")
	fmt.Println(err)
	// Output:
	// 2026-11-20 12:00:00 +0000 UTC <nil>
	// ulid: invalid ID: "01m7wd7tg0tsv4rrffq69g5fav": character 3 is not a digit of Crockford's base32 in upper case (0-9, A-Z without I, L, O, U)
}

// One order for all goroutines: whoever asks later gets a larger ID.
func ExampleStrict() {
	generator := ulid.New(ulid.Strict())
	first, _ := generator.Generate()
	result := make(chan ulid.ID)
	go func() {
		id, _ := generator.Generate()
		result <- id
	}()
	second := <-result
	fmt.Println(first.Compare(second))
	// Output: -1
}

func ExampleWithClock() {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	generator := ulid.New(ulid.WithClock(func() time.Time { return noon }))
	id, err := generator.Generate()
	fmt.Println(id.String()[:10], ulid.Inspect(id).Time, err)
	// Output: 01M7WD7TG0 2026-11-20 12:00:00 +0000 UTC <nil>
}

// Objects of an interval are found with one listing. A store lists them page by page; here, a slice
// stands for it.
func ExampleKeys_Listing() {
	keys, err := ulid.NewKeys(ulid.KeyFormat{Prefix: "events/", Splits: []int{6}, Delimiter: "/", Suffix: ".json"})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := noon
	generator := ulid.New(ulid.WithClock(func() time.Time { return now }))
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

// A folder at a time, for many workers.
func ExampleKeys_Listings() {
	keys, err := ulid.NewKeys(ulid.KeyFormat{Prefix: "events/", Splits: []int{6}, Delimiter: "/"})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	listings, err := keys.Listings(noon, noon.Add(45*time.Minute), 6)
	if err != nil {
		fmt.Println(err)
		return
	}
	for listing := range listings {
		fmt.Printf("%+v\n", listing)
	}
	// Output:
	// {Prefix:events/01M7WD/ StartAfter:events/01M7WD/7TG0 Until:}
	// {Prefix:events/01M7WE/ StartAfter: Until:}
	// {Prefix:events/01M7WF/ StartAfter: Until:events/01M7WF/T770}
}

// The fewest prefixes, for what takes nothing else.
func ExampleKeys_Prefixes() {
	keys, err := ulid.NewKeys(ulid.KeyFormat{Prefix: "events/", Splits: []int{6}, Delimiter: "/"})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, prefix := range keys.Prefixes(noon, noon.Add(98*time.Millisecond)) {
		fmt.Println(prefix)
	}
	// Output:
	// events/01M7WD/7TG
	// events/01M7WD/7TH
	// events/01M7WD/7TJ
	// events/01M7WD/7TK0
	// events/01M7WD/7TK1
}

func ExampleFormatUUID() {
	id, err := ulid.ParseUUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	fmt.Println(id, ulid.Inspect(id).Time, err)
	fmt.Println(ulid.FormatUUID(id))
	// Output:
	// 01FWHE4YDGFK1SHH6W1G60EECF 2022-02-22 19:22:22 +0000 UTC <nil>
	// 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
}
