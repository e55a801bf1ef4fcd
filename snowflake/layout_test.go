package snowflake

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

var epoch2025 = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// mustParse returns the layout that begins with a text.
func mustParse(t testing.TB, text string, unit time.Duration, epoch time.Time) *Layout {
	t.Helper()
	l, err := ParseLayout(fmt.Sprintf("%s; %s since %s", text, unit, epoch.UTC().Format(time.RFC3339Nano)))
	require.NoError(t, err)
	return l
}

// mustLayout returns a layout of milliseconds since 2025.
func mustLayout(t testing.TB, parts string) *Layout {
	t.Helper()
	return mustParse(t, "test: "+parts, time.Millisecond, epoch2025)
}

func TestParseLayoutRefuses(t *testing.T) {
	const rest = "; 1ms since 2025-01-01T00:00:00Z"
	for text, says := range map[string]string{
		": time 41, sequence 12" + rest:                                   `name ""`,
		"Mine: time 41, sequence 12" + rest:                               "lower-case",
		"8node: time 41, sequence 12" + rest:                              `"8node"`,
		"`node: time 41, sequence 12" + rest:                              "lower-case",
		"{node: time 41, sequence 12" + rest:                              "lower-case",
		"-node: time 41, sequence 12" + rest:                              "lower-case",
		"no/de: time 41, sequence 12" + rest:                              "lower-case",
		"no:de: time 41, sequence 12" + rest:                              "lower-case",
		"no.de: time 41, sequence 12" + rest:                              "lower-case",
		"mine: time 41, a`, sequence 12" + rest:                           "number of bits",
		"mine: time 41, a` 1, sequence 12" + rest:                         "lower-case",
		"mine: time 41, sequence 12; 0s since 2025-01-01T00:00:00Z":       "unit 0s",
		"mine: time 41, sequence 12; -1ms since 2025-01-01T00:00:00Z":     "unit -1ms",
		"mine: time 41, sequence 12; 1.5ms since 2025-01-01T00:00:00Z":    "whole milliseconds",
		"mine: time 41, sequence 12; 1ms since 10000-01-01T00:00:00Z":     "epoch",
		"mine: time 41, sequence 12; 1ms since 1969-12-31T23:59:59Z":      "1970",
		"mine: time 41, sequence 12; 1ms since 9999-12-31T23:00:00-01:00": "want the years 1970 to 9999",
		"mine: time 41, sequence 12; 1ms since 2025-01-01T00:00:00.0005Z": "whole millisecond",
		"mine: time 41, sequence 12; x since 2025-01-01T00:00:00Z":        `unit "x"`,
		"mine: time 41, sequence 12; 1ms since yesterday":                 `epoch "yesterday"`,
		"mine: worker 10" + rest:                                          "first",
		"mine: time 41, worker 10" + rest:                                 "part sequence",
		"mine: sequence 12, time 41" + rest:                               "first",
		"mine: time 20, time 20, sequence 12" + rest:                      "part time",
		"mine: time 41, sequence 5, sequence 12" + rest:                   "twice",
		"mine: time 41, rollback 1, rollback 1, sequence 12" + rest:       "twice",
		"mine: time 21, worker 10, worker 10, sequence 12" + rest:         "twice",
		"mine: time 41, Data 1, sequence 12" + rest:                       "lower-case",
		"mine: time 41, worker 0, sequence 12" + rest:                     "1 to 63",
		"mine: time 41, sequence 64" + rest:                               "1 to 63",
		"mine: time 42, worker 10, sequence 13" + rest:                    "65 bits",
		"mine: time 42, rollback 2, sequence 20" + rest:                   "at most 63",
		"mine: time 48, sequence 12" + rest:                               "at most 47",
		"mine: time 62, sequence 1; 1s since 2025-01-01T00:00:00Z":        "at most 37",
		strings.Repeat("x", 1<<20):                                        "at most 2000 bytes",
		"mine: " + strings.Repeat("x", 1<<20):                             "at most 2000 bytes",
		strings.Repeat("x", 2000-40) + ": time 41, sequence 13" + rest:    "at most 2000 bytes",
	} {
		refusesLayout(t, text, says)
	}
}

// refusesLayout checks that a text is no layout, and that the error says why.
func refusesLayout(t *testing.T, text, says string) {
	t.Helper()
	l, err := ParseLayout(text)
	require.That(t, l == nil && errors.Is(err, ErrInvalidLayout) && strings.Contains(err.Error(), says),
		"ParseLayout(%.200q) = %v, %v, want ErrInvalidLayout that says %q", text, l, err, says)
}

