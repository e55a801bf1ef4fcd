package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jszwec/csvutil"
)

// Results are the files of one chapter.
type Results struct {
	Meta     Meta      // under what circumstances the data are measured
	Progress *Progress // how far Run has come

	dir    string
	verify bool // compare tables and pictures with the files that are there, and write nothing
}

// Open returns the results of a chapter within a directory of results, to which a run with the
// given circumstances writes.
func Open(root, chapter string, meta Meta, progress *Progress) (*Results, error) {
	dir := filepath.Join(root, chapter)
	return &Results{Meta: meta, Progress: progress, dir: dir}, os.MkdirAll(dir, 0o755)
}

// Reopen returns the results that a chapter's last run left.
func Reopen(root, chapter string) (*Results, error) {
	r := &Results{dir: filepath.Join(root, chapter)}
	rows, err := Load[Meta](r, "meta")
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%s has %d rows, not one", r.path("meta.csv"), len(rows))
	}
	if err != nil {
		return nil, err
	}
	r.Meta = rows[0]
	return r, nil
}

// Verify returns results whose tables and pictures are compared with the files that are there instead of
// written.
func (r *Results) Verify() *Results {
	v := *r
	v.verify = true
	return &v
}

// KeepMeta writes down the circumstances of the run, once its data are there.
func (r *Results) KeepMeta() error { return r.CSV("meta", []Meta{r.Meta}) }

// Text writes a file.
func (r *Results) Text(name string, text []byte) error {
	return os.WriteFile(r.path(name), text, 0o644)
}

// File reads a file.
func (r *Results) File(name string) ([]byte, error) { return os.ReadFile(r.path(name)) }

func (r *Results) path(name string) string { return filepath.Join(r.dir, name) }

// CSV writes rows, a slice of structs, into the file name.csv, with a header from the fields' tags. Of a
// float64 it keeps seven digits, which is more than any measurement is worth.
func (r *Results) CSV(name string, rows any) error {
	var text bytes.Buffer
	lines := csv.NewWriter(&text)
	encoder := csvutil.NewEncoder(lines)
	encoder.WithMarshalers(csvutil.MarshalFunc(func(v float64) ([]byte, error) {
		return strconv.AppendFloat(nil, v, 'g', 7, 64), nil
	}))
	if err := encoder.Encode(rows); err != nil {
		return err
	}
	lines.Flush()
	return r.Text(name+".csv", text.Bytes())
}

// Load reads the rows that CSV wrote.
func Load[Row any](r *Results, name string) ([]Row, error) {
	path := r.path(name + ".csv")
	text, err := r.File(name + ".csv")
	if err != nil {
		return nil, err
	}
	decoder, err := csvutil.NewDecoder(csv.NewReader(bytes.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	decoder.DisallowMissingColumns = true
	var rows []Row
	if err := decoder.Decode(&rows); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// Table writes a table into the file name.md, with a line below it that says when and on what
// machine the data were measured. The documentation shows it by the marker of the same name.
func (r *Results) Table(name string, t *Table) error {
	text := []byte(t.Markdown())
	if !t.Unmeasured {
		text = append(text, "\n"+r.Meta.caption()+"\n"...)
	}
	return r.Derived(name+".md", text)
}

// Derived writes a file that is made from the data, or compares it with the one that is there.
func (r *Results) Derived(name string, text []byte) error {
	if !r.verify {
		return r.Text(name, text)
	}
	kept, err := r.File(name)
	if err == nil && !bytes.Equal(kept, text) {
		err = fmt.Errorf("%s is not what the data beside it give", r.path(name))
	}
	return err
}
