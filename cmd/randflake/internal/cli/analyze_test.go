package cli

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	gosuda "github.com/randflake/randflake/compat/v2"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// ids is how many IDs the files of these tests have.
func ids() int {
	if testing.Short() {
		return 20_000
	}
	return 1_000_000
}

var tableBegin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// twitterIDs are of three workers, 1, 2 and 7, in n milliseconds of three.
func twitterIDs(n int) (texts []string) {
	begin := uint64(tableBegin.Sub(snowflake.Twitter().Epoch()).Milliseconds())
	for i := range uint64(n) {
		texts = append(texts, fmt.Sprint((begin+i/3*10)<<22|[]uint64{1, 2, 7}[i%3]<<12))
	}
	return texts
}

// tweetOf is the ID of worker 0 at a time.
func tweetOf(at time.Time) string {
	return fmt.Sprint(at.Sub(snowflake.Twitter().Epoch()).Milliseconds() << 22)
}

// tweetsOf are IDs of worker 0, each a millisecond later than the one before, of hours since the begin.
func tweetsOf(hours ...int) (texts []string) {
	for i, hour := range hours {
		at := tableBegin.Add(time.Duration(hour)*time.Hour + time.Duration(i)*time.Millisecond)
		texts = append(texts, tweetOf(at))
	}
	return texts
}

func numbersFrom(first, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprint(first+i))
	}
	return texts
}

// randomNumbers are those of math/rand's Int63, as others have them for keys.
func randomNumbers(n int) (texts []string) {
	random := rand.New(rand.NewPCG(3, 4))
	for range n {
		texts = append(texts, fmt.Sprint(random.Int64()))
	}
	return texts
}

func ulidTexts(n int) (texts []string) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var f ulid.Fields
		f.Time = tableBegin.Add(time.Duration(i) * 10 * time.Millisecond)
		binary.BigEndian.PutUint64(f.Entropy[:], random.Uint64())
		id, err := ulid.Compose(f)
		if err != nil {
			panic(err)
		}
		texts = append(texts, id.String())
	}
	return texts
}

func randflakeTexts(t *testing.T, cipher *randflake.Cipher, n int) (texts []string) {
	for i := range n {
		id, err := cipher.Compose(randflake.Fields{Time: tableBegin.Add(time.Duration(i/100) * time.Second),
			Node: uint32(70 + i%3), Sequence: uint32(i % 100)})
		check(t, err)
		texts = append(texts, fmt.Sprint(int64(id)))
	}
	return texts
}

// gosudaTexts are randflakeTexts as gosuda/randflake prints IDs. One in 32 begins with g to v.
func gosudaTexts(t *testing.T, cipher *randflake.Cipher, n int) (texts []string) {
	for _, text := range randflakeTexts(t, cipher, n) {
		id, err := strconv.ParseInt(text, 10, 64)
		check(t, err)
		texts = append(texts, gosuda.EncodeString(id))
	}
	return texts
}

// plant puts texts into a table behind those of other lines, and returns what the command says of
// them: n of line i is in line j too.
func plant(texts []string, doubles ...int) (file string, says []string) {
	texts = slices.Clone(texts)
	for _, i := range doubles {
		texts = append(texts, texts[i])
		says = append(says, fmt.Sprintf("repeat   %s in lines %d and %d\n", texts[i], i+1, len(texts)))
	}
	return strings.Join(texts, "\n") + "\n", append(says, fmt.Sprintf("repeats  %d\n", len(doubles)))
}

