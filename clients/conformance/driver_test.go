//go:build unix

package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

// A language has a driver. lacks are the commands that it may answer with "unsupported".
type language struct {
	name    string
	command []string
	file    string // that has to be there
	lacks   []string
}

const root = "../.."

var languages = []language{
	{name: "go", command: []string{"/proc/self/exe"}, lacks: []string{"parse", "secret", "fork", "mint", "next", "copy"}},
	{name: "minimal", command: []string{filepath.Join(os.TempDir(), fmt.Sprint("randflake-minimal-", os.Getpid()))}, file: "testdata/minimal.c"},
	{name: "python", command: []string{"python3", "../python/tests/driver.py"}, file: "../python/tests/driver.py"},
	{name: "typescript", command: []string{"node", "../typescript/test/driver.mjs"}, file: "../typescript/dist/index.js", lacks: []string{"fork os", "fork c"}},
	{name: "php", command: []string{"php", "../php/tests/driver.php"}, file: "../php/tests/driver.php", lacks: []string{"threads"}},
	{name: "java", command: []string{"java", "-cp", "../java/build/classes:../java/build/test", "io.github.randflake.Driver"}, file: "../java/build/test/io/github/randflake/Driver.class", lacks: []string{"fork os", "fork c"}},
	{name: "ruby", command: []string{"ruby", "../ruby/test/driver.rb"}, file: "../ruby/test/driver.rb"},
}

// missing returns why a language can't be tested here, or "".
func (l language) missing() string {
	if l.file != "" {
		if _, err := os.Stat(l.file); err != nil {
			return err.Error()
		}
	}
	if l.name == "minimal" {
		if out, err := exec.Command("cc", "-O1", "-Wall", "-o", l.command[0], l.file).CombinedOutput(); err != nil {
			return fmt.Sprintf("cc: %v: %s", err, out)
		}
	}
	if _, err := exec.LookPath(l.command[0]); err != nil {
		return err.Error()
	}
	return ""
}

// here returns Go, by the reference, and the languages that RANDFLAKE_LANGUAGES names, or all for "all".
func here(t *testing.T) (found []language) {
	wanted := strings.Split(os.Getenv("RANDFLAKE_LANGUAGES"), ",")
	for _, l := range languages {
		if l.name != "go" && !slices.Contains(wanted, l.name) && !slices.Contains(wanted, "all") {
			continue
		}
		if why := l.missing(); why != "" {
			t.Errorf("%s: %s", l.name, why)
			continue
		}
		found = append(found, l)
	}
	return found
}

// A trial is one part of the suite, in one language. Where it fails it panics with a failure.
type trial struct {
	t        *testing.T
	language language
	fault    string
	service  *service
	drivers  []*driver
	doing    string
}

type failure string

// try runs a part, and returns how it failed, or unsupported where the language lacks something.
func try(t *testing.T, l language, fault string, run func(*trial)) (failed string) {
	x := &trial{t: t, language: l, fault: fault, service: newService(t)}
	defer func() {
		for _, d := range x.drivers {
			d.end()
		}
		x.service.minter.Close()
		switch r := recover().(type) {
		case nil:
		case failure:
			failed = string(r)
		case lacking:
			failed = unsupported
		default:
			panic(r)
		}
	}()
	run(x)
	for _, d := range x.drivers {
		d.audit()
	}
	return ""
}

// lacking is a command that a language does not have, and unsupported what try returns then.
type lacking string

const unsupported = "the language has no such thing"

func (x *trial) failf(format string, args ...any) {
	panic(failure(x.doing + fmt.Sprintf(format, args...)))
}

func (x *trial) must(so bool, format string, args ...any) {
	if !so {
		x.failf(format, args...)
	}
}

// A driver is a process of a client, and the replicas that it calls.
type driver struct {
	*trial
	*answerer
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	stderr string // its file
	asked  string
}

// start starts a driver. Further variables of its environment come last.
func (x *trial) start(replicas int, environ ...string) *driver {
	d := &driver{trial: x, lines: make(chan string, 1), cmd: exec.Command(x.language.command[0], x.language.command[1:]...)}
	d.answerer = newAnswerer(x.service, fmt.Sprintf("%s %s%d", x.language.name, x.doing, len(x.drivers)+1), replicas)
	x.drivers = append(x.drivers, d)
	d.cmd.Env = append(append(d.environ(), "FAULT="+x.fault), environ...)
	for _, e := range environ { // what the service has to know as well
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "TOKEN":
			d.token = value
		case "TTL":
			fmt.Sscan(value, &d.ttl)
		case "NODES":
			fmt.Sscan(value, &d.nodes)
		}
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	d.stderr = filepath.Join(x.t.TempDir(), "log")
	log, err1 := os.Create(d.stderr)
	out, err2 := d.cmd.StdoutPipe()
	in, err3 := d.cmd.StdinPipe()
	d.in, d.cmd.Stderr = in, log
	if err := errors.Join(err1, err2, err3, d.cmd.Start(), log.Close()); err != nil {
		x.t.Fatal(err)
	}
	go func() {
		defer close(d.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			d.lines <- strings.TrimSpace(line)
		}
	}()
	return d
}

