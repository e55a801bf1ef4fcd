package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) inspectCommand() *cobra.Command {
	in := inspector{tool: t, now: time.Now, parser: parser{from: formAuto}}
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
			t.stdin = stdin
			if len(ids) == 0 {
				stdin.Peek(1) // wait until "new | inspect" has made the secret; the next read returns the error too
			}
			if err := in.findSecret(h); err != nil {
				return err
			}
			return t.answerAll(ids, in.parseAll, in.answer)
		},
	}
	kindFlags(cmd, &in.choiceOfKind)
	fromFlag(cmd, &in.from)
	in.json = jsonFlag(cmd)
	storeFlag(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// An inspector shows the fields of IDs.
type inspector struct {
	*tool
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

// findSecret reads the secret, unless the kind has none. If the user named no secret and there is none, that is an error only for IDs
// that need one.
func (in *inspector) findSecret(h home) error {
	if in.kind != "" && in.kind != kindRandflake {
		return nil
	}
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

// answer appends the possible readings of ID i. An implausible ID has an answer and an error.
func (in *inspector) answer(b []byte, i int, _ string) ([]byte, error) {
	p := in.all[i]
	labelled := in.kindOf(p) != kindRandflake
	readings, err := in.readingsOf(p)
	for _, r := range readings {
		if *in.json {
			b = r.appendJSON(b, labelled, in.now())
		} else {
			b = r.appendLine(b, labelled)
		}
	}
	return b, err
}

// kindOf returns the kind of an ID, or kindAny for a number that can be of several kinds.
func (in *inspector) kindOf(p parsed) string {
	switch {
	case in.kind != "":
		return in.kind
	case p.form == formULID:
		return kindULID
	case p.form == formUUID:
		return kindUUID
	case p.form == formText && p.tsid == 0, p.form == "":
		return kindRandflake
	}
	return kindAny
}

// readingsOf returns the possible readings of an ID. Only the single reading of one whose kind is known can be implausible.
func (in *inspector) readingsOf(p parsed) ([]reading, error) {
	kind := in.kindOf(p)
	if p.err != nil && p.form == formText && in.kind == "" && in.from == formAuto {
		p.err = fmt.Errorf("%w: want the text of an ID, with a prefix or without, a number, 0x and hexadecimal digits, a ULID or a UUID", p.err)
	}
	switch {
	case p.err != nil:
		return nil, p.err
	case kind == kindULID:
		return in.single(ulidReading(p.wide), nil)
	case kind == kindUUID:
		readings := uuidReadings(p, in.now())
		_, err := in.single(readings[0], nil)
		return readings, err
	case in.layout != nil:
		return in.single(readSnowflake(in.layout, snowflake.ID(p.id)))
	case kind == kindRandflake && in.cipher == nil:
		return nil, in.noSecret
	case kind == kindRandflake:
		r := readRandflake(in.cipher, p.id)
		r.prefix = p.prefix
		return in.single(r, nil)
	}
	readings := snowflakeReadings(snowflake.ID(p.id), p.layout)
	if p.tsid != 0 {
		readings = snowflakeReadings(snowflake.ID(p.tsid), "tsid")
	}
	if kind == kindAny && p.layout == "" && in.cipher != nil {
		readings = append(readings, readRandflake(in.cipher, p.id))
	}
	return in.plausible(p.text, readings)
}

// suspicions are the likely causes of a time in the future.
var suspicions = map[string]string{
	kindRandflake: "it was made with another secret, or forged",
	kindSnowflake: "it was made in another layout, or forged",
	kindULID:      "it was made by a clock that was ahead, or forged",
	kindUUID:      "it was made by a clock that was ahead, or forged",
}

// single returns the one reading of an ID whose kind is known, and an error with it if it is implausible.
func (in *inspector) single(r reading, err error) ([]reading, error) {
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
