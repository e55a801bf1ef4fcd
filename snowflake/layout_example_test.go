package snowflake_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/snowflake"
)

func ExampleNewLayout() {
	layout, err := snowflake.NewLayout("orders", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Time(41), snowflake.Static("region", 3), snowflake.Static("worker", 7), snowflake.Sequence(12))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout)
	fmt.Println(layout.Workers(), "workers until", layout.Expires().Year())

	_, err = snowflake.NewLayout("orders", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Time(41), snowflake.Static("worker", 10), snowflake.Sequence(14))
	fmt.Println(err)
	// Output:
	// orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z
	// 1024 workers until 2094
	// snowflake: invalid layout: time 41, worker 10, sequence 14: 65 bits together: want at most 64
}

func ExampleLayout_Inspect() {
	id, err := snowflake.Parse("175928847299117063")
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, err := snowflake.ParseLayout("discord")
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(id)
	fmt.Println(fields.Time, fields.Static, fields.Sequence, err)
	// Output:
	// 2016-04-30 11:18:25.796 +0000 UTC map[process:0 worker:1] 7 <nil>
}

func ExampleLayout_Range() {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	first, last, err := snowflake.Twitter().Range(day, day.AddDate(0, 0, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("SELECT * FROM posts WHERE id BETWEEN %d AND %d\n", first, last)
	// Output:
	// SELECT * FROM posts WHERE id BETWEEN 2123929381893046272 AND 2124291769758646271
}

// A layout from a configuration.
func ExampleParseLayout() {
	layout, err := snowflake.ParseLayout("orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z")
	fmt.Println(layout.Workers(), layout.Expires().Year(), err)

	_, err = snowflake.ParseLayout("orders: time 41; since 2025")
	fmt.Println(errors.Is(err, snowflake.ErrInvalidLayout))
	// Output:
	// 1024 2094 <nil>
	// true
}
