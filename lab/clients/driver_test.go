//go:build unix

package conformance

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// A driver reads commands as lines, and answers each with one line. Its environment has ADDRESSES
// (URLs with commas between), SPACE, SECRET (32 hexadecimal digits), NODES, LIMIT (seconds, of each
// call), and TOKEN or an empty text. IDs are signed decimal integers.
//
//	generate N, fill N            N calls for one ID each, one call for N: ids ID ...
//	threads K N                   K threads, or tasks at the same time, that make N IDs each: ids ID ...
//	fork KIND N                   forks by KIND, os or c; the child makes N IDs and ends, then the parent makes N: ids ID ...
//	copy                          tries to copy or serialize the generator and the secret: error copy ...
//	mint N                        N IDs of a minter: ids ID ...
//	next COUNTER N                N numbers of a counter, and their period, if any: numbers NUMBER ... in PERIOD
//	format ID, parse TEXT         text TEXT, id ID
//	inspect ID, compose S N Q     fields SECOND NODE SEQUENCE, id ID
//	secret TEXT                   reads a secret: check DIGITS, its check value
//	clock N, age N                from now on, the Unix clock or the monotonic clock is N seconds ahead of the system's: ok
//
// A failure is "error CODE REASON UNTIL LIMIT MESSAGE": the service's code, or invalid_argument, or unavailable, and what
// else it says, with - for nothing; UNTIL is a Unix second.
//
// If FAULT is set, the driver plants a fault: fork (a child goes on with its parent's leases), end (a lease is used beyond
// its window), late (a lost answer is taken for that of the next call), text (the order of digits), failover (the second
// address is never asked).

// A language has a driver, and lacks some parts of the suite. prepare installs the client's package
// into an empty project, in which the driver uses it. In both DIR is a directory of the language,
// CLIENTS that of all clients. integer is how it reads a decimal number, as the client's error says.
type language struct{ name, prepare, driver, lacks, integer string }

var languages = []language{
	{
		name:    "minimal",
		prepare: "cc -O1 -Wall -o DIR/minimal testdata/minimal.c",
		driver:  "DIR/minimal",
		lacks:   "parse secrets late stale answers failover tokens forks threads mint counter copy",
	},
	{
		name:    "python",
		prepare: "CLIENTS/pack.sh python DIR",
		driver:  "env PYTHONPATH=DIR/project python3 CLIENTS/python/tests/driver.py",
		integer: "int(text)",
	},
	{
		name:    "typescript",
		prepare: "CLIENTS/pack.sh typescript DIR && cp CLIENTS/typescript/test/driver.mjs DIR/project",
		driver:  "node DIR/project/driver.mjs",
		lacks:   "forks",
		integer: "BigInt(row.id)",
	},
	{
		name:    "java",
		prepare: "CLIENTS/pack.sh java DIR && javac -encoding UTF-8 --release 17 -cp 'DIR/project/*' -d DIR/driver CLIENTS/java/test/io/github/randflake/Driver.java",
		driver:  "java -cp DIR/project/*:DIR/driver io.github.randflake.Driver",
		lacks:   "forks",
		integer: "Long.parseLong",
	},
}

// prepared has the languages that RANDFLAKE_LANGUAGES names, all for "all", and Python if it names none.
var prepared = sync.OnceValues(func() (found []language, err error) {
	wanted := strings.Split(cmp.Or(os.Getenv("RANDFLAKE_LANGUAGES"), "python"), ",")
	for _, l := range languages {
		if !slices.Contains(wanted, l.name) && !slices.Contains(wanted, "all") {
			continue
		}
		dir := filepath.Join(scratch, l.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		places := strings.NewReplacer("DIR", dir, "CLIENTS", "../../service/clients")
		if out, err := exec.Command("sh", "-c", places.Replace(l.prepare)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", l.name, err, out)
		}
		l.driver = places.Replace(l.driver)
		found = append(found, l)
	}
	return found, nil
})

func here(t *testing.T) []language {
	found, err := prepared()
	require.NoError(t, err)
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

// try runs a part, and returns how it failed.
func try(t *testing.T, l language, fault string, p part) (failed string) {
	x := &trial{t: t, language: l, fault: fault, service: newService(t, cmp.Or(p.window, width*time.Second))}
	defer func() {
		x.end()
		r := recover()
		if f, ok := r.(failure); ok {
			failed = string(f)
		} else if r != nil {
			panic(r)
		}
	}()
	p.run(x)
	for _, d := range x.drivers {
		d.audit()
	}
	return ""
}

func (x *trial) must(so bool, format string, args ...any) {
	if !so {
		panic(failure(x.doing + fmt.Sprintf(format, args...)))
	}
}

// end ends all drivers.
func (x *trial) end() {
	for _, d := range x.drivers {
		d.kill()
		for range d.lines {
		}
		d.cmd.Wait()
		d.close()
	}
}

// A driver is a process of a client, and the replicas that it calls.
type driver struct {
	*trial
	*answerer
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	log   func() string
	asked string
}

// start starts a driver with that many replicas, after some changes of what it is told.
func (x *trial) start(replicas int, changes ...func(*answerer)) *driver {
	words := strings.Fields(x.language.driver)
	d := &driver{trial: x, lines: make(chan string, 1), cmd: exec.Command(words[0], words[1:]...)}
	d.answerer = newAnswerer(x.service, fmt.Sprintf("%s %d", x.language.name, len(x.drivers)+1), replicas)
	for _, change := range changes {
		change(d.answerer)
	}
	d.cmd.Env = append(d.environ(), "FAULT="+x.fault)
	d.log = logged(x.t, d.cmd)
	out, err1 := d.cmd.StdoutPipe()
	in, err2 := d.cmd.StdinPipe()
	require.NoError(x.t, errors.Join(err1, err2, d.cmd.Start()))
	d.in = in
	x.drivers = append(x.drivers, d)
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
	x.service.ahead.Store(x.service.begin)
	d.setClock(0)
	return d
}

// logged has a command in a process group of its own write what it says to a file, which is returned when asked for.
func logged(t *testing.T, cmd *exec.Cmd) func() string {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	cmd.Stderr, cmd.SysProcAttr = file, &syscall.SysProcAttr{Setpgid: true}
	return func() string {
		text, err := os.ReadFile(file.Name())
		return fmt.Sprint(string(text), err)
	}
}

// kill ends the process, and children of it that hang.
func (d *driver) kill() { syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) }

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
	_, err := io.WriteString(d.in, d.asked+"\n")
	d.must(err == nil, "%s: %v: %s", d.asked, err, d.log())
}