// The last unit of a layout ends in the year 9999 at the latest.
func TestLastMillisecond(t *testing.T) {
	end := time.Date(9999, 12, 31, 24, 0, 0, 0, time.UTC)
	for _, unit := range []time.Duration{time.Millisecond, time.Second} {
		const bits = 36
		life := (1 << bits) * unit.Milliseconds()
		text := func(late int64) string {
			epoch := time.UnixMilli(end.UnixMilli() - life + late).UTC()
			return fmt.Sprintf("last: time %d, sequence 1; %s since %s", bits, unit, epoch.Format(time.RFC3339Nano))
		}
		l, err := ParseLayout(text(0))
		require.NoError(t, err)
		require.That(t, l.Expires().Equal(end), "%v expires at %v, want %v", l, l.Expires(), end)
		refusesLayout(t, text(1), "at most 35")
	}
}

func TestPresets(t *testing.T) {
	page, err := os.ReadFile("../docs/layouts.md")
	require.NoError(t, err)
	bits := map[string]int{"discord": 64, "tsid": 64, "javascript53": 53, "yitter": 53}
	for _, l := range Presets() {
		require.Gives(t, l, "ParseLayout(%q)", l.Name())(ParseLayout(l.Name()))
		want := cmp.Or(bits[l.Name()], 63)
		require.That(t, l.bits() == want, "%v: %d bits, want %d", l, l.bits(), want)
		require.That(t, strings.Contains(string(page), rowOf(l)), "docs/layouts.md has no row%s", rowOf(l))
	}
	for _, name := range []string{"", "Twitter", "twitter ", "worker15"} {
		refusesLayout(t, name, "discord") // and the other presets
	}
	Presets()[0] = nil
	require.That(t, !slices.Contains(Presets(), nil), "a caller can change the presets")
}

// rowOf returns the row of a preset in docs/layouts.md.
func rowOf(l *Layout) string {
	text := strings.TrimPrefix(l.String(), l.Name()+": ") // PARTS; 1ms since EPOCH
	parts, _, _ := strings.Cut(text, "; 1ms since ")
	parts, _, _ = strings.Cut(strings.Replace(parts, "; ", "; unit ", 1), " since ")
	epoch := strings.TrimSuffix(l.Epoch().Format("2006-01-02 15:04:05.999"), " 00:00:00")
	perSecond := fmt.Sprint((l.sequence.max() + 1) * uint64(time.Second/l.tick()))
	for at := len(perSecond) - 3; at > 0; at -= 3 {
		perSecond = perSecond[:at] + "," + perSecond[at:]
	}
	if l == mastodon {
		perSecond = "its sequence is partly random"
	}
	return fmt.Sprintf("\n| %s | %s | %s | %s | %s |\n", l.Name(), parts, epoch, l.Expires().Format(time.DateOnly), perSecond)
}

func TestFieldsRefused(t *testing.T) {
	l := mustLayout(t, "time 41, region 3, worker 5, rollback 2, sequence 12")
	static := func(name string, value uint64) Fields {
		return Fields{Time: epoch2025, Static: map[string]uint64{name: value}}
	}
	for says, fields := range map[string]Fields{
		"epoch":                        {Time: epoch2025.Add(-1)},
		"ends at":                      {Time: l.Expires()},
		"rollback 4: want at most 3":   {Time: epoch2025, Rollback: 4},
		"sequence 4096: want at most":  {Time: epoch2025, Sequence: 4096},
		"region 8: want at most 7":     static("region", 8),
		"worker 18446744073709551615:": static("worker", math.MaxUint64),
		"shard":                        static("shard", 1),
		"sequence":                     static("sequence", 1),
	} {
		id, err := l.Compose(fields)
		require.That(t, id == 0 && errors.Is(err, errInvalidID) && strings.Contains(err.Error(), says),
			"%d, %v, want errInvalidID that says %q", id, err, says)
		require.Equal(t, errors.Is(err, errEndOfLife), (says == "ends at"), "%v: errEndOfLife is for times after the end", err)
	}
	require.Gives(t, ID(1<<41-1)<<22, "the last moment, rounded down")(l.Compose(Fields{Time: l.Expires().Add(-1)}))
	for _, l := range []*Layout{Twitter(), javaScript53} {
		highest := ID(1)<<l.bits() - 1
		require.Done(t)(l.Inspect(highest))
		require.Refuses(t, errInvalidID, "%v: one bit too many", l)(l.Inspect(highest + 1))
	}
}

