package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A marker opens the place of a table in a page of the documentation; closing ends it.
var marker = regexp.MustCompile(`(?m)^<!-- bench:([a-z0-9-]+) -->\n`)

const closing = "<!-- /bench -->"

// pictures finds what a page shows or links from the results.
var pictures = regexp.MustCompile(`[("]([^()"\s]*bench/results/[^()"\s]+)[)"]`)

// Docs are the pages that show tables: README.md and docs/*.md of the repository at root.
type Docs struct{ root, results string }

// OpenDocs returns the documentation of a repository, with the tables below results.
func OpenDocs(root, results string) Docs { return Docs{root, results} }

// Refresh puts the tables of the results into the pages. A place whose table there is no file for
// is an error, and the page stays as it is.
func (d Docs) Refresh() error {
	return d.each(func(path, old, refreshed string) error {
		if old == refreshed {
			return nil
		}
		return os.WriteFile(path, []byte(refreshed), 0o644)
	})
}

// Check returns an error for each page with a table that differs from the results or is not among
// them, or with a link to a result that does not exist.
func (d Docs) Check() error {
	return d.each(func(path, old, refreshed string) error {
		if old != refreshed {
			return fmt.Errorf("%s: %s", path, differing(old, refreshed))
		}
		return checkLinks(path, old)
	})
}

// each calls f with each page, as it is and as it should be.
func (d Docs) each(f func(path, old, refreshed string) error) error {
	pages, err := filepath.Glob(filepath.Join(d.root, "docs", "*.md"))
	if err != nil {
		return err
	}
	var failed []error
	for _, path := range append([]string{filepath.Join(d.root, "README.md")}, pages...) {
		text, err := os.ReadFile(path)
		if err == nil {
			var refreshed string
			if refreshed, err = d.refreshed(string(text)); err == nil {
				err = f(path, string(text), refreshed)
			} else {
				err = fmt.Errorf("%s: %w", path, err)
			}
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// refreshed returns a page with the tables of the results in their places.
func (d Docs) refreshed(page string) (string, error) {
	var b strings.Builder
	for {
		at := marker.FindStringSubmatchIndex(page)
		if at == nil {
			b.WriteString(page)
			return b.String(), nil
		}
		name, rest := page[at[2]:at[3]], page[at[1]:]
		end := strings.Index(rest, closing)
		if next := marker.FindStringIndex(rest); end < 0 || next != nil && next[0] < end {
			return "", fmt.Errorf("the place of table %q has no %s", name, closing)
		}
		table, err := d.table(name)
		if err != nil {
			return "", err
		}
		b.WriteString(page[:at[1]] + table)
		page = rest[end:]
	}
}

// table returns the table of a name, whichever chapter it is from.
func (d Docs) table(name string) (string, error) {
	files, err := filepath.Glob(filepath.Join(d.results, "*", name+".md"))
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", fmt.Errorf("table %q has %d files of results, not one", name, len(files))
	}
	text, err := os.ReadFile(files[0])
	return string(text), err
}

// differing names the first line in which a page is not as it should be.
func differing(old, refreshed string) string {
	was, want := strings.Split(old, "\n"), strings.Split(refreshed, "\n")
	for i := range min(len(was), len(want)) {
		if was[i] != want[i] {
			return fmt.Sprintf("line %d is %q, and by the results %q", i+1, was[i], want[i])
		}
	}
	return "a table is not as long as in the results"
}

// checkLinks finds links into the results that lead nowhere.
func checkLinks(path, page string) error {
	for _, link := range pictures.FindAllStringSubmatch(page, -1) {
		target := filepath.Join(filepath.Dir(path), filepath.FromSlash(link[1]))
		if _, err := os.Stat(target); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}
