package cli

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (t *tool) inspectCommand() *cobra.Command {
	in := inspector{tool: t, now: time.Now, parser: parser{from: "auto"}}
	var h home
	cmd := &cobra.Command{
		Use:   "inspect [ID]...",
		Short: "show the fields of IDs",
		Long: `Show the fields of IDs, which are arguments or lines of standard input. If a
number can be a Randflake ID or a Snowflake ID of some layouts, there is a line
for each reading with a plausible time, the likeliest first; --kind and
--layout choose. UUIDs of versions 1, 6 and 7 have a time. TypeIDs, TSIDs,
mentions and capitals are read too.

IDs are not authenticated: a wrong secret decrypts an ID too, to other fields.
The exit status is 1 if an ID's time is over a minute in the future.`,
		Example: `  randflake inspect $(randflake new)
  randflake inspect --json -- -4699162222527489228
  randflake inspect --layout discord 175928847299117063`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := in.settle(h); err != nil {
				return wrong(cmd, "%v", err)
			}
			stdin := bufio.NewReader(t.stdin)
			t.sayWhatIsRead(ids)
			if t.stdin = stdin; len(ids) == 0 {
				stdin.Peek(1) // after that, the "new" of "new | inspect" has made the secret; the next read returns the error too
			}
			if in.kind == "" || in.kind == kindRandflake {
				if err := in.findSecret(h); err != nil {
					return err
				}
			}
			return t.answerAll(ids, in.learn, in.answer)
		},
	}
	kindFlags(cmd, &in.choiceOfKind)
	choiceFlag(cmd, &in.from, "from", "", "FORM", fromUsage+", base32 ...", append(forms, "base32", "base58", "base62")...)
	in.json = jsonFlag(cmd)
	storeFlag(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// An inspector shows the fields of IDs.
type inspector struct {
	*tool
	choiceOfKind
	parser
	json     *bool
	cipher   *randflake.Cipher // or nil
	noSecret error             // why there is no cipher
	now      func() time.Time
}

// settle completes the user's choice, or returns an error that names flags which can't be combined.
func (in *inspector) settle(h home) error {
	if err := in.choiceOfKind.settle(); err != nil {
		return err
	}
	ofSnowflake := strings.HasPrefix(in.from, "base")
	if ofSnowflake {
		in.kind = cmp.Or(in.kind, kindSnowflake)
	}
	switch {
	case ofSnowflake && in.kind != kindSnowflake:
		return fmt.Errorf("--from %s is for --kind %s", in.from, kindSnowflake)
	case in.kind == kindULID && in.from != "auto" && in.from != "text":
		return fmt.Errorf("--from %s: want text, the 26 digits of a ULID", in.from)
	case in.kind != "" && in.kind != kindRandflake && (h.store != "" || h.secret.file != ""):
		return fmt.Errorf("--secret-file and --store are for --kind %s: %s IDs are read without a secret", kindRandflake, in.kind)
	}
	return nil
}

// findSecret reads the secret. If the user named no secret and there is none, that is an error only for IDs that need one.
func (in *inspector) findSecret(h home) error {
	err := h.locate()
	var secret randflake.Secret
	if err == nil || h.secret.known() {
		secret, err = h.readSecret()
	}
	switch {
	case err == nil:
		in.cipher = randflake.NewCipher(secret)
	case h.implied && (h.at.Dir == "" || errors.Is(err, fs.ErrNotExist)):
		in.noSecret = err
	default:
		return err
	}
	return nil
}

// learn parses texts as Randflake IDs. It returns false if it needs later texts to tell their form.
func (in *inspector) learn(texts []string) bool {
	plainly := make([]string, len(texts))
	for i, text := range texts {
		plainly[i] = in.plain(text)
	}
	return in.parseAll(plainly) || in.kind == kindSnowflake || in.kind == kindULID
}

// answer appends the possible readings of the ID in text i. An implausible ID has an answer and an error.
func (in *inspector) answer(b []byte, i int, text string) ([]byte, error) {
	text = in.plain(text)
	kind := in.kindOf(text)
	readings, err := in.read(kind, text, in.all[i])
	for _, r := range readings {
		if *in.json {
			b = r.appendJSON(b, kind != kindRandflake, in.now())
		} else {
			b = r.appendLine(b, kind != kindRandflake)
		}
	}
	return b, err
}

// kindOf returns the kind of the ID in text, or "" for a number that can be of several kinds.
func (in *inspector) kindOf(text string) string {
	switch {
	case in.kind != "":
		return in.kind
	case in.from != "int" && in.from != "hex":
		for _, guess := range guesses {
			if guess.fits(text) {
				return guess.kind
			}
		}
	}
	if form := in.formOf(text); form == "int" || form == "hex" {
		return kindAny
	}
	return kindRandflake
}

// read returns the possible readings of text, which is p as a Randflake ID. Only the single reading of an ID whose kind is
// known can be implausible.
func (in *inspector) read(kind, text string, p parsed) ([]reading, error) {
	switch {
	case kind == kindULID:
		return in.only(readULID(text))
	case kind == kindUUID:
		id, _ := uuidOf(text)
		readings := uuidReadings(id, in.now())
		_, err := in.only(readings[0], nil)
		return readings, err
	case kind == kindSnowflake:
		id, err := parseSnowflake(text, in.from)
		switch {
		case err != nil:
			return nil, err
		case in.layout != nil:
			return in.only(readSnowflake(in.layout, id))
		}
		return in.plausible(text, snowflakeReadings(id))
	case kind == kindAny && in.isTSID(text):
		return in.plausible(text, in.tsidReadings(text, p))
	case p.err != nil:
		if kind == kindRandflake && in.kind == "" && in.from == "auto" {
			p.err = fmt.Errorf("%w: want the text of an ID, with a prefix or without, a number, 0x and hexadecimal digits, a ULID or a UUID", p.err)
		}
		return nil, p.err
	case kind == kindRandflake && in.cipher == nil:
		return nil, in.noSecret
	case kind == kindRandflake:
		r := readRandflake(in.cipher, p.id)
		r.prefix = p.prefix
		return in.only(r, nil)
	}
	readings := snowflakeReadings(snowflake.ID(p.id))
	if in.cipher != nil {
		readings = append(readings, readRandflake(in.cipher, p.id))
	}
	return in.plausible(text, readings)
}

// suspicions are the likely causes of a time in the future.
var suspicions = map[string]string{
	kindRandflake: "it was made with another secret, or forged",
	kindSnowflake: "it was made in another layout, or forged",
	kindULID:      "it was made by a clock that was ahead, or forged",
	kindUUID:      "it was made by a clock that was ahead, or forged",
}

// only returns the one reading of an ID whose kind is known, and an error with it if it is implausible.
func (in *inspector) only(r reading, err error) ([]reading, error) {
	if err != nil {
		return nil, err
	}
	if r.isFuture(in.now()) {
		err = fmt.Errorf("%s%s contains a time in the future, %s: %s", r.prefix, r.id, r.time.Format(r.timeForm), suspicions[r.kind])
	}
	return []reading{r}, err
}

// plausible drops readings with a time in the future and sorts the others, the likeliest first. It fails if no reading is left.
func (in *inspector) plausible(text string, readings []reading) ([]reading, error) {
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.isFuture(in.now()) })
	slices.SortStableFunc(readings, likelier(in.now()))
	if len(readings) > 0 {
		return readings, nil
	}
	advice := "choose one with --kind or --layout"
	if in.noSecret != nil {
		advice += ", or name a secret with --secret-file"
	}
	return nil, fmt.Errorf("%w: %.40q: no kind or layout gives a time between its epoch and now: %s", randflake.ErrInvalidID, text, advice)
}

