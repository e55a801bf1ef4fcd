package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) inspectCommand() *cobra.Command {
	i := newInspector(t)
	cmd := &cobra.Command{
		Use:   "inspect [ID]...",
		Short: "show the fields of IDs",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := i.settle(); err != nil {
				return wrong(cmd, "%v", err)
			}
			t.awaitInput(ids) // the new of "new | inspect" may make the secret
			if err := i.openCipher(); err != nil {
				return err
			}
			return t.answerAll(ids, i.answer)
		},
	}
	i.flags(cmd)
	fromFlag(cmd, &i.from)
	jsonFlag(cmd, &i.json)
	return cmd
}

// An inspector finds out what IDs say.
type inspector struct {
	*tool
	parser
	home     home              // of the secret
	json     bool              // print JSON
	cipher   *randflake.Cipher // nil if there is no secret, or the IDs need none
	noSecret error             // why cipher is nil: the error for a Randflake ID
	now      func() time.Time  // IDs of later times are implausible
}

func newInspector(t *tool) *inspector {
	return &inspector{tool: t, parser: parser{from: formAuto}, now: time.Now}
}

// flags defines the flags that say what the IDs are, and where their secret is.
func (i *inspector) flags(cmd *cobra.Command) {
	kindFlags(cmd, &i.choiceOfKind)
	storeFlag(cmd, &i.home)
	secretFlag(cmd, &i.home.secret)
}

// kindOfForm has the kind of the IDs in a form, if there is only one.
var kindOfForm = map[string]string{
	formGosuda: kindRandflake,
	formBase32: kindSnowflake,
	formBase58: kindSnowflake,
	formBase62: kindSnowflake,
}

// settle completes the user's choice, or returns an error that names flags which can't be combined.
func (i *inspector) settle() error {
	if err := i.choiceOfKind.settle(); err != nil {
		return err
	}
	only := kindOfForm[i.from]
	i.kind = cmp.Or(i.kind, only)
	switch {
	case only != kindAny && i.kind != only:
		return fmt.Errorf("--from %s is for --kind %s", i.from, only)
	case i.kind == kindULID && i.from != formAuto && i.from != formText:
		return fmt.Errorf("--from %s: want text, the 26 digits of a ULID", i.from)
	case !i.mayBeRandflake() && (i.home.store != "" || i.home.secret.file != ""):
		return fmt.Errorf("--secret-file and --store are for --kind %s: %s IDs are read without a secret",
			kindRandflake, i.kind)
	}
	return nil
}

// openCipher reads the secret, unless the user chose a kind without one. Where the user asked for nothing that needs
// a secret, there may be none: then noSecret says why.
func (i *inspector) openCipher() error {
	if !i.mayBeRandflake() {
		return nil
	}
	// Before findSecret, which fills home in.
	isAsked := i.kind == kindRandflake || i.home.store != "" || i.home.secret.file != ""
	secret, err := i.home.findSecret()
	if err == nil {
		i.cipher = randflake.NewCipher(secret)
		return nil
	}
	isNeeded := isAsked && !i.home.implied
	if isNeeded || !i.home.hasNoSecret(err) {
		return err
	}
	i.noSecret = err
	return nil
}

// answer appends the possible readings of an ID, each in a line. An implausible ID has an answer and an error.
func (i *inspector) answer(b []byte, text string) ([]byte, error) {
	p := i.parse(text)
	canBeAnything := p.form == formText && i.kind == kindAny && i.from == formAuto
	switch {
	case p.err != nil && canBeAnything:
		return b, fmt.Errorf("%w; numbers, 0x and hexadecimal digits, ULIDs and UUIDs are read, too", p.err)
	case p.err != nil:
		return b, p.err
	}
	labelled := i.kindOf(p) != kindRandflake
	readings, err := i.readingsOf(p)
	for _, r := range readings {
		if i.json {
			b = r.appendJSON(b, i.now())
		} else {
			b = r.appendLine(b, labelled)
		}
	}
	return b, err
}

// kindOf returns the kind of an ID, or kindAny for a number that can be of several kinds.
func (i *inspector) kindOf(p parsed) string {
	switch {
	case i.kind != kindAny:
		return i.kind
	case p.form == formULID:
		return kindULID
	case p.form == formUUID:
		return kindUUID
	case p.form == formText, p.form == formGosuda:
		return kindRandflake
	}
	return kindAny
}

// readingsOf returns the possible readings of an ID, the likeliest first. If its kind and layout are known, it has one
// reading, or two as a UUID, and an error comes with an implausible one. Of the readings of any other ID, those that
// are implausible are dropped.
func (i *inspector) readingsOf(p parsed) ([]reading, error) {
	kind := i.kindOf(p)
	switch {
	case kind == kindULID:
		return i.checked(readULID(p.wide))
	case kind == kindUUID:
		return i.checked(readUUID(p, i.now())...)
	case i.layout != nil:
		r, err := readSnowflake(i.layout, snowflake.ID(p.id))
		if err != nil {
			return nil, err
		}
		return i.checked(r)
	case kind == kindRandflake && i.cipher == nil:
		return nil, i.noSecret
	case kind == kindRandflake:
		return i.checked(i.randflakeReading(p))
	}
	return i.plausibleReadings(p, kind)
}

// checked returns readings of one ID, with an error if the first is implausible.
func (i *inspector) checked(readings ...reading) ([]reading, error) {
	return readings, readings[0].checkTime(i.now())
}

func (i *inspector) randflakeReading(p parsed) reading {
	r := readRandflake(i.cipher, p.id)
	r.prefix = p.prefix
	if p.form == formGosuda {
		r.note = textField("format", formGosuda)
	}
	return r
}
