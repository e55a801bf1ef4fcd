package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A scene is what a runbook is for.
type scene struct {
	engines string        // the only ones that it is for
	ttl     time.Duration // of leases, and the store's MaxTTL; 3 s if not said
	repeats bool          // IDs repeat, until the runbook was followed
	steady  bool          // no ID is refused
	prepare func(*fleet)  // before there are processes
	happen  func(*fleet)  // what goes wrong
	check   func(*fleet)  // what else is true in the end
}

var scenes = map[string]scene{
	"store-lost": {happen: func(f *fleet) { f.data.lose() }},
	"failover": {engines: "postgres mysql redis", ttl: 12 * time.Second, steady: true, happen: func(f *fleet) {}, check: func(f *fleet) {
		if list := f.shell("randflake lease list"); strings.Contains(list, "no lease starts before") || strings.Contains(list, "planned") {
			f.Errorf("a floor was set, or nobody has noticed: %s", list)
		}
	}},
	"store-restored": {ttl: 12 * time.Second, prepare: func(f *fleet) { f.data.backUp() }, happen: func(f *fleet) {
		f.kubectl("scale", "deployment/orders", "--replicas=0")
		f.deploy("reports", job{TTL: f.ttl, Nodes: 1 << 17, CutOff: true})
		f.kubectl("scale", "deployment/reports", "--replicas=1")
		f.await("IDs that the backup does not know", 0, func() bool { return f.made("reports-1") > 0 })
		f.kubectl("scale", "deployment/orders", "--replicas=2")
	}, check: func(f *fleet) {
		f.await("the end of the lease of which the backup does not know", f.ttl, func() bool { return strings.Contains(f.said("reports-"), "refused") })
	}},
	"wrong-clock": {happen: func(f *fleet) {
		f.kubectl("scale", "deployment/orders", "--replicas=0")
		ahead := 1000 * time.Hour
		f.environ = append(f.environ, "WRONG_SINCE="+time.Now().Add(ahead).UTC().Format(time.RFC3339))
		if out, err := f.process(job{TTL: f.ttl, Nodes: 1 << 17, Ahead: ahead, Leaves: true}, "ahead", nil).CombinedOutput(); err != nil {
			f.Fatalf("%v: %s", err, out)
		}
		f.kubectl("scale", "deployment/orders", "--replicas=2")
	}},
	"nodes-run-out": {ttl: 12 * time.Second, happen: func(f *fleet) {
		f.deploy("reports", job{TTL: f.ttl, Hogs: true})
		f.kubectl("scale", "deployment/reports", "--replicas=1")
		f.await("a lack of nodes", 0, func() bool { return strings.Contains(f.said("reports-"), "took all nodes") })
		f.kubectl("scale", "deployment/orders", "--replicas=3")
	}},
	"clone-found": {repeats: true, happen: func(f *fleet) {
		f.deploy("copy", job{TTL: f.ttl, Twin: f.deployments["orders"].pods[0].name})
		f.kubectl("scale", "deployment/copy", "--replicas=1")
	}},
	"secret-leaked": {ttl: 12 * time.Second, steady: true, happen: func(f *fleet) {
		f.environ = append(f.environ, "FROM="+time.Now().Add(40*time.Second).UTC().Format(time.RFC3339))
	}, check: func(f *fleet) {
		if out := f.output(`head -n 1 "$RANDFLAKE_SECRET_FILE" >leaked; chmod 600 leaked; randflake new --secret-file leaked`); !strings.Contains(out, "the key of the space changed") {
			f.Errorf("with the leaked key: %s", out)
		}
		f.shell(`cat *.ids | randflake inspect >/dev/null`)
		if out := f.output(`tail -qn 9 orders-3.ids orders-4.ids | randflake inspect --secret-file leaked`); !strings.Contains(out, "another secret") {
			f.Errorf("the leaked key opens new IDs: %s", out)
		}
	}},
	"move-engine": {ttl: 12 * time.Second, steady: true, happen: func(f *fleet) {
		all := slices.Sorted(maps.Keys(engines))
		f.newStore(all[(slices.Index(all, f.engine)+1)%len(all)])
	}},
	"upgrade": {ttl: 12 * time.Second, steady: true, happen: func(*fleet) {}},
	"end-of-layout": {happen: func(f *fleet) {
		f.kubectl("scale", "deployment/orders", "--replicas=0")
		const unit, bits = 10 * time.Millisecond, 32
		epoch := time.Now().Add(5*time.Second - unit<<bits).Truncate(time.Second).UTC().Format(time.RFC3339)
		text := "orders: time %d, worker 10, sequence 8; 10ms since " + epoch
		f.environ = append(f.environ, fmt.Sprintf("LAYOUT="+text, bits), fmt.Sprintf("NEW_LAYOUT="+text, bits+1))
		f.deployments["orders"].environ = []string{fmt.Sprintf("LAYOUT="+text, bits)}
		f.kubectl("scale", "deployment/orders", "--replicas=2")
		f.await("IDs of the layout", 0, f.working())
	}},
}

