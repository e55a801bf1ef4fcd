package numbers

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/ff1"
	"github.com/randflake/randflake/internal/test/require"
)

var secret = func() randflake.Secret {
	s, err := randflake.ParseSecret("dffd6021000000000000000000000000")
	if err != nil {
		panic(err)
	}
	return s
}()

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newTestFormat(t testing.TB, pattern string, options ...Option) *Format {
	t.Helper()
	f, err := NewFormat("orders", pattern, options...)
	require.NoError(t, err)
	return f
}

// sixtyFour is an alphabet of the largest size.
const sixtyFour = alphanumeric + "abcdefghijklmnopqrstuvwxyz+~"

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		pattern string
		options []Option
		n, last int64
		text    string
		period  string
	}{
		{"{n}", nil, 1, math.MaxInt64, "1", ""},
		{"#{n}", nil, math.MaxInt64, math.MaxInt64, "#9223372036854775807", ""},
		{"ORD-{date:20060102}-{n:6}", nil, 42, 999999, "ORD-20261122-000042", "2026-11-22"},
		{"ORD-{date:20060102}-{n:6}", []Option{WithPeriods(Year)}, 42, 999999, "ORD-20261122-000042", "2026"},
		{"ORD-{date:20060102}-{n:6}", []Option{WithPeriods(Forever)}, 42, 999999, "ORD-20261122-000042", ""},
		{"{n:4}/{date:2006}", nil, 9999, 9999, "9999/2026", "2026"},
		{"{date:06.01} {n:3}", nil, 7, 999, "26.11 007", "2026-11"},
		{"{date:06002}{n:3}", nil, 7, 999, "26326007", "2026-11-22"},
		{"{date:02/01/2006}-{n}", nil, 10, math.MaxInt64, "22/11/2026-10", "2026-11-22"},
		{"ORD-{period}-{n:6}", []Option{WithPeriods(Quarter)}, 42, 999999, "ORD-2026-Q4-000042", "2026-Q4"},
		{"ORD-{period}-{n:6}", []Option{WithPeriods(FiscalYear(time.April))}, 42, 999999, "ORD-FY2027-000042", "FY2027"},
		{"{date:20060102}/{period}/{n:3}", []Option{WithPeriods(Week)}, 42, 999, "20261122/2026-W47/042", "2026-W47"},
		{"ORD-{date:20060102}-{n:6}", []Option{WithPeriods(Week)}, 42, 999999, "ORD-20261122-000042", "2026-W47"},
		{"ORD-{date:200601}-{n:6}", []Option{WithPeriods(FiscalYear(time.December))}, 42, 999999, "ORD-202611-000042", "FY2026"},
		{"{n:18}", nil, 5, 999999999999999999, "000000000000000005", ""},
		{"{n:12:crockford}", nil, 1<<60 - 1, 1<<60 - 1, "ZZZZZZZZZZZZ", ""},
		{"{n:2:consonants}", nil, 899, 899, "ZZ", ""},
		{"{n::crockford}", nil, 255, math.MaxInt64, "7Z", ""},
		{"{n:2:abcdefghij}", nil, 12, 99, "bc", ""},
		{"{n::abcdefghij}", nil, 12, math.MaxInt64, "bc", ""},
		{"{n:2:~!34567890}", nil, 10, 99, "!~", ""},
		{"{n:2::;34567890}", nil, 10, 99, ";:", ""},
		{"{n:1:" + sixtyFour + "}", nil, 63, 63, "~", ""},
		{"{n::0123456789abcdef}", nil, 255, math.MaxInt64, "ff", ""},
		{"T{n:3}-{check:mod97-10}€", nil, 1, 999, "T001-95€", ""},
	} {
		f := newTestFormat(t, c.pattern, c.options...)
		want := Number{c.period, c.n, c.text}
		require.Gives(t, want, "%s: Number", c.pattern)(f.Number(noon, c.n))
		text, err := want.MarshalText()
		require.That(t, string(text) == c.text && err == nil, "%s: MarshalText %q, %v", c.pattern, text, err)
		require.Gives(t, want, "%s: %q is read as", c.pattern, c.text)(f.Parse(c.text))
		require.Equal(t, f.Last(), c.last, "%s: last is", c.pattern)
		for _, n := range []int64{0, -1, math.MinInt64, c.last + 1} { // the last one overflows where there is no width
			require.Refuses(t, ErrInvalidNumber, "%s: %d is printed as", c.pattern, n)(f.Number(noon, n))
		}
	}
}

func TestInvalidPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                                 "want a field for the number",
		"ORD-{date:2006}":                  "want a field for the number",
		"{n:6}{n:6}":                       "one {n}",
		"{date:2006}{date:01}{n:6}":        "one {date}",
		"{n:6":                             "closing }",
		"{n:6}}":                           "printable characters",
		"a\n{n:6}":                         "printable characters",
		"\xff{n:6}":                        "printable characters",
		"{n:0}":                            "width",
		"{n:six}":                          "width",
		"{n:19}":                           "at most 18",
		"{n:13:crockford}":                 "2^63-1",
		"{n:6:hex}":                        "10 to 64 characters",
		"{n:6:012345678}":                  "10 to 64 characters",
		"{n:6:" + sixtyFour + "-}":         "10 to 64 characters",
		"{n:6:0123456789a b}":              "printable ASCII",
		"{n:6:012345678\x7f}":              "printable ASCII",
		"{n:6:\x00٠١٢٣٤٥٦٧٨٩}":             "printable ASCII",
		"{n:6:01234567890}":                "once",
		"{n:6:abcdefghij}{check:mod37-2}":  "alphabet out of",
		"{period:2006}{n:6}":               "want {period}, and WithPeriods",
		"{date:}{n:6}":                     "want a year",
		"{date:01}{n:6}":                   "want a year",
		"{date:2006010206}{n:6}":           "each once",
		"{date:2006Jan02}{n:6}":            "each once",
		"{date:2006002 01}{n:6}":           "want a year",
		"{n:6}{check:crc}":                 "one of mod11-2",
		"{check:mod11-2}{n:6}":             "before {check}",
		"{n:6}{check:mod11-2}{date:2006}":  "before {check}",
		"{n:6:crockford}{check:mod11-2}":   "alphabet out of 0123456789",
		"{n:6:consonants}{check:mod97-10}": "alphabet out of 0123456789",
		"{N:6}":                            "{n:6}",
		"{n:6}{x}":                         "want {date:20060102}, {period}, {n:6} or",
		"é{\x00":                           "closing }",
	} {
		f, err := NewFormat("orders", pattern)
		require.Must(t, errors.Is(err, ErrInvalidPattern) && f == nil, "%q: %v, %v", pattern, f, err)
		odd := func(r rune) bool { return r < ' ' || r > '~' }
		require.That(t, strings.Contains(err.Error(), want) && !strings.ContainsFunc(err.Error(), odd),
			"%q: %v; want %q in plain ASCII", pattern, err, want)
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, c := range map[string]struct {
		name, pattern string
		option        Option
		err           error
	}{
		"no name":              {"", "{n}", WithPeriods(Forever), errInvalidOption},
		"capital":              {"Orders", "{n}", WithPeriods(Forever), errInvalidOption},
		"long name":            {strings.Repeat("o", 58), "{n}", WithPeriods(Forever), errInvalidOption},
		"slash last":           {"orders/", "{n}", WithPeriods(Forever), errInvalidOption},
		"zero Option":          {"orders", "{n}", Option{}, errInvalidOption},
		"period":               {"orders", "{n}", WithPeriods(fiscalYears), errInvalidOption},
		"period below all":     {"orders", "{n}", WithPeriods(-1), errInvalidOption},
		"nil location":         {"orders", "{n}", WithLocation(nil), errInvalidOption},
		"some location":        {"orders", "{n}", WithLocation(time.Local), errInvalidOption},
		"nil clock":            {"orders", "{n}", WithClock(nil), errInvalidOption},
		"no secret":            {"orders", "{n:6}", Encrypted(randflake.Secret{}), errInvalidOption},
		"month 13":             {"orders", "{n}", WithPeriods(FiscalYear(13)), errInvalidOption},
		"period, but which":    {"orders", "{period}{n}", WithPeriods(Forever), ErrInvalidPattern},
		"day by month":         {"orders", "{date:200601}{n}", WithPeriods(Day), ErrInvalidPattern},
		"month by year":        {"orders", "{date:2006}{n}", WithPeriods(Month), ErrInvalidPattern},
		"week by month":        {"orders", "{date:200601}{n}", WithPeriods(Week), ErrInvalidPattern},
		"fiscal year by year":  {"orders", "{date:2006}{n}", WithPeriods(FiscalYear(time.April)), ErrInvalidPattern},
		"quarter and its year": {"orders", "RE {period}/{n:5} ({date:2006})", WithPeriods(Quarter), ErrInvalidPattern},
		"week and its month":   {"orders", "{date:200601}{period}{n:5}", WithPeriods(Week), ErrInvalidPattern},
		"day, nothing shown":   {"orders", "{n:6}", WithPeriods(Day), ErrInvalidPattern},
		"encrypted, no width":  {"orders", "{n}", Encrypted(secret), ErrInvalidPattern},
		"encrypted, few":       {"orders", "{n:5}", Encrypted(secret), ff1.ErrInvalidDomain},
		"encrypted, few of 30": {"orders", "{n:4:consonants}", Encrypted(secret), ff1.ErrInvalidDomain},
	} {
		require.Refuses(t, c.err, "%s", name)(NewFormat(c.name, c.pattern, c.option))
	}
}

