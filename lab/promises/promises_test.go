// Package promises compares what docs/versions.md promises with the lists in lists/, one file for each kind of promise,
// in which each line is a promise. A difference breaks a promise or adds one. After a change that is meant, update them:
//
//	cd lab && GOWORK=off go test ./promises -update
package promises

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

const root = "../.."

var update = flag.Bool("update", false, "write the lists, in place of comparing them")

// lists are kinds of promises, each by what lists the present ones: lines of a name, ": " and what it is.
var lists = map[string]func(t *testing.T) []string{
	"chart":             chartValues,
	"client-java":       javaNames,
	"client-python":     pythonNames,
	"client-typescript": typescriptNames,
	"codes":             exitCodes,
	"config":            configKeys,
	"entries":           entries,
	"flags":             flags,
	"json":              printedJSON,
	"logs":              logs,
	"metrics":           scraped,
	"names":             names,
	"protocol":          protocol,
	"sql":               sqlNames,
	"texts":             texts,
	"urls":              parameters,
	"variables":         variables,
	"words":             words,
}

func TestPromises(t *testing.T) {
	for kind, list := range lists {
		t.Run(kind, func(t *testing.T) {
			file := "lists/" + kind + ".txt"
			lines := list(t)
			slices.Sort(lines)
			lines = slices.Compact(lines)
			require.Must(t, len(lines) > 0, "there is no promise")
			if *update {
				write(t, file, lines)
				return
			}
			for _, difference := range compare(read(t, file), lines) {
				t.Errorf("%s: %s: %s", difference.word, kind, difference.what)
			}
			if t.Failed() {
				t.Log("if that is meant: cd lab && GOWORK=off go test ./promises -update")
			}
		})
	}
}

// The words of differences.
const (
	breaks = "breaks"
	adds   = "adds"
)

type difference struct{ word, what string }

// compare says how promises differ from those that were made.
func compare(made, present []string) (all []difference) {
	was, is := byName(made), byName(present)
	for name, what := range was {
		now, found := is[name]
		switch {
		case !found:
			all = append(all, difference{breaks, name + " went"})
		case now != what:
			all = append(all, difference{breaks, fmt.Sprintf("%s was %s, and is %s", name, what, now)})
		}
	}
	for name, what := range is {
		if _, found := was[name]; !found {
			all = append(all, difference{adds, name + ": " + what})
		}
	}
	slices.SortFunc(all, func(a, b difference) int { return cmp.Compare(a.what, b.what) })
	return all
}

func byName(lines []string) map[string]string {
	named := map[string]string{}
	for _, line := range lines {
		name, what, _ := strings.Cut(line, ": ")
		named[name] = what
	}
	return named
}

func read(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func write(t *testing.T, file string, lines []string) {
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666))
}