func TestAnalyze(t *testing.T) {
	isolate(t)
	secret, cipher := newSecretFile(t)
	n := ids()
	first := []string{"--secret-file", secret}
	for name, tt := range map[string]struct {
		texts   []string
		args    []string
		doubles []int
		says    []string
		not     []string
	}{
		"Snowflakes": {twitterIDs(n), nil, nil,
			[]string{"kind     snowflake twitter\n",
				"\nor       snowflake instagram, by which the newest are of 2019-03-24\n",
				"workers  3, from 1 to 7\n", fmt.Sprintf("made     %d or more", n), "\n2026-01-01T00Z ####"},
			nil},
		"a new Snowflake": {[]string{tweetOf(time.Now())}, nil, nil, []string{"kind     snowflake twitter\n"}, []string{"\nor "}},
		"an old Snowflake": {[]string{tweetOf(time.Date(2021, 6, 1, 0, 0, 0, 0, time.UTC))}, nil, nil,
			[]string{"snowflake discord\nor       snowflake twitter, by which the newest are of 2021-06-01\n"}, nil},
		"hours": {tweetsOf(0, 0, 1), []string{"--layout", "twitter"}, nil,
			[]string{"\n2026-01-01T00Z ######################################## 2 an hour\n2026-01-01T01Z ####################                     1 an hour\n"},
			nil},
		"two hours a bar": {tweetsOf(0, 0, 1, 1, 30, 30), []string{"--layout", "twitter"}, nil,
			[]string{"\n2026-01-01T00Z ######################################## 2 an hour\n2026-01-01T02Z ",
				" 0 an hour\n2026-01-02T06Z ####################                     1 an hour\n"},
			nil},
		"a row a day": {tweetsOf(0, 24*26), []string{"--layout", "twitter"}, nil,
			[]string{"\n2026-01-01T00Z ######################################## under 1 an hour\n2026-01-02T", " 0 an hour\n"}, nil},
		"two rows twice": {twitterIDs(n), nil, []int{3, 7}, nil, []string{"doubled"}},
		"a doubled worker": {twitterIDs(n), nil, []int{2, 5, 8, 0},
			[]string{"doubled  worker 7: two processes at once, or rows that came twice: 3 IDs"}, []string{"doubled  worker 1"}},
		"Snowflakes and secret": {twitterIDs(1000), first, []int{8}, []string{"snowflake twitter"}, nil},
		"another layout": {twitterIDs(1000), []string{"--layout", "unix"}, nil, []string{"snowflake unix", "\n1985-02-27T22Z #"},
			[]string{"2026", "\nor "}},
		"a layout of no use": {twitterIDs(1000), []string{"--layout", "discord"}, []int{8}, []string{"kind     none"},
			[]string{"made", "workers"}},
		"ULIDs": {ulidTexts(n), nil, []int{n / 2}, []string{"kind     ULIDs", "2026-01-01T00Z #"},
			[]string{"workers", "made", "doubled"}},
		"clean ULIDs": {ulidTexts(20_000), nil, nil, []string{"kind     ULIDs"}, nil},
		"randflakes": {randflakeTexts(t, cipher, n), first, nil, []string{"kind     randflake\n", "workers  3, from 70 to 72\n"},
			[]string{"made", "doubled"}},
		"gosuda's texts": {gosudaTexts(t, cipher, 20_000), append(first, "--from", "gosuda"), []int{17},
			[]string{"IDs      20001, and 0 lines", "kind     randflake\n", "workers  3, from 70 to 72\n"}, []string{"\nform "}},
		"a randflake twice": {randflakeTexts(t, cipher, 20_000), first, []int{17}, []string{"kind     randflake\n"}, nil},
		"without the secret": {randflakeTexts(t, cipher, 20_000), nil, []int{17},
			[]string{"kind     none that tells its time; Randflake IDs need their secret: --secret-file\n"}, []string{"workers"}},
		"Snowflakes, by order": {twitterIDs(1000), append(first, "--kind", "randflake"), nil, []string{"kind     none"}, []string{"workers"}},
		"small numbers":        {[]string{"1", "2", "3", "10000000"}, nil, nil, []string{"kind     none"}, nil},
		"auto-increment": {numbersFrom(1, 1000), nil, []int{0, 332, 999}, []string{"IDs      1003, and 0 lines", "kind     none"},
			[]string{"workers", "made"}},
		"random numbers":    {randomNumbers(1000), nil, []int{5}, []string{"kind     none"}, []string{"workers", "made"}},
		"an ended layout":   {[]string{"6602306127036981888"}, []string{"--layout", "baidu"}, nil, []string{"snowflake baidu"}, nil},
		"Unix milliseconds": {numbersFrom(1735689600000, 1000), nil, []int{7}, []string{"IDs      1001, and 0 lines"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			file, says := plant(tt.texts, tt.doubles...)
			got := call(t, file, append([]string{"analyze"}, tt.args...)...)
			code := exitOK
			if len(tt.doubles) > 0 {
				code = exitNo
			}
			require.That(t, got.code == code && got.err == "", "exit status %d, want %d: %s", got.code, code, got.err)
			for _, want := range append(says, tt.says...) {
				require.Contains(t, got.out, want, "the output")
			}
			for _, other := range append(tt.not, "doubled  worker 2") {
				require.Omits(t, got.out, other, "the output")
			}
		})
	}
}