// TestLongInput: errors quote a part of what is very long.
func TestLongInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, pattern := range map[string]string{
		"orders": long + "{n}",
		long:     "{n}",
	} {
		_, err := NewFormat(name, pattern)
		require.That(t, err != nil && len(err.Error()) <= 300, "%d bytes: %.400v", len(pattern), err)
	}
	newTestFormat(t, long[:997]+"{n}")
	require.Refuses(t, ErrInvalidPattern, "a pattern of 1,001 bytes")(NewFormat("orders", long[:998]+"{n}"))
}

// TestRandomPatterns: every text that is printed is read, whatever the pattern, the period, the
// zone and the time.
func TestRandomPatterns(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	zones := []*time.Location{time.UTC, zoneOf(t, "Europe/Berlin"), zoneOf(t, "Pacific/Apia"), zoneOf(t, "America/Sao_Paulo")}
	periods := []Periods{Forever, Year, Month, Day, Quarter, Week, FiscalYear(time.January), FiscalYear(time.April), FiscalYear(time.December)}
	valid := map[Periods]int{}
	for range 50_000 {
		fields := []string{
			"{n" + one("", ":1", ":5", ":6:consonants", ":12:crockford", "::0123456789abcdef", ":4:~!34567-90") + "}",
			one("", "{date:2006}", "{date:06}", "{date:2006-01}", "{date:0106}", "{date:060102}", "{date:02.01.2006}", "{date:2006002}"),
			one("", "{period}"),
		}
		random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		pattern := one("", "RE ", "9") + strings.Join(fields, one("", "-", "/", "0")) + one("", ")", "{check:mod97-10}", "{check:mod37-2}", "{check:mod11-2}")
		period := periods[random.IntN(len(periods))]
		zone := zones[random.IntN(len(zones))]
		options := []Option{WithPeriods(period), WithLocation(zone)}
		if random.IntN(4) == 0 {
			options = append(options, Encrypted(secret))
		}
		f, err := NewFormat("orders", pattern, options...)
		if err != nil {
			continue
		}
		at := time.Unix(random.Int64N(1<<33)-1<<32, 0)
		if _, change := at.In(zone).ZoneBounds(); random.IntN(2) == 0 && !change.IsZero() {
			at = change.Add(time.Duration(random.Int64N(72)-36) * time.Hour)
		}
		n, err := f.Number(at, 1+random.Int64N(f.Last())>>random.IntN(63))
		if err != nil {
			continue
		}
		valid[period]++
		require.Gives(t, n, "%s by the %v in %v: %v is read as", pattern, period, zone, n)(f.Parse(n.String()))
	}
	for _, p := range periods {
		require.That(t, valid[p] >= 500, "%d texts by the %v", valid[p], p)
	}
}

// crossing is a format whose zone has days without midnight.
func crossing(t *testing.T) *Format {
	return newTestFormat(t, "ORD-{date:20060102}-{n:6}-{check:mod11-2}", WithLocation(zoneOf(t, "America/Sao_Paulo")))
}