func (d *driver) hear() string {
	select {
	case line, ok := <-d.lines:
		d.must(ok, "%s: the driver has ended: %s", d.asked, d.log())
		d.silent(line)
		return line
	case <-time.After(2 * time.Minute):
		d.must(false, "%s: no answer within two minutes: %s", d.asked, d.log())
	}
	return ""
}

func (d *driver) ask(format string, args ...any) string {
	d.tell(format, args...)
	return d.hear()
}

// gives asks for what must have that answer.
func (d *driver) gives(want, format string, args ...any) {
	got := d.ask(format, args...)
	d.must(got == want, "%s: %.200q, want %q", d.asked, got, want)
}

// refuses asks for what must fail with that code, or with any code for "", and returns the answer. The reason, until
// when, and the limit may follow the code.
func (d *driver) refuses(code, format string, args ...any) string {
	line := d.ask(format, args...)
	whole := regexp.MustCompile("^error [a-z_]+ ([A-Z_]+|-) ([0-9]+|-) ([0-9]+|-) .").MatchString(line)
	d.must(whole && strings.HasPrefix(line, "error "+code), "%s: %.200q, want an error %s with a message", d.asked, line, code)
	return line
}

// parse returns the IDs of an answer, of whatever driver.
func (d *driver) parse(line string) (ids []randflake.ID) {
	words := strings.Fields(line)
	ids = parseIDs(words[1:])
	d.must(words[0] == "ids" && len(ids) == len(words)-1, "%s: %.200q, want IDs", d.asked, line)
	return ids
}

// ids asks for n IDs in all, and returns their raw values.
func (d *driver) ids(n int, format string, args ...any) []randflake.Raw {
	ids := d.parse(d.ask(format, args...))
	d.must(len(ids) == n, "%s: %d IDs, want %d", d.asked, len(ids), n)
	raws, err := d.trial.service.take(d.process, ids)
	d.must(err == nil, "%s: %v", d.asked, err)
	return raws
}

// node makes an ID, and returns its node.
func (d *driver) node() uint32 { return d.ids(1, "generate 1")[0].Fields().Node }

// pass has all clocks show that many seconds since the driver began.
func (d *driver) pass(seconds int) {
	d.trial.service.ahead.Store(d.trial.service.begin + int64(seconds))
	d.setClock(0)
	d.setAge(seconds)
}

// setAge sets the monotonic clock.
func (d *driver) setAge(seconds int) {
	set := func(at *int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		*at = seconds
	}
	set(&d.to)
	d.gives("ok", "age %d", seconds)
	set(&d.from)
}

// setClock sets the clock to one that is wrong by that much.
func (d *driver) setClock(wrong int) {
	d.gives("ok", "clock %d", int(d.trial.service.ahead.Load())+wrong)
}

// meet says what the next calls meet, at the replica that is asked first and at the others. The
// transport of a client may send a call twice to one replica.
func (d *driver) meet(met, others face) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.met, d.others, d.answerer.asked = met, others, -1
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

// until makes IDs, as only that may lead to calls, until something is so.
func (d *driver) until(what string, so func() bool) {
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		d.node()
		d.must(time.Now().Before(deadline), "%s: not within two minutes", what)
	}
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