// Of many repeats the first five are shown, each with the line before it.
func TestManyRepeats(t *testing.T) {
	const n = 1000
	once := numbersFrom(1, n)
	file, _ := plant(slices.Concat(once, once, once))
	got := call(t, file, "analyze")
	for _, want := range []string{
		"repeat   1 in lines 1 and 1001\n",
		"repeat   1 in lines 1001 and 2001\n",
		"repeat   2 in lines 2 and 1002\n",
		"repeat   2 in lines 1002 and 2002\n",
		"repeat   3 in lines 3 and 1003\n",
		"repeats  2000\n",
	} {
		require.Contains(t, got.out, want, "the output")
	}
}

// burst are IDs of one worker, three in each millisecond, or as many as 300.
func burst(n, each int) (ids []int64) {
	begin := tableBegin.Sub(snowflake.Twitter().Epoch()).Milliseconds()
	for i := range int64(n) {
		ids = append(ids, (begin+i/int64(each))<<22|5<<12|i%int64(each))
	}
	return ids
}

// writtenBy are the texts of a program that takes IDs for floating-point numbers.
func writtenBy(format string, precision int, ids ...int64) (texts []string) {
	for _, id := range ids {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(float64(id), 'g', precision, 64), 64)
		switch format {
		case "exact":
			texts = append(texts, fmt.Sprint(int64(rounded)))
		case "single":
			texts = append(texts, fmt.Sprint(int64(float32(rounded))))
		case "shortest":
			texts = append(texts, strconv.FormatFloat(rounded, 'f', -1, 64))
		default:
			texts = append(texts, fmt.Sprintf(format, rounded))
		}
	}
	return texts
}

// grouped are numbers with commas.
func grouped(numbers []string) (texts []string) {
	for _, digits := range numbers {
		for at := len(digits) - 3; at > 0; at -= 3 {
			digits = digits[:at] + "," + digits[at:]
		}
		texts = append(texts, digits)
	}
	return texts
}

// TestAnalyzeRounded: IDs that a program has rounded are called so, and their repeats are not those of two processes.
func TestAnalyzeRounded(t *testing.T) {
	isolate(t)
	random := rand.New(rand.NewPCG(5, 6))
	var randflakes []int64
	for range 1000 {
		randflakes = append(randflakes, int64(random.Uint64()))
	}
	nanoseconds := func(step int64) (texts []string) {
		for i := range int64(1000) {
			texts = append(texts, fmt.Sprint(tableBegin.UnixNano()+i*step))
		}
		return texts
	}
	const all, perhaps, none = "\nrounded  all: a program took them", "\nrounded  perhaps, if", "rounded"
	for name, tt := range map[string]struct {
		texts []string
		says  string
		not   string
	}{
		"pandas, a burst":         {writtenBy("exact", -1, burst(1000, 300)...), all, "repeat"},
		"JavaScript, a burst":     {writtenBy("shortest", -1, burst(1000, 300)...), all, "repeat"},
		"Excel, a burst":          {writtenBy("shortest", 15, burst(1000, 300)...), all, "doubled"},
		"Excel, in groups":        {grouped(writtenBy("shortest", 15, burst(1000, 300)...)), all, "doubled"},
		"JavaScript, few at once": {writtenBy("shortest", -1, burst(1000, 3)...), all, "doubled"},
		"pandas, few at once":     {writtenBy("exact", -1, burst(1000, 3)...), perhaps, "rounded  all"},
		"float32, Randflakes":     {writtenBy("single", -1, randflakes...), all, "repeat"},
		"float32, a burst":        {writtenBy("single", -1, burst(1000, 300)...), all, "repeat"},
		"pandas, Randflakes":      {writtenBy("exact", -1, randflakes...), all, "repeat"},
		"JavaScript, Randflakes":  {writtenBy("shortest", -1, randflakes...), all, "repeat"},
		"pandas, as floats":       {append(writtenBy("%v", -1, burst(1000, 3)...), "5"), "\nrounded  1000 lines as 2.0", ""},
		"pandas, with a point":    {append(writtenBy("%.1f", -1, burst(1000, 3)...), "5"), "\nrounded  1000 lines as 2006515713438666752.0: a", ""},

		"no burst":             {twitterIDs(1000), "repeats  0", none},
		"two processes":        {slices.Concat(twitterIDs(1000), twitterIDs(50)), "doubled  worker 1", none},
		"nanoseconds, of 1 µs": {nanoseconds(1000), "repeats  0", none},
		"nanoseconds, of 1 ms": {nanoseconds(1_000_000), "repeats  0", none},
		"small numbers":        {append(numbersFrom(1, 100), "12.5", "1e3"), "repeats  0", none},
		"too few":              {writtenBy("exact", -1, randflakes[:9]...), "repeats  0", none},
	} {
		input := strings.Join(tt.texts, "\n") + "\n"
		got := call(t, input, "analyze")
		isBad := strings.Contains(got.out, "rounded") || !strings.Contains(got.out, "repeats  0")
		if !strings.Contains(got.out, tt.says) || tt.not != "" && strings.Contains(got.out, tt.not) || (got.code == exitNo) != isBad {
			t.Errorf("%s: exit status %d, want %q and not %q in:\n%s%s", name, got.code, tt.says, tt.not, got.out, got.err)
		}
	}
	for _, float := range []string{"1.8496880640000001e+18", "1,54182E+18", "-1.5E+18"} {
		onlyFloats := call(t, "id\n"+float+"\n"+float+";a\n", "analyze")
		wantFailure(t, onlyFloats, exitFailed, "2 lines are as "+float+", where the last digits are lost: export the IDs as texts")
	}
}