// TestStrictParsing: what is not exactly as it was printed is refused, with what was expected.
func TestStrictParsing(t *testing.T) {
	f := crossing(t)
	for text, want := range map[string]string{
		"":                          "want 21 bytes",
		"ORD-20261122-000042-":      "want 21 bytes",
		"ORD-20261122-0000042-6":    "want 21 bytes",
		" ORD-20261122-000042-1":    "want 21 bytes",
		"ORD-20261122-000042-1\n":   "want 21 bytes",
		"ord-20261122-000042-1":     `at byte 0: want "ORD-"`,
		"ORD-20261122 000042-6":     `at byte 12: want "-"`,
		"ORD-20261122-00004\u00b2-": "at byte 18: want a digit out of 0123456789",
		"ORD-20261122-+00042-6":     "at byte 13: want a digit",
		"ORD-20261122-000042-3":     "mistyped",
		"ORD-20261122-000024-1":     "mistyped",
		"ORD-20261121-000042-1":     "mistyped",
		"ORD-20261131-000042-5":     "day of the calendar",
		"ORD-20260229-000042-2":     "day of the calendar",
		"ORD-2026112a-000042-9":     "day of the calendar",
		"ORD-20261122-000000-X":     "from 1 on",
	} {
		n, err := f.parse(text)
		require.Refuses(t, ErrInvalidNumber, "%q", text)(n, err)
		require.ErrorSays(t, err, want, "%q", text)
	}
	// A day whose midnight does not exist in the zone is a day all the same.
	n, err := f.Parse("ORD-20181104-000042-4")
	require.That(t, err == nil && n.Period == "2018-11-04", "%v, %v", n, err)
	_, err = f.Parse(strings.Repeat("x", 1<<20))
	require.That(t, len(err.Error()) <= 300, "the error has %d bytes", len(err.Error()))
	short := newTestFormat(t, "{date:06-01}#{n:3}")
	for _, year := range []string{"+5", "-5", " 5", "5 "} {
		require.Refuses(t, ErrInvalidNumber, "%q for a year", year)(short.Parse(year + "-11#001"))
	}
}

// TestWithoutWidth: a number without a width has no leading zeros, and is at most the largest int64.
func TestWithoutWidth(t *testing.T) {
	letters := newTestFormat(t, "{n::abcdefghij}")
	require.Refuses(t, ErrInvalidNumber, "a leading a")(letters.Parse("abc"))
	require.Says(t, "no leading a", "a leading a")(letters.Parse("abc"))
	f := newTestFormat(t, "A{n}B")
	for text, want := range map[string]string{
		"AB":                      "at least 3 bytes",
		"A0B":                     "no leading 0",
		"A01B":                    "no leading 0",
		"A9223372036854775808B":   "2^63-1",
		"A99999999999999999999B":  "2^63-1",
		"A1C":                     `want "B"`,
		"A9223372036854775807":    `want "B"`,
		"A92233720368547758070BB": "2^63-1",
	} {
		require.Refuses(t, ErrInvalidNumber, "%q", text)(f.Parse(text))
		require.Says(t, want, "%q", text)(f.Parse(text))
	}
}