func (d *driver) log() string {
	text, err := os.ReadFile(d.stderr)
	return fmt.Sprint(string(text), err)
}

// kill ends the process, and children of it that hang.
func (d *driver) kill() { syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) }

func (d *driver) end() {
	d.kill()
	for range d.lines {
	}
	d.cmd.Wait()
	d.close()
}

// audit fails if a call was not as the page says, or if the driver has told a secret.
func (d *driver) audit() {
	d.in.Close()
	d.silent(d.log())
	for _, c := range d.got("") {
		d.must(c.wrong == "", "call: %s", c.wrong)
	}
}

func (d *driver) silent(text string) {
	for _, hidden := range []string{d.token, d.trial.service.secret.Hex()} {
		d.must(hidden == "" || !strings.Contains(text, hidden), "a secret or token is shown: %s", text)
	}
}

func (d *driver) tell(format string, args ...any) {
	d.asked = fmt.Sprintf(format, args...)
	if _, err := io.WriteString(d.in, d.asked+"\n"); err != nil {
		d.failf("%s: %v: %s", d.asked, err, d.log())
	}
}

func (d *driver) hear() string {
	select {
	case line, ok := <-d.lines:
		d.must(ok, "%s: the driver has ended: %s", d.asked, d.log())
		d.silent(line)
		if line == "unsupported" {
			d.must(slices.ContainsFunc(d.language.lacks, func(l string) bool { return strings.HasPrefix(d.asked, l) }), "%s is unsupported", d.asked)
			panic(lacking(d.asked))
		}
		return line
	case <-time.After(time.Minute):
		d.failf("%s: no answer within a minute: %s", d.asked, d.log())
	}
	return ""
}

func (d *driver) ask(format string, args ...any) string {
	d.tell(format, args...)
	return d.hear()
}

// ids asks for n IDs in all, and returns their raw values.
func (d *driver) ids(n int, format string, args ...any) []randflake.Raw {
	d.tell(format, args...)
	return d.receive(n)
}

func (d *driver) receive(n int) []randflake.Raw {
	line := d.hear()
	words := strings.Fields(line)
	d.must(words[0] == "ids" && len(words) == n+1, "%s: %.200q, want %d ids", d.asked, line, n)
	ids := parseIDs(words[1:])
	d.must(len(ids) == n, "%s: some IDs are no signed 64-bit integers", d.asked)
	raws, err := d.trial.service.take(d.process, ids)
	d.must(err == nil, "%s: %v", d.asked, err)
	return raws
}

// refused asks for what must fail, and returns the code.
func (d *driver) refused(format string, args ...any) string {
	line := d.ask(format, args...)
	words := strings.Split(line, " ")
	d.must(len(words) > 2 && words[0] == "error" && words[1] != "" && strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyz_") == "", "%s: %.200q, want an error with code and message", d.asked, line)
	return words[1]
}

func (d *driver) setAge(seconds int) { d.must(d.ask("age %d", seconds) == "ok", "age") }

func (d *driver) setClock(seconds int) { d.must(d.ask("clock %d", seconds) == "ok", "clock") }

// meet says what the next calls meet.
func (d *driver) meet(plan func(i int, c *call) face) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan, d.planned = plan, 0
}

// first has the first call meet one thing, and all others another.
func first(one, others face) func(int, *call) face {
	return func(i int, _ *call) face {
		if i == 0 {
			return one
		}
		return others
	}
}

func always(f face) func(int, *call) face { return first(f, f) }

// broken makes the first replica that is asked answer by f, and the other one correctly. The transport of a client may send
// a call twice to the first replica.
func broken(f face) func(int, *call) face {
	replica := -1
	return func(_ int, c *call) face {
		if replica < 0 {
			replica = c.replica
		}
		if c.replica == replica {
			return f
		}
		return right
	}
}

// got returns the calls of a procedure.
func (d *driver) got(procedure string) (found []call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if procedure == "" || c.procedure == procedure {
			found = append(found, *c)
		}
	}
	return found
}

// until makes IDs, as only calls may lead to acquisitions, until something is so.
func (d *driver) until(what string, so func() bool) {
	for deadline := time.Now().Add(30 * time.Second); !so(); {
		d.ids(1, "generate 1")
		d.must(time.Now().Before(deadline), "%s: not within 30 s", what)
		time.Sleep(5 * time.Millisecond)
	}
}

// acquired waits until there were n acquisitions, and no more.
func (d *driver) acquired(n int) {
	d.until(fmt.Sprint("acquisition ", n), func() bool { return len(d.got("Acquire")) >= n })
	d.must(len(d.got("Acquire")) == n, "%d acquisitions, want %d", len(d.got("Acquire")), n)
}

func parseIDs(words []string) (ids []randflake.ID) {
	for _, word := range words {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil
		}
		ids = append(ids, randflake.ID(id))
	}
	return ids
}