// A reading has the fields of an ID, read as an ID of some kind.
type reading struct {
	kind     string
	layout   string // of a Snowflake ID
	prefix   string // of a typed ID
	id       string // in the text form of the kind
	decimal  string // or nothing
	time     time.Time
	timeForm string // as package time has it
	fields   []field
	used     float64 // which share of the fields' bits is used, counted from the lowest
}

// A field is a number, or text.
type field struct {
	name, value string
	isText      bool
}

func number[T uint32 | uint64](name string, value T) field {
	return field{name: name, value: strconv.FormatUint(uint64(value), 10)}
}

// milliseconds is time.RFC3339 with milliseconds.
const milliseconds = "2006-01-02T15:04:05.000Z07:00"

func readRandflake(cipher *randflake.Cipher, id randflake.ID) reading {
	fields := cipher.Inspect(id)
	return reading{
		kind:     kindRandflake,
		id:       id.String(),
		decimal:  strconv.FormatInt(int64(id), 10),
		time:     fields.Time,
		timeForm: time.RFC3339,
		fields:   []field{number("node", fields.Node), number("sequence", fields.Sequence)},
		used:     float64(bits.Len32(fields.Node)+bits.Len32(fields.Sequence)) / 34,
	}
}

func readSnowflake(layout *snowflake.Layout, id snowflake.ID) (reading, error) {
	opened, err := layout.Inspect(id)
	r := reading{
		kind:     kindSnowflake,
		layout:   layout.Name(),
		id:       id.String(),
		decimal:  id.String(),
		time:     opened.Time,
		timeForm: milliseconds,
	}
	all, some := 0, 0
	for _, p := range layout.Parts()[1:] { // the time is the first
		value, static := opened.Static[p.Name]
		switch {
		case static:
		case p.Name == "sequence":
			value = opened.Sequence
		default:
			value = opened.Rollback
		}
		r.fields = append(r.fields, number(p.Name, value))
		all += p.Bits
		some += bits.Len64(value)
	}
	r.used = float64(some) / float64(all)
	return r, err
}

