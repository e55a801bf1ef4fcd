package library

import (
	"slices"
	"testing"
)

const printed = `goos: linux
pkg: github.com/randflake/randflake
BenchmarkRandInt64-2   	1000	         5.000 ns/op
BenchmarkBackend/avx512/fill-2   	1000	         1.500 ns/op	5000.00 MB/s	       0 B/op	       0 allocs/op
BenchmarkLate-2   	1	1000000000 ns/op	         3.500 ms-late-at-most
PASS
BenchmarkRandInt64-2   	1000	         10.00 ns/op
BenchmarkBackend/avx512/fill-2   	1000	         3.000 ns/op
`

func TestParse(t *testing.T) {
	figures, err := parse([]byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	want := []figure{
		{"RandInt64", 1, 5, "ns/op"}, {"Backend/avx512/fill", 1, 1.5, "ns/op"}, {"Late", 1, 3.5, "ms-late-at-most"},
		{"RandInt64", 2, 10, "ns/op"}, {"Backend/avx512/fill", 2, 3, "ns/op"},
	}
	if !slices.Equal(figures, want) {
		t.Errorf("parsed %v, not %v", figures, want)
	}
	rows := table(figures).Rows
	if len(rows) != 3 || !slices.Equal(rows[1], []string{"`Backend/avx512/fill`", "2.25", "ns/op", "0.30"}) || rows[2][3] != "" {
		t.Errorf("the table has %q", rows)
	}
}