// TestParsingOfPeople: what people write is read where it is without doubt, and refused elsewhere.
func TestParsingOfPeople(t *testing.T) {
	f := crossing(t)
	good, err := f.Number(noon, 42)
	require.Must(t, err == nil && good.String() == "ORD-20261122-000042-1", "%s, %v", good, err)
	for _, text := range []string{
		"ord 2026 1122 000042 1",
		"ORD20261122000042I",
		" ORD-20261122-OOOO421",
		"o-r-d-2-0-2-6-1-1-2-2-0-0-0-0-4-2-l",
	} {
		require.Gives(t, good, "%q", text)(f.Parse(text))
	}
	for _, text := range []string{
		"ORD-20261122-000043-1",
		"ORD-20261122-000042-",
		"0RD-20261122-000042-1",
		"ORD-20261122-000042-1-1",
	} {
		require.Refuses(t, ErrInvalidNumber, "%q", text)(f.Parse(text))
	}
	for _, c := range []struct {
		pattern string
		period  Periods
		text    string
		want    string // or "", if it is refused
	}{
		{"{period}-{n:4}", Day, "2026-11-22 0007", "2026-11-22-0007"},
		{"{period}-{n:4}", Day, "", ""},
		{"{period}-{n:4}", FiscalYear(time.April), "fy2027 0007", "FY2027-0007"},
		{"INV {date:2006 01}-{n:4}", Month, "inv2026-11 0007", "INV 2026 11-0007"},
		{"{date:2006-01}-{n}", Month, "2026-1-15", ""},
		{"{date:2006}/{n}", Year, "26/1234", ""},
		{"X{n}{check:mod11-2}", Forever, "X5669410684/9", ""},
		{"{n}", Forever, "-5", ""},
		{"{n:5:consonants}{check:mod37-2}", Forever, "CD6MDO", "CD6MDO"},
		{"INV-{n:4:0123456789abcdef}", Forever, "inv OOAF", "INV-00af"},
		{"{n:4:" + sixtyFour + "}", Forever, "Aa-aA", "AaaA"},
		{"{n:4:" + sixtyFour + "}", Forever, "OolI", "OolI"},
		{"{n:2:qrstuvwxyz}", Forever, "ZY", "zy"},
		{"{n:2:consonants}", Forever, "zy", "ZY"},
		{"INV {n:4:-123456789}", Forever, "INV -1234", ""},
		{"{n:5:consonants}{check:mod37-2}", Forever, "CD6MOD", ""},
	} {
		n, err := newTestFormat(t, c.pattern, WithPeriods(c.period)).Parse(c.text)
		require.That(t, n.String() == c.want && (err == nil) == (c.want != ""),
			"%s: %q is read as %v, %v", c.pattern, c.text, n, err)
	}
	week := newTestFormat(t, "INV-{period}-{n:6:crockford}{check:mod37-2}", WithPeriods(Week))
	n, err := week.Number(noon, 0xbeef)
	require.NoError(t, err)
	require.Gives(t, n, "%v is read as", n)(week.Parse("inv2026w47 001fqf" + strings.ToLower(n.String()[19:])))
}

// A year has four digits, and two of them can't tell 2069 from 1969, so that there is no number for it.
func TestYearsThatCannotBeTold(t *testing.T) {
	for _, c := range []struct {
		pattern     string
		period      Periods
		first, last int
	}{
		{"{date:06}-{n:3}", Year, 1969, 2068},
		{"{date:2006}-{n:3}", Year, 0, 9999},
		{"{period}-{n:3}", Year, 0, 9999},
		{"{period}-{n:3}", Month, 0, 9999},
		{"{period}-{n:3}", Quarter, 0, 9999},
		{"{period}-{n:3}", Week, 0, 9999},
		{"{period}-{n:3}", FiscalYear(time.January), 0, 9999},
	} {
		f := newTestFormat(t, c.pattern, WithPeriods(c.period))
		for year, want := range map[int]error{c.first - 1: ErrInvalidNumber, c.first: nil, c.last: nil, c.last + 1: ErrInvalidNumber} {
			n, err := f.Number(time.Date(year, 6, 30, 0, 0, 0, 0, time.UTC), 1)
			require.That(t, errors.Is(err, want), "%s: %d is printed as %s, %v, want %v", c.pattern, year, n, err, want)
			if read, err := f.Parse(n.String()); want == nil && (read != n || err != nil) {
				t.Errorf("%s: %s is read as %v, %v", c.pattern, n, read, err)
			}
		}
	}
}

// Of the texts of an encrypted period one stands for 0, which is no number.
func TestEncryptedZero(t *testing.T) {
	f := newTestFormat(t, "{date:2006}-{n:6}", Encrypted(secret))
	permutation := f.permutation("2026")
	text := f.pattern.print(date{shown: "2026"}, permutation.Encrypt(0))
	require.Refuses(t, ErrInvalidNumber, "%s", text)(f.Parse(text))
	n, err := f.Parse(f.pattern.print(date{shown: "2025"}, permutation.Encrypt(0)))
	require.That(t, err == nil && n.N >= 1, "in another year: %#v, %v", n, err)
}

// fuzzed are formats of all kinds.
func fuzzed(t testing.TB) []*Format {
	return []*Format{
		newTestFormat(t, "ORD-{date:20060102}-{n:6}{check:mod11-2}"),
		newTestFormat(t, "{n}/{date:2006}"),
		newTestFormat(t, "{date:06.002} {n:5:crockford}-{check:mod37-2}", Encrypted(secret)),
		newTestFormat(t, "{n:8}{check:mod97-10}", Encrypted(secret)),
		newTestFormat(t, "0{n::0123456789abcdef}0"),
		newTestFormat(t, "{date:2006-01}{n:7:consonants}", WithPeriods(Year)),
	}
}

