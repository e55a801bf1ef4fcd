package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// module is cut off the paths of packages.
const module = "github.com/randflake/randflake"

// An event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// read prints the results of packages, and all output of tests that failed.
func read(events io.Reader, to io.Writer) (outcomes []outcome, err error) {
	packages := map[string]*output{} // those that have not ended
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); err == io.EOF {
			return outcomes, nil
		} else if err != nil {
			return outcomes, fmt.Errorf("go test -json: %w", err)
		}
		p := packages[e.Package]
		if p == nil {
			p = &output{tests: map[string]string{}}
			packages[e.Package] = p
		}
		switch done := e.Action == "pass" || e.Action == "skip"; {
		case e.Action == "build-output":
			fmt.Fprint(to, e.Output)
		case e.Action == "output":
			p.add(e.Test, e.Output)
		case e.Test != "" && done:
			o := outcome{Name: folder(e.Package) + "." + e.Test, Skipped: e.Action == "skip"}
			if o.Skipped {
				o.Reason = reason(p.tests[e.Test])
			}
			outcomes = append(outcomes, o)
			delete(p.tests, e.Test)
		case e.Test == "" && (done || e.Action == "fail"):
			p.print(to, e.Action == "fail")
			delete(packages, e.Package)
		}
	}
}

// folder returns where in the checkout a package is.
func folder(path string) string {
	if path == module {
		return "randflake"
	}
	return strings.TrimPrefix(path, module+"/")
}

// An output is what a package's tests printed, those that passed left out. The package's own is that of the test "".
type output struct {
	tests map[string]string
	order []string
}

func (o *output) add(test, text string) {
	if strings.HasPrefix(text, "=== ") {
		return
	}
	if _, ok := o.tests[test]; !ok {
		o.order = append(o.order, test)
	}
	o.tests[test] += text
}

// result is a package's last line.
var result = regexp.MustCompile(`(?m)^(ok  \t|FAIL).*\n`)

func (o *output) print(to io.Writer, failed bool) {
	if !failed {
		fmt.Fprint(to, strings.Join(result.FindAllString(o.tests[""], -1), ""))
		return
	}
	for _, test := range o.order {
		if test != "" {
			fmt.Fprint(to, o.tests[test])
		}
	}
	fmt.Fprint(to, o.tests[""])
}

// reason returns what a test that was skipped says, without the place in the code.
func reason(output string) string {
	said, _, _ := strings.Cut(output, "--- SKIP")
	return oneLine(place.ReplaceAllString(said, ""))
}

var place = regexp.MustCompile(`(?m)^\s+\w+\.go:\d+: `)

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