// Columns, titles, quotes and other kinds of text. What is no ID is counted.
func TestAnalyzeReads(t *testing.T) {
	isolate(t)
	texts := twitterIDs(4)
	for name, tt := range map[string]struct {
		input string
		says  []string
	}{
		"CSV": {"\ufeffid,name\n\"" + texts[0] + "\",a\n" + texts[1] + ",b\n\n" + texts[0] + ",c\r\n",
			[]string{"IDs      3, and 0 lines", "in lines 2 and 5\n"}},
		"long rows": {texts[0] + "," + strings.Repeat("x", 1<<20) + "\n" + texts[0] + ",b\n", []string{"in lines 1 and 2\n"}},
		"many lines in a column": {texts[0] + ",\"say \"\"two\nfaces\"\", or\nfaces\",x\n" + texts[1] + ",\"\"\n" + texts[0] + ",c\n",
			[]string{"IDs      3, and 2 lines", "in lines 1 and 5\n"}},
		"quotes in a column": {texts[0] + ",27\"\" wide\n" + texts[1] + ",\"\"\"a\"\"\",b\n" + texts[2] + "\"\n",
			[]string{"IDs      3, and 0 lines"}},
		"quotes around groups": {"id,name\n\"1,541,815,603,606,036,480\",a\n1541815603606036480,b\n\"1,541,815\",c\n\"1,541,815\",d\n",
			[]string{"IDs      4, and 0 lines", "in lines 2 and 3\n", "repeat   1,541,815 in lines 4 and 5\n"}},
		"groups alone":       {"1,541,815,603,606,036,480\n1541815603606036480\n", []string{"IDs      2, and 0 lines", "repeats  1\n"}},
		"groups before tabs": {"1,541,815,603,606,036,480\ta\n1541815603606036480\tb\n", []string{"IDs      2, and 0 lines", "repeats  1\n"}},
		"columns of digits":  {"1,541,815\n2,541,815\n1,000,000\n", []string{"IDs      3, and 0 lines", "repeat   1 in lines 1 and 3\n"}},
		"tabs": {"id\tname\n" + texts[0] + "\ta,b\n\tno ID\n" + texts[1] + "\t\"say\n5\"\n" + texts[0] + "\tc;d\n",
			[]string{"IDs      3, and 1 lines", "in lines 2 and 6\n"}},
		"semicolons": {"\ufeff\"id\";\"name\"\n\"" + texts[0] + "\";\"a;\nb\"\n" + texts[1] + ";c,\"d\n" + texts[0] + ";27\"\n",
			[]string{"IDs      3, and 1 lines", "in lines 2 and 5\n"}},
		"bars":                 {" id | name\n" + texts[0] + "|a\n" + texts[0] + " | b\n", []string{"IDs      2, and 0 lines", "in lines 2 and 3\n"}},
		"mysql's":              {"+--+\n| id | n |\n| " + texts[0] + " | 5 |\n| " + texts[0] + " | 6 |\n+--+\n", []string{"IDs      2, and 1 lines", "in lines 3 and 4\n"}},
		"JSON":                 {"[\n\t\"" + texts[0] + "\",\n\t\"" + texts[1] + "\"\n]\n", []string{"IDs      2, and 1 lines", "repeats  0\n"}},
		"doubled quotes":       {"\"\"\"x\"\"\",1\n" + texts[0] + ",2\n", []string{"IDs      1, and 0 lines"}},
		"other lines":          {texts[0] + "\nnull!\n-\n" + texts[1] + "\n-\n", []string{"IDs      2, and 3 lines"}},
		"NULL":                 {"id\nNULL\n" + texts[0] + "\nNULL\nnull\n", []string{"IDs      1, and 0 lines", "repeats  0"}},
		"a title further down": {"\n# of today\nidentification\n----\n" + texts[0] + "\n", []string{"IDs      1, and 0 lines", "2026-01-01T"}},
		"a long title":         {"description_id\n" + texts[0] + "\n", []string{"IDs      1, and 0 lines", "snowflake twitter"}},
		"no digits":            {"vkgttmbqtufka\nvkgttmbqtufkb\nvkgttmbqtufka\n", []string{"IDs      3, and 0 lines", "in lines 1 and 3\n"}},
		"gosuda's, no digits": {"account_code\ndecade\nfkgttmbqtufk\nfkgttmbqtufk\n",
			[]string{"IDs      2, and 0 lines", "in lines 3 and 4\n"}},
		"gosuda's": {"id\n3vgoe12ccb8gh\nfvvvvvvvvvvvv\n3vgoe12ccb8gh\n",
			[]string{"format   3 of 3 IDs read as gosuda/randflake prints them, 3vgoe12ccb8gh first; a text that lost", "repeat   3vgoe12ccb8gh in lines 2 and 4\n"}},
		"texts and gosuda's": {"id\njvgoe12ccb8gh\nvvvvvvvvvvvvv\n3vgoe12ccb8gh\n",
			[]string{"format   1 of 3 IDs read as gosuda/randflake prints them, 3vgoe12ccb8gh first", "repeat   3vgoe12ccb8gh in lines 2 and 4\n"}},
		"numbers and gosuda's": {"4594531474933654033\n3vgoe12ccb8gh\n", []string{"format   1 of 2 IDs", "in lines 1 and 2\n"}},
		"texts that lost digits": {"jvgoe12ccb8gh\n12ccb8gh\njvgoe\n",
			[]string{"IDs      2, and 1 lines", "format   1 of 2 IDs read as gosuda/randflake prints them, 12ccb8gh first"}},
		"typed": {"ord_jvgoe12ccb8gh\nord_jvgoe12ccb8gg\nord_jvgoe12ccb8gh\n",
			[]string{"kind     none that tells its time; Randflake IDs need their secret", "repeat   ord_jvgoe12ccb8gh in lines 1 and 3"}},
		"UUIDs": {"019aa91c-8e00-7abc-9def-0123456789ab\n019AA91C-8E00-7ABC-9DEF-0123456789AB\n",
			[]string{"kind     ULIDs", "in lines 1 and 2", "2025-11-22T"}},
		"TSIDs": {"0SBZ7KY014XYN\n0SBZ7KY02D2FH\n0sbz7ky014xyn\n",
			[]string{"kind     snowflake tsid", "in lines 1 and 3", "2026-11-27T17Z"}},
		"TypeIDs": {"user_01h455vb4pex5vsknk084sn02q\nuser_01h455vb4qex5vsknk084sn02q\nuser_01h455vb4pex5vsknk084sn02q\n",
			[]string{"kind     ULIDs", "in lines 1 and 3", "2023-06-30T03Z"}},
		"hexadecimal": {"01890a5dac96774bbcceb302099a8057\n01890a5d-ac96-774b-bcce-b302099a8057\n", []string{"in lines 1 and 2"}},
		"a rollback":  {"198158383604301824\n198158383604314112\n", []string{"snowflake node8", "workers  1, from 0 to 0"}},
		"a gap":       {fmt.Sprint(1<<60|9) + "\n" + fmt.Sprint(1<<60|3) + "\n", []string{"made     10 or more"}},
		"TypeIDs and hexadecimal": {"user_01h2xcejqtf2nbrexx3vqjhp41\n0188bac74afa78aabc3bbd1eef28d881\n",
			[]string{"kind     ULIDs", "in lines 1 and 2", "2023-06-14T"}},
		"TSID as numbers": {"0AWG1PRQQFZ8D\n392377999526722829\n",
			[]string{"snowflake tsid", "in lines 1 and 2", "from 895 to 895", "2022-12-18T"}},
		"zero": {"0\n1\n", []string{"IDs      2, and 0 lines", "repeats  0"}},
		"a small UUID": {"5\n7\n00000000-0000-0000-0000-000000000005\n019aa91c-8e00-7abc-9def-0123456789ab\n",
			[]string{"repeat   00000000-0000-0000-0000-000000000005 in lines 1 and 3\nrepeats  1\n"}},
		"mentions": {"<@80351110224678912>\n<@!80351110224678912>\n<@x>,y\n",
			[]string{"IDs      2, and 1 lines", "snowflake discord", "2015-08-10T"}},
		"as people write them": {"1_541_815_603_606_036_480\n1541815603606036480n\n0x1565a11f6217a000\n",
			[]string{"IDs      3, and 0 lines", "repeats  2"}},
		"digits first": {"12\njvgoe12ccb8gh\n",
			[]string{"IDs      2, and 0 lines", "kind     none that tells its time; Randflake IDs need their secret: --secret-file\nrepeats  0\n"}},
	} {
		got := call(t, tt.input, "analyze")
		for _, want := range tt.says {
			require.That(t, strings.Contains(got.out, want), "%s: want %q in:\n%s%s", name, want, got.out, got.err)
		}
	}
	missing := call(t, texts[0]+"\n", "analyze", "--secret-file", "nowhere")
	wantFailure(t, missing, exitFailed, "nowhere")
	for _, input := range []string{"", "id\n", "\n?\n", texts[0] + " a\n"} {
		wantFailure(t, call(t, input, "analyze"), exitFailed, "no line is an ID: want one a line, or in the first column, before a comma")
	}
	unended := call(t, texts[0]+"\n"+texts[1]+",\"a\n"+texts[2]+"\n", "analyze")
	wantFailure(t, unended, exitFailed, "the quote in line 2 has no end")
}

