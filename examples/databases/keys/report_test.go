package keys

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// rate returns operations a second.
func (t turn) rate() float64 { return float64(t.n) / t.took.Seconds() }

// micros returns the microseconds of one operation.
func (t turn) micros() float64 { return 1e6 / t.rate() }

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// median returns the median of what of asks of each turn.
func (s series) median(of func(turn) float64) float64 {
	var values []float64
	for _, t := range s {
		values = append(values, of(t))
	}
	return median(values)
}

// ratio returns the median of the ratios of rates, turn by turn, to those of base.
func (s series) ratio(base series) float64 {
	var ratios []float64
	for i := range s {
		ratios = append(ratios, s[i].rate()/base[i].rate())
	}
	return median(ratios)
}

// each returns how much work one operation took.
func (s series) each(of func(work) int64) float64 {
	var sum, n int64
	for _, t := range s {
		sum, n = sum+of(t.work), n+int64(t.n)
	}
	return float64(sum) / float64(n)
}

func logged(w work) int64 { return w.logged }
func read(w work) int64   { return w.read }

// quarter returns the first or the last quarter of the turns, at least one.
func (s series) quarter(last bool) series {
	n := max(1, len(s)/4)
	if last {
		return s[len(s)-n:]
	}
	return s[:n]
}

func lastRates(tables []*table) string {
	var all []string
	for _, t := range tables {
		all = append(all, fmt.Sprintf("%s %.0f/s", strings.TrimPrefix(t.table, "k_"), t.inserts[len(t.inserts)-1].rate()))
	}
	return strings.Join(all, ", ")
}

// insertsTable is the table of inserts and sizes, in Markdown. Ratios are to the first kind.
func insertsTable(name string, tables []*table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s, %s rows; key | rows/s, first quarter (ratio) | rows/s, last quarter (ratio) | log, bytes a row | pages read, per 1,000 rows | table, bytes a row | indexes, bytes a row |\n",
		name, thousands(tables[0].inserted()))
	b.WriteString("|---|" + strings.Repeat("---:|", 6) + "\n")
	base := tables[0]
	for _, t := range tables {
		last, n := t.inserts.quarter(true), float64(t.inserted())
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f | %.0f | %.0f | %.0f |\n", t.name,
			t.inserts.quarter(false).beside(base.inserts.quarter(false)), last.beside(base.inserts.quarter(true)),
			last.each(logged), 1000*last.each(read), float64(t.size.table)/n, float64(t.size.indexes)/n)
	}
	return b.String()
}

// beside returns the median rate and, in parentheses, its ratio to that of base.
func (s series) beside(base series) string {
	return fmt.Sprintf("%s (%.2f)", thousands(int(s.median(turn.rate))), s.ratio(base))
}

// singlesTable is the table of inserts of one row each, in Markdown.
func singlesTable(name string, tables []*table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s, %s rows; key | rows/s one by one (ratio) | log, bytes a row |\n|---|---:|---:|\n", name, thousands(tables[0].inserted()))
	for _, t := range tables {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", t.name, t.singles.beside(tables[0].singles), thousands(int(t.singles.each(logged))))
	}
	return b.String()
}

// lookupsTable is the table of look-ups, in Markdown.
func lookupsTable(name string, tables []*table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s, %s rows; key | one of the newest 10,000, µs | pages read | any row, µs | pages read |\n|---|---:|---:|---:|---:|\n",
		name, thousands(tables[0].inserted()))
	for _, t := range tables {
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.0f | %.2f |\n", t.name, t.recent.median(turn.micros), t.recent.each(read),
			t.uniform.median(turn.micros), t.uniform.each(read))
	}
	return b.String()
}

// inserted is the number of rows that went in slices.
func (t *table) inserted() (n int) {
	for _, turn := range t.inserts {
		n += turn.n
	}
	return n
}

// thousands returns n with a comma after the thousands and the millions.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func TestReport(t *testing.T) {
	one := func(rate int, read int64) turn { return turn{rate, time.Second, work{10 * read, read}} }
	base := series{one(100, 0), one(100, 0), one(400, 0), one(100, 0)}
	s := series{one(50, 100), one(200, 100), one(100, 100), one(300, 350)}
	if got := s.ratio(base); got != 1.25 { // of 0.5, 2, 0.25 and 3
		t.Errorf("ratio %v", got)
	}
	if got := s.median(turn.rate); got != 150 {
		t.Errorf("median %v", got)
	}
	if r, l := s.each(read), s.each(logged); r != 1 || l != 10 {
		t.Errorf("%v pages and %v bytes each", r, l)
	}
	if got := s.quarter(true).median(turn.micros); math.Abs(got-1e6/300) > 1 {
		t.Errorf("%v µs", got)
	}
	if got := thousands(12345678) + thousands(123); got != "12,345,678123" {
		t.Error(got)
	}
}