// snowflakeReadings reads an ID in every preset layout, and returns the readings whose time is after the epoch of their layout.
func snowflakeReadings(id snowflake.ID) (all []reading) {
	for _, layout := range snowflake.Presets() {
		if r, err := readSnowflake(layout, id); err == nil && r.time.After(layout.Epoch()) {
			all = append(all, r)
		}
	}
	return all
}

// isULID reports whether text is written like a ULID.
func isULID(text string) bool {
	if len(text) != 26 {
		return false
	}
	_, err := ulid.Parse(text)
	return err == nil
}

// readULID reads a ULID, in digits of either case or in the form of a UUID.
func readULID(text string) (reading, error) {
	id, err := ulid.Parse(text)
	if uuid, ok := uuidOf(text); ok {
		id, err = uuid, nil
	}
	if err != nil {
		return reading{}, fmt.Errorf("%w: %.40q: want the 26 digits of a ULID, 0 to 9 and A to Z without I, L, O and U, of 128 bits, or a UUID", randflake.ErrInvalidID, text)
	}
	return ulidReading(id), nil
}

func ulidReading(id ulid.ID) reading {
	fields := ulid.Inspect(id)
	return reading{
		kind:     kindULID,
		id:       id.String(),
		time:     fields.Time,
		timeForm: milliseconds,
		fields:   []field{{"entropy", hex.EncodeToString(fields.Entropy[:]), true}},
	}
}

// clockSkew is how far ahead the clock of an ID's maker may have been.
const clockSkew = time.Minute

// isFuture reports whether the time of r is so far in the future that no ID can have it yet.
func (r reading) isFuture(now time.Time) bool { return r.time.After(now.Add(clockSkew)) }

// appendLine appends the reading in one line, with the kind and the layout or without. There can be many millions of them.
func (r reading) appendLine(b []byte, labelled bool) []byte {
	if labelled {
		b = appendPadded(appendPadded(b, r.id, 19), strings.TrimSpace(r.kind+" "+r.layout), 22)
	} else {
		b = appendPadded(append(b, r.prefix...), r.id, 13)
	}
	if r.timeForm == "" {
		b = append(b, "no time"...)
	}
	b = r.time.AppendFormat(b, r.timeForm)
	for _, f := range r.fields {
		b = append(append(append(b, "  "...), f.name...), ' ')
		b = append(append(b, strings.Repeat(" ", max(0, 6-len(f.value)))...), f.value...)
	}
	return append(b, '\n')
}

// appendPadded appends a column of a table.
func appendPadded(b []byte, text string, width int) []byte {
	return append(append(b, text...), strings.Repeat(" ", max(0, width-len(text))+2)...)
}

// appendJSON appends the reading as a JSON object in one line, with the kind and the layout or without.
func (r reading) appendJSON(b []byte, labelled bool, now time.Time) []byte {
	all := append([]field{{"id", r.prefix + r.id, true}, {"int", r.decimal, true}, {"time", r.time.Format(r.timeForm), true}}, r.fields...)
	if labelled {
		all = append([]field{{"kind", r.kind, true}, {"layout", r.layout, true}}, all...)
	}
	b = append(b, '{')
	for _, f := range all {
		switch {
		case f.value == "":
		case f.isText:
			b = fmt.Appendf(b, `"%s":"%s",`, f.name, f.value)
		default:
			b = fmt.Appendf(b, `"%s":%s,`, f.name, f.value)
		}
	}
	return fmt.Appendf(b, `"plausible":%t}`+"\n", !r.isFuture(now))
}