// A lateReader reads after a pause.
type lateReader struct{ io.Reader }

func (r lateReader) Read(b []byte) (int, error) {
	time.Sleep(progressPause)
	return r.Reader.Read(b)
}

// TestAnalyzeProgress: on a terminal a line says how many lines are read, and is gone in the end.
func TestAnalyzeProgress(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	synctest.Test(t, func(t *testing.T) {
		table := lateReader{strings.NewReader(strings.Repeat("5\n", 1024))}
		a := analysis{in: newInspector(&tool{stdin: table, stderr: terminal})}
		check(t, a.readLines())
	})
	const line = "1024 lines, 4096 a second"
	terminal.WriteString("\n\n\n")      // for as many lines, also where none was shown
	shown := bufio.NewScanner(terminal) // it echoes what is written, and each return ends a line
	for _, want := range []string{"", line, strings.Repeat(" ", len(line))} {
		shown.Scan()
		require.Equal(t, shown.Text(), want, "the terminal shows")
	}
}

// TestAnalyzeMemory: of a row, only the ID is kept.
func TestAnalyzeMemory(t *testing.T) {
	const length = 1 << 20
	others := strings.Repeat(",", length) + "\n"
	var rows []io.Reader
	for _, text := range twitterIDs(100) {
		rows = append(rows, strings.NewReader(text), strings.NewReader(others))
	}
	a := analysis{in: newInspector(&tool{stdin: io.MultiReader(rows...)})}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	check(t, a.readLines())
	runtime.GC()
	runtime.ReadMemStats(&after)
	taken := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	require.That(t, a.entries.len() == len(rows)/2 && taken <= 50*length,
		"%d IDs in rows of 1 MiB take %d bytes", a.entries.len(), taken)
}

