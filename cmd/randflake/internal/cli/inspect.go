package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) inspectCommand() *cobra.Command {
	in := newInspector(t)
	cmd := &cobra.Command{
		Use:   "inspect [ID]...",
		Short: "show the fields of IDs",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := in.settle(); err != nil {
				return wrong(cmd, "%v", err)
			}
			t.sayWhatIsRead(ids)
			stdin := bufio.NewReader(t.stdin)
			t.stdin = stdin
			if len(ids) == 0 {
				// Wait for the first ID: the new of "new | inspect" may make the secret. The next
				// read returns the error, too.
				stdin.Peek(1)
			}
			if err := in.findSecret(); err != nil {
				return err
			}
			return t.answerAll(ids, in.answer)
		},
	}
	in.flags(cmd)
	fromFlag(cmd, &in.from)
	in.json = jsonFlag(cmd)
	return cmd
}

type inspector struct {
	*tool
	parser
	home     home // of the secret
	json     *bool
	cipher   *randflake.Cipher // or nil
	noSecret error             // why there is no cipher
	now      func() time.Time  // IDs of later times are implausible
}

func newInspector(t *tool) *inspector {
	return &inspector{tool: t, parser: parser{from: formAuto}, now: time.Now}
}

// flags defines the flags that say what the IDs are, and where their secret is.
func (in *inspector) flags(cmd *cobra.Command) {
	kindFlags(cmd, &in.choiceOfKind)
	storeFlag(cmd, &in.home)
	secretFlag(cmd, &in.home.secret)
}

// settle completes the user's choice, or returns an error that names flags which can't be combined.
func (in *inspector) settle() error {
	if err := in.choiceOfKind.settle(); err != nil {
		return err
	}
	only := in.kind // whose IDs have the form
	switch in.from {
	case formGosuda:
		only = kindRandflake
	case formBase32, formBase58, formBase62:
		only = kindSnowflake
	}
	in.kind = cmp.Or(in.kind, only)
	switch {
	case in.kind != only:
		return fmt.Errorf("--from %s is for --kind %s", in.from, only)
	case in.kind == kindULID && in.from != formAuto && in.from != formText:
		return fmt.Errorf("--from %s: want text, the 26 digits of a ULID", in.from)
	case !in.mayBeRandflake() && (in.home.store != "" || in.home.secret.file != ""):
		return fmt.Errorf("--secret-file and --store are for --kind %s: %s IDs are read without a secret",
			kindRandflake, in.kind)
	}
	return nil
}

// findSecret reads the secret, unless the user chose a kind without one. If the command line asks for none and the
// store has none, that is no error: in.noSecret then waits for an ID that needs one.
func (in *inspector) findSecret() error {
	if !in.mayBeRandflake() {
		return nil
	}
	isAsked := in.kind == kindRandflake || in.home.store != "" || in.home.secret.file != ""
	secret, err := in.home.findSecret()
	switch {
	case err == nil:
		in.cipher = randflake.NewCipher(secret)
		return nil
	case isAsked && !in.home.implied, !in.home.lacksSecret(err):
		return err
	}
	in.noSecret = err
	return nil
}

// answer appends the possible readings of an ID, each in a line. An implausible ID has an answer and
// an error.
func (in *inspector) answer(b []byte, text string) ([]byte, error) {
	p := in.parse(text)
	canBeAnything := p.form == formText && in.kind == "" && in.from == formAuto
	switch {
	case p.err != nil && canBeAnything:
		return b, fmt.Errorf("%w; numbers, 0x and hexadecimal digits, ULIDs and UUIDs are read, too", p.err)
	case p.err != nil:
		return b, p.err
	}
	labelled := in.kindOf(p) != kindRandflake
	readings, err := in.readingsOf(p)
	for _, r := range readings {
		if *in.json {
			b = r.appendJSON(b, in.now())
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
	case p.form == formText, p.form == formGosuda:
		return kindRandflake
	}
	return kindAny
}

// readingsOf returns the possible readings of an ID. An ID of a known kind has one reading, which
// may be implausible: an error comes with it. Other IDs have only plausible readings.
func (in *inspector) readingsOf(p parsed) ([]reading, error) {
	kind := in.kindOf(p)
	switch {
	case kind == kindULID:
		return in.single(readULID(p.wide), nil)
	case kind == kindUUID:
		readings := readUUID(p, in.now())
		_, err := in.single(readings[0], nil)
		return readings, err
	case in.layout != nil:
		return in.single(readSnowflake(in.layout, snowflake.ID(p.id)))
	case kind == kindRandflake && in.cipher == nil:
		return nil, in.noSecret
	case kind == kindRandflake:
		r := readRandflake(in.cipher, p.id)
		r.prefix = p.prefix
		if p.form == formGosuda {
			r.fields = append(r.fields, field{"form", formGosuda, true})
		}
		return in.single(r, nil)
	}
	return in.readingsOfNumber(p, kind)
}

// readingsOfNumber returns the readings of an ID that can be of several layouts or kinds.
func (in *inspector) readingsOfNumber(p parsed, kind string) ([]reading, error) {
	readings := snowflakeReadings(snowflake.ID(p.id), p.layout)
	if kind == kindAny && p.layout == "" && in.cipher != nil {
		readings = slices.Insert(readings, 0, readRandflake(in.cipher, p.id)) // first among equals: see likelier
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

// single returns the one reading of an ID whose kind is known, and an error with it if it is
// implausible.
func (in *inspector) single(r reading, err error) ([]reading, error) {
	if err != nil {
		return nil, err
	}
	if r.isFuture(in.now()) {
		err = fmt.Errorf("%s%s contains a time in the future, %s: %s",
			r.prefix, r.id, r.time.Format(r.timeForm), suspicions[r.kind])
	}
	return []reading{r}, err
}

// plausible drops readings with a time in the future, and sorts the others, the likeliest first. It
// returns an error if no reading is left.
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
	return nil, fmt.Errorf("%w: %.40q: no kind or layout gives a time between its epoch and now: %s",
		randflake.ErrInvalidID, text, advice)
}