func TestParseLayoutIsStrict(t *testing.T) {
	good := "l: time 41, worker 10, sequence 12; 1ms since 2025-01-01T00:00:00Z"
	require.Done(t)(ParseLayout(good))
	for _, change := range [][2]string{
		{good, ""}, {"l: ", ""}, {"; ", ", "}, {" since ", " from "}, {"l:", "L:"}, {"l:", " l:"},
		{"1ms", "1"}, {"1ms", "1000us"}, {"1ms", "0s"}, {"1ms", "+1ms"}, {"1ms", "0.5ms"},
		{"41", "041"}, {"41", "+41"}, {"41", "x"}, {"41", ""}, {"41", "-1"}, {"41", "41 "}, {"worker 10", "worker"},
		{"Z", "+00:00"}, {"Z", ".000Z"}, {"Z", ".0001Z"}, {"Z", "Z "},
		{"2025", "25"}, {"2025", "1969"}, {"2025-01-01T00:00:00Z", "2025-01-01T01:00:00+01:00"},
	} {
		refusesLayout(t, strings.Replace(good, change[0], change[1], 1), "")
	}
}

// IDs from the wild, with what their makers say is in them; and where none are published, IDs put
// together here from the published layout.
func TestPresetsOpenKnownIDs(t *testing.T) {
	utc := func(s string) time.Time {
		moment, err := time.Parse(time.RFC3339Nano, s)
		require.NoError(t, err)
		return moment.UTC()
	}
	for _, test := range []struct {
		source string
		layout *Layout
		id     ID
		fields Fields
	}{
		{"a tweet of Wikipedia's, dissected at en.wikipedia.org/wiki/Snowflake_ID: machine 378",
			Twitter(), 1541815603606036480, Fields{Time: utc("2022-06-28T16:07:40.105Z"), Static: map[string]uint64{"datacenter": 378 >> 5, "worker": 378 & 31}}},
		{"the same with one field",
			worker10, 1541815603606036480, Fields{Time: utc("2022-06-28T16:07:40.105Z"), Static: map[string]uint64{"worker": 378}}},
		{"Discord's documentation",
			discord, 175928847299117063, Fields{Time: utc("2016-04-30T11:18:25.796Z"), Static: map[string]uint64{"worker": 1, "process": 0}, Sequence: 7}},
		{"the article's user 31341 on 2,000 shards, 1387263000 ms after the epoch, number 5001",
			instagram, 1387263000<<(64-41) | 1341<<(64-41-13) | 5001%1024, Fields{Time: time.UnixMilli(1314220021721 + 1387263000).UTC(), Static: map[string]uint64{"shard": 1341}, Sequence: 905}},
		{"a post of the day before github.com/notslang/instagram-id-to-url-segment/issues/1 of 2016-05-09",
			instagram, 1245771331041990029, Fields{Time: utc("2016-05-08T17:12:17.037Z"), Static: map[string]uint64{"shard": 2021}, Sequence: 397}},
		{"1 hour, sequence 3, machine 0x1234",
			sonyflake, 360000<<24 | 3<<16 | 0x1234, Fields{Time: utc("2014-09-01T01:00:00Z"), Static: map[string]uint64{"machine": 0x1234}, Sequence: 3}},
		{"the last second, which its source says is 2024-11-20 21:24:16 in Beijing, less one",
			baidu, (1<<28-1)<<35 | 4194303<<13 | 8191, Fields{Time: utc("2024-11-20T21:24:15+08:00"), Static: map[string]uint64{"worker": 4194303}, Sequence: 8191}},
		{"1 day, node 200, rollback 2, sequence 4095",
			node8, 86400000<<22 | 200<<14 | 2<<12 | 4095, Fields{Time: utc("2025-01-02T00:00:00Z"), Static: map[string]uint64{"node": 200}, Rollback: 2, Sequence: 4095}},
		{"Discord's in 2100, which is more than 63 bits",
			discord, (1<<41+1)<<22 | 1<<17 | 7, Fields{Time: time.UnixMilli(1420070400000 + 1<<41 + 1).UTC(), Static: map[string]uint64{"worker": 1, "process": 0}, Sequence: 7}},
		{"1 day, worker 31, sequence 127",
			javaScript53, 86400000<<12 | 31<<7 | 127, Fields{Time: utc("2025-01-02T00:00:00Z"), Static: map[string]uint64{"worker": 31}, Sequence: 127}},
	} {
		got, err := test.layout.Inspect(test.id)
		require.That(t, err == nil && reflect.DeepEqual(got, test.fields),
			"%s (%s): %v, %v, want %v", test.layout.Name(), test.source, got, err, test.fields)
		require.Gives(t, test.id, "%s (%s): composed as", test.layout.Name(), test.source)(test.layout.Compose(test.fields))
	}
}