// TestAnalyzeKeepsIDs: each text comes out as it went in, and few are kept: those that their IDs don't tell.
func TestAnalyzeKeepsIDs(t *testing.T) {
	for _, tt := range []struct {
		from  string
		texts []string
		kept  int // texts
	}{
		{formAuto, []string{"5", "-15", "18446744073709551615"}, 0},
		{formAuto, []string{"5", "1_849", "6", "0X27", "7"}, 2},
		{formAuto, []string{"jvgoe12ccb8gh", "ord_jvgoe12ccb8gh", "inv_jvgoe12ccb8gh", "ord_vvvvvvvvvvvvv"}, 1},
		{formGosuda, []string{"3vgoe12ccb8gh", "inv_3vgoe12ccb8gh"}, 0},
		{formAuto, []string{"0x000000000000000a", "0AXS751X00W7C"}, 0},
		{formBase32, []string{"3vgoe12ccb8gh"}, 0},
		{formBase58, []string{"11111111112"}, 0},
		{formBase62, []string{"0000000000z"}, 0},
		{formAuto, []string{"01K0XJ5C1Q8F4S3V7M2N6P9R0T", "01982f22-b037-4488-81a2-0a5a8d1cb3a0", "user_01h455vb4pex5vsknk084sn02q", "5"}, 0},
	} {
		a := analysis{in: newInspector(&tool{stdin: strings.NewReader(strings.Join(tt.texts, "\n"))})}
		a.in.from = tt.from
		check(t, a.readLines())
		kept := len(a.entries.keptAt)
		require.That(t, kept == tt.kept && a.entries.len() == len(tt.texts),
			"of %d IDs of %q the texts of %d are kept, want %d", a.entries.len(), tt.texts, kept, tt.kept)
		for i := range a.entries.len() {
			e := a.entries.at(i)
			if got, want := a.entries.text(e), tt.texts[e.at.line()-1]; got != want {
				t.Errorf("%s: came out as %s", want, got)
			}
		}
	}
}