// What is read prints as it was, and what is printed reads as it was.
func FuzzParse(f *testing.F) {
	f.Add(0, "ORD-20261122-0000421", int64(1700000000), int64(42))
	f.Add(1, "42/2026", int64(0), int64(math.MaxInt64))
	f.Add(2, "26.326 7ZQ0X-A", int64(-1), int64(33554431))
	f.Add(3, "0000000197", int64(1)<<40, int64(99999999))
	f.Add(4, "0ff0", int64(0), int64(255))
	f.Add(5, "2026-11BCDF012", int64(951782400), int64(1))
	formats := fuzzed(f)
	f.Add(0, "ORD-20240229-0000012", int64(1709164800), int64(999999))
	f.Add(3, "0000000197\n", int64(-62135596801), int64(1))
	f.Add(0, "ORD-20230229-0000014", int64(1677628799), int64(1000000))
	f.Add(4, "08000000000000000", int64(0), int64(9223372036854775807))
	f.Add(2, "69.001 00001-0", int64(3124223999), int64(1))
	f.Add(1, "1/9999", int64(253402300800), int64(1))
	f.Fuzz(func(t *testing.T, kind int, text string, second, n int64) {
		format := formats[uint(kind)%uint(len(formats))]
		if read, err := format.Parse(text); err == nil {
			if again, err := format.parse(read.String()); again != read || err != nil {
				t.Fatalf("%s: %q prints as %q, which is %v, %v", format.patternText, text, read, again, err)
			}
			if day, err := time.Parse(periods[format.settings.period].layout, read.Period); err != nil {
				t.Fatalf("%s: %q is of period %q: %v", format.patternText, text, read.Period, err)
			} else if again, err := format.Number(day, read.N); format.settings.period == format.pattern.dateShows && (again != read || err != nil) {
				t.Fatalf("%s: %q is %#v, which prints as %q, %v", format.patternText, text, read, again, err)
			}
		} else {
			require.Must(t, errors.Is(err, ErrInvalidNumber), "%s: %q: %v", format.patternText, text, err)
		}
		printed, err := format.Number(time.Unix(second%(1<<36), 0), n)
		if err != nil {
			return
		}
		if read, err := format.Parse(printed.String()); read != printed || err != nil {
			t.Fatalf("%s: %#v is read as %#v, %v", format.patternText, printed, read, err)
		}
	})
}

// Published numbers with their check characters: those of the standard's texts, and of who uses the systems.
func TestCheckSystems(t *testing.T) {
	for _, c := range []struct{ system, text, check, source string }{
		{"mod11-2", "0794", "0", "ISO/IEC 7064"},
		{"mod11-2", "0000-0002-1825-009", "7", "ORCID"},
		{"mod11-2", "0000-0002-1694-233", "X", "ORCID"},
		{"mod37-2", "G123498654321", "H", "ISBT 128"},
		{"mod97-10", "0794", "44", "ISO/IEC 7064"},
		{"mod11-2", "A0B7-9Z4", "0", "the first one, as letters have no value there"},
		{"mod97-10", "32142829123456987654321611", "82", "IBAN of WEST12345698765432GB, its letters as the digits that they stand for"},
	} {
		got := string(checkSystems[c.system].append([]byte(c.text)))
		require.Equal(t, got, c.text+c.check, "%s of %q (%s)", c.system, c.text, c.source)
	}
}

// Every system finds every wrong character of a text of three, and all exchanges of neighbors.
func TestCheckSystemsFindWrongCharacters(t *testing.T) {
	for name, s := range checkSystems {
		base := len(s.characters)
		for n := range base * base * base {
			text := []byte{s.characters[n/base/base], s.characters[n/base%base], s.characters[n%base]}
			right := s.append(slices.Clone(text))
			for i := range 5 {
				wrong := slices.Clone(text)
				if i < 3 {
					wrong[i] = s.characters[(n+1+i)%base]
				} else {
					wrong[i-3], wrong[i-2] = text[i-2], text[i-3]
				}
				if !slices.Equal(wrong, text) && slices.Equal(s.append(wrong)[3:], right[3:]) {
					t.Fatalf("%s: %s also checks %s", name, right[3:], wrong)
				}
			}
		}
	}
}
