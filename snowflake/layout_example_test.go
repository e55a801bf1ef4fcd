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
	fmt.Println(layout.Workers(), "workers,", layout.Rate(), "IDs a second each, until", layout.Expires().Year())

	_, err = snowflake.NewLayout("orders", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Time(41), snowflake.Static("worker", 10), snowflake.Sequence(14))
	fmt.Println(err)
	// Output:
	// orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z
	// 1024 workers, 4.096e+06 IDs a second each, until 2094
	// snowflake: invalid layout: parts [time 41 worker 10 sequence 14]: 65 bits together: expected at most 64
}

func ExampleLayout_Inspect() {
	id, err := snowflake.Parse("175928847299117063")
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := snowflake.Discord().Inspect(id)
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

func ExampleLayout_Lifetime() {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	err := snowflake.Baidu().Lifetime(now)
	fmt.Println(errors.Is(err, snowflake.ErrEndOfLife))
	fmt.Println(snowflake.Twitter().Lifetime(now))
	// Output:
	// true
	// <nil>
}

func ExampleID_Base58() {
	id := snowflake.ID(1541815603606036480)
	fmt.Println(id, id.Base32(), id.Base58(), id.Base62())

	id, err := snowflake.ParseBase58("11111111112")
	fmt.Println(id, err)
	// Output:
	// 1541815603606036480 1apd13th1f800 4aaW4SzAyQK 1ptWyK4WgZU
	// 1 <nil>
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

// The IDs of somebody who wrote the widths down, and nothing else.
func ExampleWorker15() {
	layout, err := snowflake.Worker15(time.Date(2017, 12, 21, 0, 0, 0, 0, time.UTC), 10*time.Millisecond)
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(28991029248001)
	fmt.Println(fields.Time, fields.Static, fields.Sequence, err)
	// Output:
	// 2017-12-21 02:24:00 +0000 UTC map[worker:0] 1 <nil>
}

// As github.com/bwmarrin/snowflake writes them.
func ExampleID_Base36() {
	id := snowflake.ID(1541815603606036480)
	fmt.Println(id.Base36(), id.Base64())
	fmt.Println(id.Base2())

	id, err := snowflake.ParseBase36("bppc0m3ju134")
	fmt.Println(id, err)
	// Output:
	// bppc0m3ju134 MTU0MTgxNTYwMzYwNjAzNjQ4MA==
	// 1010101100101101000010001111101100010000101111010000000000000
	// 1541815603606036480 <nil>
}
