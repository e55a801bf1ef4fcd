package snowflake

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// IDs from the wild, with what their makers say is in them; and where none are published, IDs put
// together here from the published layout.
func TestPresetsOpenKnownIDs(t *testing.T) {
	utc := func(s string) time.Time {
		moment, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return moment.UTC()
	}
	for _, test := range []struct {
		source string
		layout *Layout
		id     ID
		fields Fields
	}{
		{"a tweet of Wikipedia's, dissected at en.wikipedia.org/wiki/Snowflake_ID: machine 378",
			Twitter(), 1541815603606036480,
			Fields{Time: utc("2022-06-28T16:07:40.105Z"), Static: map[string]uint64{"datacenter": 378 >> 5, "worker": 378 & 31}}},
		{"the same with one field",
			worker10, 1541815603606036480,
			Fields{Time: utc("2022-06-28T16:07:40.105Z"), Static: map[string]uint64{"worker": 378}}},
		{"Discord's documentation",
			discord, 175928847299117063,
			Fields{Time: utc("2016-04-30T11:18:25.796Z"), Static: map[string]uint64{"worker": 1, "process": 0}, Sequence: 7}},
		{"the article's user 31341 on 2,000 shards, 1387263000 ms after the epoch, number 5001",
			instagram, 1387263000<<(64-41) | 1341<<(64-41-13) | 5001%1024,
			Fields{Time: time.UnixMilli(1314220021721 + 1387263000).UTC(), Static: map[string]uint64{"shard": 1341}, Sequence: 905}},
		{"a post of the day before github.com/notslang/instagram-id-to-url-segment/issues/1 of 2016-05-09",
			instagram, 1245771331041990029,
			Fields{Time: utc("2016-05-08T17:12:17.037Z"), Static: map[string]uint64{"shard": 2021}, Sequence: 397}},
		{"1 hour, sequence 3, machine 0x1234",
			sonyflake, 360000<<24 | 3<<16 | 0x1234,
			Fields{Time: utc("2014-09-01T01:00:00Z"), Static: map[string]uint64{"machine": 0x1234}, Sequence: 3}},
		{"the last second, which its source says is 2024-11-20 21:24:16 in Beijing, less one",
			baidu, (1<<28-1)<<35 | 4194303<<13 | 8191,
			Fields{Time: utc("2024-11-20T21:24:15+08:00"), Static: map[string]uint64{"worker": 4194303}, Sequence: 8191}},
		{"1 day, node 200, rollback 2, sequence 4095",
			node8, 86400000<<22 | 200<<14 | 2<<12 | 4095,
			Fields{Time: utc("2025-01-02T00:00:00Z"), Static: map[string]uint64{"node": 200}, Rollback: 2, Sequence: 4095}},
		{"Discord's in 2100, which is more than 63 bits",
			discord, (1<<41+1)<<22 | 1<<17 | 7,
			Fields{Time: time.UnixMilli(1420070400000 + 1<<41 + 1).UTC(), Static: map[string]uint64{"worker": 1, "process": 0}, Sequence: 7}},
		{"1 day, worker 31, sequence 127",
			javaScript53, 86400000<<12 | 31<<7 | 127,
			Fields{Time: utc("2025-01-02T00:00:00Z"), Static: map[string]uint64{"worker": 31}, Sequence: 127}},
	} {
		got, err := test.layout.Inspect(test.id)
		if err != nil || !got.Time.Equal(test.fields.Time) || !maps.Equal(got.Static, test.fields.Static) ||
			got.Rollback != test.fields.Rollback || got.Sequence != test.fields.Sequence {
			t.Errorf("%s (%s): %v, %v, want %v", test.layout.Name(), test.source, got, err, test.fields)
		}
		if id, err := test.layout.Compose(test.fields); id != test.id || err != nil {
			t.Errorf("%s (%s): composed as %d, %v", test.layout.Name(), test.source, id, err)
		}
	}
}

func TestPresets(t *testing.T) {
	names := map[string]bool{}
	for i, l := range Presets() {
		if names[l.Name()] {
			t.Errorf("preset %d is %v, which was there before", i, l)
		}
		names[l.Name()] = true
		if got, err := ParseLayout(l.Name()); got != l || err != nil {
			t.Errorf("ParseLayout(%q) = %v, %v", l.Name(), got, err)
		}
		want := 63
		switch l {
		case discord:
			want = 64
		case javaScript53:
			want = 53
		}
		if l.bits() != want {
			t.Errorf("%v: %d bits, want %d", l, l.bits(), want)
		}
	}
	if l, err := ParseLayout("twitter"); l != Twitter() || err != nil {
		t.Errorf("Twitter() is %v, and by name %v, %v", Twitter(), l, err)
	}
	for _, name := range []string{"", "Twitter", "twitter ", "facebook", "worker15", "region6"} {
		l, err := ParseLayout(name)
		if l != nil || !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("ParseLayout(%q) = %v, %v", name, l, err)
			continue
		}
		for known := range names {
			if !strings.Contains(err.Error(), known) {
				t.Errorf("ParseLayout(%q): %v does not list %s", name, err, known)
			}
		}
	}
	Presets()[0] = nil
	if slices.Contains(Presets(), nil) {
		t.Error("a caller can change the presets")
	}
}
