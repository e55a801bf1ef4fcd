package languages

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/chaos/internal/check"
	"github.com/randflake/randflake/chaos/internal/engine"
	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/store/storetest/servers"
)

// ttl is how many seconds a lease lasts: as few as there can be.
const ttl = 3

// tongues are the languages of generators.
var tongues = map[string][]string{
	"go":         {"/proc/self/exe"},
	"python":     {"python3", "testdata/worker.py"},
	"typescript": {"node", "testdata/worker.mjs"},
}

// A process makes IDs, from its start to its end.
type process struct {
	*town
	name, language string // the name is that of its principal
	dir            string // of its journal
	child          *servers.Process
	clock          *engine.Clock

	read  int64 // bytes of its IDs that were read
	made  int
	spots map[spot]bool
}

// A spot is a second of a node.
type spot struct {
	second int64
	node   uint32
}

// launch starts a process that makes IDs in a language. The planted fault is that it takes leases for late seconds longer.
func (w *town) launch(name, language string, late int) *process {
	w.Helper()
	dir, err := os.MkdirTemp(w.dir, name+"-")
	if err != nil {
		w.Fatal(err)
	}
	p := &process{town: w, name: name, language: language, dir: filepath.Join(dir, "journal"), spots: map[spot]bool{}}
	var environ []string
	if p.clock, environ, err = engine.NewClock(dir); err != nil {
		w.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		w.Fatal(err)
	}
	defer log.Close()
	words := tongues[language]
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(append(os.Environ(), environ...), "GOMAXPROCS=2", "PYTHONPATH=../../clients/python", "PYTHONDONTWRITEBYTECODE=1",
		workerFlag+"="+name, "NAME="+name, "JOURNAL="+p.dir, "ADDRESSES="+w.replicas[0].url+" "+w.replicas[1].url,
		"TOKEN="+tokenOf(name), "SECRET="+w.secret.Hex(), fmt.Sprint("NODES=", nodes), fmt.Sprint("TTL=", ttl), fmt.Sprint("LATE=", late))
	if p.child, err = servers.StartProcess(cmd); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(p.child.Kill)
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.child.Signal(s); err != nil {
		p.Fatalf("%s: %v: %v: %s", p.name, s, err, p.log())
	}
}

func (p *process) step(off time.Duration) {
	if err := p.clock.Step(off); err != nil {
		p.Fatal(err)
	}
}

// goesOn waits until the process has made more IDs.
func (p *process) goesOn() {
	p.Helper()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(p.dir, "ids"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	await(p.T, p.name+" makes IDs", func() bool {
		if p.child.Ended() {
			p.Fatalf("%s has ended: %v: %s", p.name, p.child.Err(), p.log())
		}
		return size() > before
	})
}

// losesAnHour sets the clock of the process back until it has noted that it refuses to make IDs for that.
func (p *process) losesAnHour() {
	p.Helper()
	if p.language != "go" { // makes IDs until its lease is used up, whatever its clock says
		p.step(0)
		p.goesOn()
		p.step(-time.Hour)
		return
	}
	const clock = "clock is behind the newest ID"
	for before := p.count(clock); p.count(clock) == before; { // it may be refused for something else just then
		p.step(0)
		p.goesOn()
		refused := p.count("refused: ")
		p.step(-time.Hour)
		await(p.T, p.name+" makes no IDs", func() bool { return p.count("refused: ") > refused })
	}
}

// count returns how often words are in what the process noted.
func (p *process) count(words string) int {
	events, err := os.ReadFile(filepath.Join(p.dir, "events"))
	if err != nil {
		p.Fatal(err)
	}
	return strings.Count(string(events), words)
}

// ends waits until the process, which was told to stop, has done so.
func (p *process) ends() {
	p.Helper()
	await(p.T, p.name+" ends", p.child.Ended)
	if err := p.child.Err(); err != nil {
		p.Errorf("%s: %v: %s", p.name, err, p.log())
	}
}

func (p *process) log() string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(p.dir), "log"))
	return fmt.Sprintf("%s (error %v)", text, err)
}

// report tells the checker what the process did since the last report; dead says that it has ended.
func (p *process) report(c *check.Checker, dead bool) {
	p.Helper()
	ids, marks := p.take()
	if err := c.Read(p.dir, dead); err != nil {
		p.Fatal(err)
	}
	if len(ids) > 0 {
		c.Take(p.dir, &journal.Segment{Path: p.name, IDs: ids, Written: len(ids), Marks: marks})
	}
}

// take reads IDs, and when they were made. A process that was killed may leave a part of a batch.
func (p *process) take() (ids []randflake.ID, marks []journal.Mark) {
	file, err := os.Open(filepath.Join(p.dir, "ids"))
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		p.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		p.Fatal(err)
	}
	data := make([]byte, info.Size()-p.read)
	if _, err := file.ReadAt(data, p.read); err != nil && len(data) > 0 {
		p.Fatal(err)
	}
	for len(data) >= 16 {
		n := int(binary.LittleEndian.Uint64(data[8:]))
		if len(data) < 16+8*n {
			break
		}
		at := int64(binary.LittleEndian.Uint64(data))
		for i := range n {
			ids = append(ids, randflake.ID(binary.LittleEndian.Uint64(data[16+8*i:])))
		}
		marks = append(marks, journal.Mark{Made: uint64(len(ids)), At: at})
		data, p.read = data[16+8*n:], p.read+int64(16+8*n)
	}
	p.note(ids)
	return ids, marks
}

// note keeps what the audit is asked for.
func (p *process) note(ids []randflake.ID) {
	cipher := randflake.NewCipher(p.secret)
	for _, id := range ids {
		f := cipher.Inspect(id)
		p.spots[spot{f.Time.Unix(), f.Node}] = true
	}
	p.made += len(ids)
}