// randomFields returns fields that l can hold, and the ID that has them, put together from their binary digits.
func randomFields(l *Layout) (Fields, ID) {
	var digits strings.Builder
	var p Fields
	for _, f := range l.Parts() {
		value := rand.Uint64N(1 << f.Bits)
		switch rand.IntN(4) { // the ends are where mistakes are
		case 0:
			value = 0
		case 1:
			value = 1<<f.Bits - 1
		}
		fmt.Fprintf(&digits, "%0*b", f.Bits, value)
		switch f.Name {
		case "time":
			p.Time = time.UnixMilli(l.Epoch().UnixMilli() + int64(value)*l.tick().Milliseconds()).UTC()
		case "rollback":
			p.Rollback = value
		case "sequence":
			p.Sequence = value
		default:
			if p.Static == nil {
				p.Static = map[string]uint64{}
			}
			p.Static[f.Name] = value
		}
	}
	id, err := strconv.ParseUint(digits.String(), 2, 64)
	if err != nil {
		panic(err)
	}
	return p, ID(id)
}

func TestFieldsRoundTrip(t *testing.T) {
	layouts := append(Presets(), mustLayout(t, "time 1, sequence 1"),
		mustLayout(t, "time 20, rollback 3, a 1, sequence 7, b 9, c 2"))
	for _, l := range layouts {
		for range 2000 {
			p, id := randomFields(l)
			got, err := l.Compose(p)
			require.Must(t, got == id && err == nil, "%v: Compose(%v) = %d, %v, want %d", l, p, got, err, id)
			if got, err := l.Inspect(id); !reflect.DeepEqual(got, p) || err != nil {
				t.Fatalf("%v: Inspect(%d) = %v, %v, want %v", l, id, got, err, p)
			}
		}
	}
}

func TestParseLayout(t *testing.T) {
	const text = "mine: time 22, region 3, sequence 10, rollback 2, wo-90_baz 4; 1h30m1.5s since 2020-02-29T00:02:03.004Z"
	l, err := ParseLayout(text)
	require.NoError(t, err)
	epoch := time.Date(2020, 2, 29, 0, 2, 3, 4e6, time.UTC)
	require.That(t, l.Name() == "mine" && l.Epoch() == epoch && l.tick() == 90*time.Minute+1500*time.Millisecond,
		"name %s, epoch %v, unit %v", l.Name(), l.Epoch(), l.tick())
	require.That(t, l.bits() == 41 && l.Workers() == 1<<7,
		"%d bits, %d workers, want 41 and 128", l.bits(), l.Workers())
	l.Parts()[1].Bits = 7 // which changes no layout
	require.Equal(t, l.String(), text, "String")
	require.Done(t)(ParseLayout(example))
	for _, l := range append(Presets(), l) {
		read, err := ParseLayout(l.String())
		require.That(t, err == nil && reflect.DeepEqual(read, l), "%s read as %s, %v", l, read, err)
	}
}

// Over all IDs of a small layout, and all moments around it, Range is what the times that Inspect tells say.
func TestRangesExhaustively(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 1500 * time.Millisecond} {
		l := mustParse(t, "small: time 3, worker 1, sequence 2", unit, epoch2025)
		var moments []time.Time
		for i := -2; i <= 1<<3+2; i++ {
			start := epoch2025.Add(time.Duration(i) * unit)
			moments = append(moments, start.Add(-1), start, start.Add(1), start.Add(unit/2))
		}
		for _, from := range moments {
			for _, to := range moments {
				var within []ID
				for id := range ID(1) << l.bits() {
					p, err := l.Inspect(id)
					require.NoError(t, err)
					if !p.Time.Before(from) && p.Time.Before(to) {
						within = append(within, id)
					}
				}
				first, last, err := l.Range(from, to)
				if len(within) == 0 {
					require.Must(t, first == 0 && last == 0 && errors.Is(err, errInvalidID),
						"%v: from %v to %v: %d, %d, %v, want errInvalidID", l, from, to, first, last, err)
					continue
				}
				require.Must(t, first == within[0] && last == within[len(within)-1] && err == nil,
					"%v: from %v to %v: %d, %d, %v, want %v", l, from, to, first, last, err, within)
			}
		}
		require.Refuses(t, errEndOfLife, "%v: first at the end", l)(l.first(l.Expires()))
	}
}