// TestRunbooks follows each page of docs/runbooks on each engine: processes make IDs all the time, the store or a process
// fails as the page says, what one sees according to the page is seen, the commands of the page are run, and after the time
// that the page gives, with this slack, all processes make IDs again. No ID repeats.
func TestRunbooks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/[a-z]*.md")
	if err != nil || len(pages) != len(scenes) {
		t.Fatalf("%d pages for %d scenes, %v", len(pages), len(scenes), err)
	}
	index, err := os.ReadFile("../../docs/runbooks/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(string(text))); n > 250 || !strings.Contains(string(index), "]("+filepath.Base(path)+")") {
			t.Errorf("%s has %d words, want at most 250 and a place in the index", path, n)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		for engine, data := range engines {
			if only := scenes[name].engines; only != "" && !slices.Contains(strings.Fields(only), engine) {
				continue
			}
			t.Run(name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				if name == "failover" {
					data = inPairs[engine]
				}
				newFleet(t, engine, data, scenes[name]).follow(string(text))
			})
		}
	}
}

// newStore makes room for another store.
func (f *fleet) newStore(engine string) {
	dir := f.dir + "/new"
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.environ = append(f.environ, "NEW_STORE="+engines[engine](f.T, dir).url, "NEW_SECRET_FILE="+dir+"/secret")
}

const slack = 30 * time.Second // for a machine that has much else to do

// A fleet is the processes of a test, and their store.
type fleet struct {
	*testing.T
	scene
	engine  string
	data    data
	dir     string
	environ []string

	mu          sync.Mutex // held while something is deployed
	deployments map[string]*deployment
}

type deployment struct {
	name    string
	job     job
	environ []string
	pods    []*replica
	made    int // pods
}

// A replica is a process that is started again whenever it ends.
type replica struct {
	name string
	stop func() // and wait
}

