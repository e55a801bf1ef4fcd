// Gotest runs "go test", prints what that prints, and remembers the tests that were skipped, which a run lists at its end:
//
//	gotest run [-flags of go test] packages
//	gotest ran NAME            remember something that is no test
//	gotest skip NAME REASON    remember that it can't be done here
//	gotest list [NAME...]      print what was skipped; each NAME must have run
//
// The variable GOTEST_LOG names the file that it remembers them in.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want run, ran, skip or list")
	}
	name := os.Getenv("GOTEST_LOG")
	switch command := args[0]; {
	case command == "run":
		return test(args[1:], os.Stdout, name)
	case command == "ran" && len(args) == 2:
		return remember(name, []outcome{{Name: args[1]}})
	case command == "skip" && len(args) == 3:
		return remember(name, []outcome{{Name: args[1], Skipped: true, Reason: oneLine(args[2])}})
	case command == "list":
		outcomes, err := remembered(name)
		if err != nil {
			return err
		}
		return list(os.Stdout, outcomes, args[1:])
	}
	return fmt.Errorf("unknown arguments %q, want run, ran, skip or list", args)
}

// test runs go test with the arguments. A test that is skipped for -short is not remembered, as another run doesn't skip it.
func test(args []string, to io.Writer, log string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	outcomes, err := read(events, to)
	if slices.Contains(args, "-short") {
		outcomes = slices.DeleteFunc(outcomes, func(o outcome) bool { return o.Skipped })
	}
	return errors.Join(err, cmd.Wait(), remember(log, outcomes))
}

// An outcome is that of a test that did not fail. Its name begins with the package's folder: store/filestore.TestOpen/twice.
type outcome struct {
	Name    string
	Skipped bool   `json:",omitempty"`
	Reason  string `json:",omitempty"`
}

func remember(log string, outcomes []outcome) error {
	if log == "" {
		return nil
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	var lines []byte
	for _, o := range outcomes {
		line, err := json.Marshal(o)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	_, err = file.Write(lines) // at once, since several may write
	return errors.Join(err, file.Close())
}

func remembered(log string) (outcomes []outcome, err error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var o outcome
		if err := decoder.Decode(&o); err == io.EOF {
			return outcomes, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", log, err)
		}
		outcomes = append(outcomes, o)
	}
}

// list prints a line for each reason to skip, and fails unless each of the required tests has run, with all its subtests.
func list(to io.Writer, outcomes []outcome, required []string) error {
	reasons := map[string][]string{}
	ran := map[string]bool{}
	for _, o := range outcomes {
		if o.Skipped {
			reasons[o.Reason] = append(reasons[o.Reason], o.Name)
		} else {
			ran[o.Name] = true
		}
	}
	var lines []string
	for reason, names := range reasons {
		slices.Sort(names)
		lines = append(lines, fmt.Sprintf("skipped: %s: %s", strings.Join(slices.Compact(names), ", "), reason))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Fprintln(to, line)
	}

	var err error
	for _, name := range required {
		if !ran[name] {
			err = errors.Join(err, fmt.Errorf("%s must run, and did not", name))
		}
		for _, o := range outcomes {
			if o.Skipped && (o.Name == name || strings.HasPrefix(o.Name, name+"/")) {
				err = errors.Join(err, fmt.Errorf("%s must not be skipped: %s", o.Name, o.Reason))
			}
		}
	}
	return err
}
