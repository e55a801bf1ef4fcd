package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jszwec/csvutil"
)

// Results are the files of one chapter.
type Results struct {
	Meta     Meta      // under what circumstances the data are measured
	Progress *Progress // how far Run has come

	dir    string
	verify bool // compare tables with the files that are there, and write nothing
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
		err = fmt.Errorf("%s has %d rows, not one", filepath.Join(r.dir, "meta.csv"), len(rows))
	}
	if err != nil {
		return nil, err
	}
	r.Meta = rows[0]
	return r, nil
}

// Verify returns results whose Table compares with the file that is there instead of writing it.
func (r *Results) Verify() *Results {
	v := *r
	v.verify = true
	return &v
}

// KeepMeta writes down the circumstances of the run, once its data are there.
func (r *Results) KeepMeta() error { return r.CSV("meta", []Meta{r.Meta}) }

// Text writes a file.
func (r *Results) Text(name string, text []byte) error {
	if r.verify {
		return nil
	}
	return os.WriteFile(filepath.Join(r.dir, name), text, 0o644)
}

// CSV writes rows, a slice of structs, into the file name.csv, with a header from the fields' tags.
func (r *Results) CSV(name string, rows any) error {
	text, err := csvutil.Marshal(rows)
	if err != nil {
		return err
	}
	return r.Text(name+".csv", text)
}

// Load reads the rows that CSV wrote.
func Load[Row any](r *Results, name string) ([]Row, error) {
	path := filepath.Join(r.dir, name+".csv")
	text, err := os.ReadFile(path)
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
	path := filepath.Join(r.dir, name+".md")
	if !r.verify {
		return os.WriteFile(path, text, 0o644)
	}
	kept, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(kept, text) {
		err = fmt.Errorf("%s is not what the data beside it give", path)
	}
	return err
}

// Picture has draw write a picture into the file name.svg.
func (r *Results) Picture(name string, draw func(io.Writer) error) error {
	if r.verify {
		return nil
	}
	var picture bytes.Buffer
	if err := draw(&picture); err != nil {
		return err
	}
	return r.Text(name+".svg", picture.Bytes())
}