func newFleet(t *testing.T, engine string, begin func(*testing.T, string) data, s scene) *fleet {
	dir := t.TempDir()
	s.ttl = max(s.ttl, 3*time.Second)
	f := &fleet{T: t, scene: s, engine: engine, data: begin(t, dir), dir: dir, deployments: map[string]*deployment{}}
	f.environ = append(os.Environ(), "PATH="+dir+":"+programs+":"+os.Getenv("PATH"), storeVariable+"="+f.data.url,
		secretFileVariable+"="+dir+"/secret", "MAX_TTL="+s.ttl.String(), "MAX_SKEW=1s")
	f.environ = append(f.environ, f.data.environ...)
	do := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := f.standIn(strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(do.Close)
	for _, name := range []string{"kubectl", "restore-backup", "switch-address"} {
		script := "#!/bin/sh\nprintf '%s\\n' " + name + ` "$@" | curl -sS --fail-with-body --data-binary @- ` + do.URL + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.shell(`randflake lease init --new-secret --max-ttl "$MAX_TTL" --max-skew "$MAX_SKEW"`)
	if f.prepare != nil {
		f.prepare(f)
	}
	f.deploy("orders", job{TTL: f.ttl})
	f.kubectl("scale", "deployment/orders", "--replicas=2")
	f.await("IDs", 0, f.working())
	return f
}

var (
	sees   = regexp.MustCompile(`(?s)\*\*You see:\*\* (.*?)\n\n`)
	quoted = regexp.MustCompile("`([^`]+)`")
	takes  = regexp.MustCompile(`\*\*Takes:\*\* ([^(.]+?)[ .]`)
)

// follow does what a page says.
func (f *fleet) follow(text string) {
	f.happen(f)
	for _, quote := range quoted.FindAllStringSubmatch(sees.FindString(text), -1) {
		if strings.Contains(quote[1], "_") { // a metric
			continue
		}
		f.await(quote[1], 2*f.ttl, func() bool {
			return strings.Contains(f.said(""), quote[1]) || strings.Contains(f.output("randflake new || randflake lease list"), quote[1])
		})
	}
	limit := map[string]time.Duration{"MaxTTL": f.ttl + time.Second, "TTL": f.ttl, "no": 0}[takes.FindStringSubmatch(text)[1]]
	blocks := blocksOf(strings.ReplaceAll(text, "\n   ", "\n")) // also those in lists
	last := len(blocks) - 1
	for _, b := range blocks[:last] {
		if b.given == "" || b.given == f.engine {
			f.shell(b.code)
		}
	}
	if f.repeats {
		time.Sleep(time.Second) // the copy may have been ahead in the present one
	}
	repeated := f.repeated()
	f.await("the end, which this shows: "+blocks[last].code, limit, func() bool {
		_, err := f.bash(blocks[last].code)
		return err == nil
	})
	f.await("IDs of all processes", limit, f.working())
	if f.check != nil {
		f.check(f)
	}
	if f.steady {
		f.await("renewals", f.ttl, f.changed(".lease"))
	}
	for _, d := range f.deployments {
		f.kubectl("scale", "deployment/"+d.name, "--replicas=0")
	}
	switch after := f.repeated(); {
	case f.repeats && len(repeated) == 0:
		f.Error("no ID was repeated: the test shows nothing")
	case !slices.Equal(after, repeated) || !f.repeats && len(after) > 0:
		f.Errorf("%d IDs are repeated, %d after the runbook was followed", len(after), len(after)-len(repeated))
	}
	if said := f.said(""); f.steady && strings.Contains(said, "refused: ") {
		f.Errorf("an ID was refused: %s", said)
	}
}

// bash runs commands in the fleet's directory.
func (f *fleet) bash(commands string) (string, error) {
	cmd := exec.CommandContext(f.Context(), "bash", "-ePo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = f.dir, f.environ
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (f *fleet) output(commands string) string { out, _ := f.bash(commands); return out }

// shell is bash for commands that must succeed.
func (f *fleet) shell(commands string) string {
	f.Helper()
	out, err := f.bash(commands)
	if err != nil {
		f.Fatalf("%s\n%v: %s\n%s", commands, err, out, f.said(""))
	}
	return out
}

// await waits until done, for at most limit and the slack.
func (f *fleet) await(what string, limit time.Duration, done func() bool) {
	f.Helper()
	for end := time.Now().Add(limit + slack); !done(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("%v pass without %s\n%s\n%s", limit+slack, what, f.said(""), f.output("randflake lease list | head -n 20; randflake new"))
		}
	}
}

// made returns how many bytes of IDs a pod has written.
func (f *fleet) made(pod string) int64 {
	info, err := os.Stat(filepath.Join(f.dir, pod+".ids"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// working returns a function that reports whether each process of orders has made an ID since.
func (f *fleet) working() func() bool { return f.changed(".ids") }

// changed returns a function that reports whether each process of orders has written to its file with this ending since.
func (f *fleet) changed(ending string) func() bool {
	content := func(p *replica) string {
		text, _ := os.ReadFile(filepath.Join(f.dir, p.name+ending))
		return string(text)
	}
	before := map[string]string{}
	for _, p := range f.deployments["orders"].pods {
		before[p.name] = content(p)
	}
	return func() bool {
		return !slices.ContainsFunc(f.deployments["orders"].pods, func(p *replica) bool { return content(p) == before[p.name] })
	}
}

// said returns the ends of the logs of the pods whose names begin so.
func (f *fleet) said(begin string) string {
	var all bytes.Buffer
	logs, _ := filepath.Glob(filepath.Join(f.dir, begin+"*.log"))
	for _, log := range logs {
		text, _ := os.ReadFile(log)
		fmt.Fprintf(&all, "%s: %s", filepath.Base(log), text[max(0, len(text)-3000):])
	}
	return all.String()
}

// repeated returns the IDs that were made more than once, in order.
func (f *fleet) repeated() []string {
	return strings.Fields(f.shell("cat *.ids | sort | uniq -d"))
}

func (f *fleet) deploy(name string, j job) { f.deployments[name] = &deployment{name: name, job: j} }

// process returns a process that does a job.
func (f *fleet) process(j job, name string, environ []string) *exec.Cmd {
	text, _ := json.Marshal(j) // can't fail
	cmd := exec.Command(os.Args[0])
	cmd.Dir = f.dir
	cmd.Env = slices.Concat(f.environ, environ, []string{"RUNBOOK_JOB=" + string(text), "RUNBOOK_POD=" + name})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts a pod: a process that is started again whenever it ends.
func (f *fleet) start(d *deployment) *replica {
	d.made++
	name := fmt.Sprint(d.name, "-", d.made)
	log, err := os.Create(filepath.Join(f.dir, name+".log"))
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(f.Context())
	done := make(chan struct{})
	environ := slices.Clone(d.environ)
	go func() {
		runtime.LockOSThread() // for Pdeathsig
		defer close(done)
		defer log.Close()
		for ctx.Err() == nil {
			cmd := f.process(d.job, name, environ)
			cmd.Stderr = log
			if err := cmd.Start(); err != nil {
				f.Error(err)
				return
			}
			unregister := context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })
			cmd.Wait()
			unregister()
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	p := &replica{name, func() { stop(); <-done }}
	f.Cleanup(p.stop)
	return p
}

// kubectl is standIn for the test itself.
func (f *fleet) kubectl(args ...string) {
	f.Helper()
	if err := f.standIn(append([]string{"kubectl"}, args...)); err != nil {
		f.Fatal(err)
	}
}

// standIn does what kubectl and other programs do that are not there.
func (f *fleet) standIn(args []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch args[0] {
	case "restore-backup":
		f.data.restore()
		return nil
	case "switch-address":
		f.data.switchAddress()
		return nil
	}
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "deployment/") })
	if at < 0 || f.deployments[strings.TrimPrefix(args[at], "deployment/")] == nil {
		return errors.New("no such deployment")
	}
	d, rest := f.deployments[strings.TrimPrefix(args[at], "deployment/")], args[at+1:]
	switch strings.Join(args[1:at], " ") {
	case "scale":
		var n int
		if _, err := fmt.Sscanf(rest[0], "--replicas=%d", &n); err != nil {
			return err
		}
		for len(d.pods) < n {
			d.pods = append(d.pods, f.start(d))
		}
		for ; len(d.pods) > n; d.pods = d.pods[1:] {
			d.pods[0].stop()
		}
		return nil
	case "set env":
		d.environ = append(d.environ, rest...)
		return f.roll(d)
	case "set image", "rollout undo", "rollout restart":
		return f.roll(d)
	}
	return errors.New("unknown command")
}

// roll replaces the pods of a deployment, one after the other.
func (f *fleet) roll(d *deployment) error {
	for range d.pods {
		p := f.start(d)
		for end := time.Now().Add(slack); f.made(p.name) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("%s is not ready", p.name)
			}
		}
		d.pods[0].stop()
		d.pods = append(d.pods[1:], p)
	}
	return nil
}