// TestAnalyzeTable: an ID takes the memory that the page says, from the first line to the report.
func TestAnalyzeTable(t *testing.T) {
	isolate(t)
	const n = 1_000_000
	tweets := twitterIDs(n)
	for name, tt := range map[string]struct {
		texts []string
		bytes int // of an ID, at most
	}{
		"64 bits":            {tweets, 32},
		"128 bits":           {ulidTexts(n), 40},
		"texts of their own": {underscored(tweets[:n/4]), 120 + len("1_541_815_603_606_036_480")},
	} {
		t.Run(name, func(t *testing.T) {
			n := len(tt.texts)
			size := func(lines int) int64 { return analyzedHeap(t, strings.Join(tt.texts[:lines], "\n")+"\n") }
			taken := float64(size(n)-size(1)) / float64(n)
			t.Logf("%.1f bytes an ID", taken)
			require.That(t, taken <= float64(tt.bytes), "%.1f bytes an ID, want %d at most", taken, tt.bytes)
		})
	}
}

// underscored returns numbers as 1_541_815_603.
func underscored(numbers []string) (texts []string) {
	for _, number := range numbers {
		var groups []string
		for len(number) > 3 {
			groups = append([]string{number[len(number)-3:]}, groups...)
			number = number[:len(number)-3]
		}
		texts = append(texts, strings.Join(append([]string{number}, groups...), "_"))
	}
	return texts
}

// analyzedHeap returns how large the heap of the command was, when it was largest, as it read a table.
func analyzedHeap(t *testing.T, table string) (size int64) {
	cmd := process(t, "measured", "analyze")
	cmd.Env = append(cmd.Environ(), "GODEBUG=gcstoptheworld=1") // a busy machine would collect garbage late
	cmd.Stdin = strings.NewReader(table)
	out, err := cmd.Output()
	_, last, _ := strings.Cut(string(out), "\nheap ")
	_, scanErr := fmt.Sscan(last, &size)
	require.Must(t, err == nil && scanErr == nil, "%v: %s", err, out)
	return size
}
