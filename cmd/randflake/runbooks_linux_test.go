package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/url"
)

// A scene is what a runbook is for.
type scene struct {
	ttl     time.Duration // of leases, and the store's MaxTTL; 3 s if not said
	repeats bool          // IDs repeat, until the runbook was followed
	steady  bool          // no ID is refused
	prepare func(*fleet)  // before there are processes
	happen  func(*fleet)  // what goes wrong
	check   func(*fleet)  // what else is true in the end
}

var scenes = map[string]scene{
	"store-lost": {happen: func(f *fleet) { f.lose() }},
	"failover": {ttl: 12 * time.Second, steady: true, happen: func(*fleet) {}, check: func(f *fleet) {
		if list := f.shell("randflake lease list"); strings.Contains(list, "no lease starts before") || strings.Contains(list, "planned") {
			f.Errorf("a floor was set, or nobody has noticed: %s", list)
		}
	}},
	"store-restored": {ttl: 9 * time.Second, prepare: func(f *fleet) { f.backUp() }, happen: func(f *fleet) {
		f.kubectl("scale", "deployment/orders", "--replicas=0")
		f.deployments["reports"] = &deployment{nodes: 1 << 17, source: func(s lease.Source) lease.Source { return cutOff{s} }}
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
		space, err := url.Open(f.Context(), f.url, store.WithClock(func() time.Time { return time.Now().Add(ahead) }))
		if err == nil {
			_, err = lease.On(space).Acquire(f.Context(), lease.Request{Nodes: 1 << 17, TTL: f.ttl})
			space.Close()
		}
		check(f.T, err)
		f.kubectl("scale", "deployment/orders", "--replicas=2")
	}},
	"nodes-run-out": {ttl: 15 * time.Second, happen: func(f *fleet) {
		f.deployments["reports"] = &deployment{hogs: true}
		f.kubectl("scale", "deployment/reports", "--replicas=1")
		f.await("a lack of nodes", 0, func() bool { return strings.Contains(f.said("reports-"), "took all nodes") })
		f.kubectl("scale", "deployment/orders", "--replicas=3")
	}},
	"clone-found": {repeats: true, happen: func(f *fleet) {
		held := *f.deployments["orders"].pods[0].record.Load()
		f.deployments["copy"] = &deployment{nodes: 1, source: func(s lease.Source) lease.Source { return &copied{s, &held} }}
		f.kubectl("scale", "deployment/copy", "--replicas=1")
	}},
	"secret-leaked": {ttl: 6 * time.Second, steady: true, happen: func(f *fleet) {
		f.environ = append(f.environ, "FROM="+time.Now().Add(25*time.Second).UTC().Format(time.RFC3339))
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
		f.environ = append(f.environ, "NEW_STORE="+engines[map[string]string{"file": "postgres", "postgres": "file"}[f.engine]](f.T, f.dir+"/new").url)
	}},
	"upgrade": {ttl: 12 * time.Second, steady: true, happen: func(*fleet) {}},
	"end-of-layout": {happen: func(f *fleet) {
		f.kubectl("scale", "deployment/orders", "--replicas=0")
		const unit, bits = 10 * time.Millisecond, 32
		epoch := time.Now().Add(5*time.Second - unit<<bits).Truncate(time.Second).UTC().Format(time.RFC3339)
		text := "orders: time %d, worker 10, sequence 8; 10ms since " + epoch
		f.environ = append(f.environ, fmt.Sprintf("LAYOUT="+text, bits), fmt.Sprintf("NEW_LAYOUT="+text, bits+1))
		f.deployments["orders"].set("LAYOUT=" + fmt.Sprintf(text, bits))
		f.kubectl("scale", "deployment/orders", "--replicas=2")
		f.await("IDs of the layout", 0, f.working())
	}},
}

// TestRunbooks follows each page of docs/runbooks in files and on PostgreSQL: processes make IDs all the time, the store or a
// process fails as the page says, what one sees according to the page is seen, the commands of the page are run, and after
// the time that the page gives, with this slack, all processes make IDs again. No ID repeats.
func TestRunbooks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/[a-z]*.md")
	if err != nil || len(pages) != len(scenes) {
		t.Fatalf("%d pages for %d scenes, %v", len(pages), len(scenes), err)
	}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		check(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		for engine, begin := range engines {
			if name == "failover" {
				if begin = postgresPair; engine == "file" {
					continue
				}
			}
			t.Run(name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				newFleet(t, engine, begin, scenes[name]).follow(string(text))
			})
		}
	}
}

const slack = 30 * time.Second // for a machine that has much else to do

// data is a place for a store, and how it gets lost, is backed up and restored there.
type data struct {
	url                   string
	lose, backUp, restore func()
	switchAddress         func()   // to another server
	environ               []string // what commands on servers need
}

var engines = map[string]func(t *testing.T, dir string) data{
	"file": func(t *testing.T, dir string) data {
		path := dir + "/store"
		return data{url: path, lose: script(t, `rm -r "$1"*`, path), backUp: script(t, `cp -r "$1" "$1.bak"`, path), restore: script(t, `rm -r "$1"; cp -r "$1.bak" "$1"`, path)}
	},
	"postgres": func(t *testing.T, dir string) data {
		server, err := sharedPostgres()
		check(t, err)
		name := fmt.Sprint("place", places.Add(1))
		script(t, `psql -qd "$1" -c "CREATE DATABASE $2"`, server.URL(), name)()
		u := strings.Replace(server.URL(), "/postgres?", "/"+name+"?", 1)
		return data{url: u, lose: script(t, `psql -qd "$1" -c 'DROP SCHEMA randflake CASCADE'`, u),
			backUp: script(t, `pg_dump -d "$1" >"$2"`, u, dir+"/dump"), restore: script(t, `psql -qd "$1" -c 'DROP SCHEMA randflake CASCADE' -f "$2"`, u, dir+"/dump")}
	},
}

var (
	places         atomic.Int32 // counts databases
	sharedPostgres = sync.OnceValues(func() (*servers.Postgres, error) { return servers.StartPostgres(programs+"/server", nil) })
)

// postgresPair makes a place on a server with a replica, behind an address that can be switched to the replica.
func postgresPair(t *testing.T, dir string) data {
	old, err := servers.StartPostgres(dir+"/old", nil)
	check(t, err)
	t.Cleanup(func() { old.Kill() })
	replica, err := old.BaseBackup(dir+"/replica", true)
	check(t, err)
	check(t, replica.Start())
	t.Cleanup(func() { replica.Kill() })
	// PostgreSQL's programs do not run as root.
	check(t, os.WriteFile(dir+"/pg_ctl", []byte(`#!/bin/sh
cd / && PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
owner=$(stat -c %U "$3") && test "$owner" = "$(id -un)" && exec $(which -a pg_ctl | tail -n 1) "$@"
exec runuser -u "$owner" -- $(which -a pg_ctl | tail -n 1) "$@"
`), 0o755))
	proxy, err := servers.StartProxy(old.Addr())
	check(t, err)
	t.Cleanup(func() { proxy.Close() })
	return data{url: strings.Replace(old.URL(), old.Addr(), proxy.Addr(), 1), environ: []string{"OLD=" + old.Dir() + "/data", "NEW=" + replica.Dir() + "/data"},
		switchAddress: func() { proxy.Redirect(replica.Addr()) }}
}

// script returns a function that runs a shell script with arguments.
func script(t *testing.T, text string, args ...string) func() {
	return func() {
		if out, err := exec.Command("bash", append([]string{"-eo", "pipefail", "-c", text, "script"}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", text, err, out)
		}
	}
}

// A fleet is the deployments of a test, and their store.
type fleet struct {
	*testing.T
	scene
	data
	engine  string
	dir     string
	environ []string // of commands

	mu          sync.Mutex // held while something is deployed
	deployments map[string]*deployment
}

type deployment struct {
	nodes   int
	source  func(lease.Source) lease.Source // what a pod sees of the store
	hogs    bool                            // a pod takes all nodes that there are, and crashes
	environ map[string]string
	pods    []*pod
	made    int // pods
}

func (d *deployment) set(variable string) {
	name, value, _ := strings.Cut(variable, "=")
	d.environ = maps.Clone(d.environ)
	if d.environ == nil {
		d.environ = map[string]string{}
	}
	d.environ[name] = value
}

// A pod stands for a process: it has its own keeper, and begins again whenever it ends.
type pod struct {
	name   string
	stop   func() // and wait
	record atomic.Pointer[lease.Record]
}

func newFleet(t *testing.T, engine string, begin func(*testing.T, string) data, s scene) *fleet {
	dir := t.TempDir()
	s.ttl = max(s.ttl, 3*time.Second)
	f := &fleet{T: t, scene: s, engine: engine, data: begin(t, dir), dir: dir}
	f.deployments = map[string]*deployment{"orders": {nodes: 1}}
	f.environ = append(os.Environ(), "PATH="+dir+":"+programs+":"+os.Getenv("PATH"), storeVariable+"="+f.url, secretFileVariable+"="+dir+"/secret", "MAX_TTL="+s.ttl.String(), "MAX_SKEW=1s")
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
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	check(t, os.Mkdir(dir+"/new", 0o700))
	f.shell(`randflake lease init --new-secret --max-ttl "$MAX_TTL" --max-skew "$MAX_SKEW"`)
	if f.prepare != nil {
		f.prepare(f)
	}
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
		before := map[*pod]uint64{}
		for _, p := range f.deployments["orders"].pods {
			before[p] = p.record.Load().Version
		}
		f.await("renewals", f.ttl, func() bool {
			return !slices.ContainsFunc(f.deployments["orders"].pods, func(p *pod) bool { return p.record.Load().Version == before[p] })
		})
	}
	for name := range f.deployments {
		f.kubectl("scale", "deployment/"+name, "--replicas=0")
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

// working returns a function that reports whether each pod of orders has made an ID since.
func (f *fleet) working() func() bool {
	before := map[*pod]int64{}
	for _, p := range f.deployments["orders"].pods {
		before[p] = f.made(p.name)
	}
	return func() bool {
		return !slices.ContainsFunc(f.deployments["orders"].pods, func(p *pod) bool { return f.made(p.name) == before[p] })
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

// start starts a pod.
func (f *fleet) start(name string, d *deployment) (*pod, error) {
	d.made++
	p := &pod{name: fmt.Sprint(name, "-", d.made)}
	log, err := os.Create(filepath.Join(f.dir, p.name+".log"))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	environ := d.environ
	go func() {
		defer close(done)
		defer log.Close()
		for ctx.Err() == nil {
			if err := f.work(ctx, d, p, environ, log); err != nil {
				fmt.Fprintln(log, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	p.stop = func() { stop(); <-done }
	f.Cleanup(p.stop)
	return p, nil
}

// work is what a pod does until it is told to stop, or something fails.
func (f *fleet) work(ctx context.Context, d *deployment, p *pod, environ map[string]string, log io.Writer) error {
	space, err := url.Open(ctx, cmp.Or(environ[storeVariable], f.url))
	if err != nil {
		return err
	}
	defer space.Close()
	for nodes := 1 << 17; d.hogs; {
		if nodes == 0 {
			return errors.New("took all nodes, and crashed")
		} else if _, err := lease.On(space).Acquire(ctx, lease.Request{Nodes: nodes, TTL: f.ttl}); err != nil {
			nodes /= 2
		}
	}
	keeping := []lease.Option{lease.WithTTL(f.ttl), lease.WithNodes(d.nodes), lease.WithLogger(slog.New(slog.NewTextHandler(log, nil)))}
	if text := environ["LAYOUT"]; text != "" {
		layout, err := snowflake.ParseLayout(text)
		if err != nil {
			return err
		}
		keeper, err := snowflake.Keep(ctx, lease.On(space), layout, snowflake.Leasing(keeping...))
		if err != nil {
			return err
		}
		return generate(ctx, f.dir, p, keeper, log)
	}
	secret, err := local.ReadSecret(f.dir + "/secret")
	if err != nil {
		return err
	}
	var source lease.Source = lease.On(space)
	if d.source != nil {
		source = d.source(source)
	}
	keeper, err := lease.Keep(ctx, source, secret, keeping...)
	if err != nil {
		return err
	}
	return generate(ctx, f.dir, p, keeper, log)
}

// generate makes IDs, some hundred a second, and writes them to a file, a line each.
func generate[ID fmt.Stringer, G interface {
	lease.Generator
	Generate() (ID, error)
}](ctx context.Context, dir string, p *pod, keeper *lease.Keeper[G], log io.Writer) error {
	ids, err := os.OpenFile(filepath.Join(dir, p.name+".ids"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer ids.Close()
	for {
		select {
		case <-ctx.Done():
			return keeper.Close()
		case <-time.After(5 * time.Millisecond):
		}
		if id, err := keeper.Generator().Generate(); err == nil {
			fmt.Fprintln(ids, id)
		} else {
			fmt.Fprintln(log, "refused:", err)
		}
		record := keeper.Status().Record
		p.record.Store(&record)
	}
}

// copied is a store whose first Acquire hands out the lease of another pod: what a process finds in its memory that was
// copied together with its machine.
type copied struct {
	lease.Source
	held *lease.Record
}

func (c *copied) Acquire(ctx context.Context, request lease.Request) (lease.Record, error) {
	if held := c.held; held != nil {
		c.held = nil
		return *held, nil
	}
	return c.Source.Acquire(ctx, request)
}

// cutOff is a store that can't be reached once there is a lease.
type cutOff struct{ lease.Source }

func (cutOff) Renew(context.Context, lease.Record, lease.Renewal) (lease.Record, error) {
	return lease.Record{}, context.DeadlineExceeded
}

func (cutOff) Lookup(context.Context, lease.Record) (lease.Record, error) {
	return lease.Record{}, context.DeadlineExceeded
}

// kubectl is standIn for the test itself.
func (f *fleet) kubectl(args ...string) {
	f.Helper()
	check(f.T, f.standIn(append([]string{"kubectl"}, args...)))
}

// standIn does what kubectl and other programs do that are not there.
func (f *fleet) standIn(args []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch args[0] {
	case "restore-backup":
		f.restore()
		return nil
	case "switch-address":
		f.switchAddress()
		return nil
	}
	at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "deployment/") })
	if at < 0 || f.deployments[strings.TrimPrefix(args[at], "deployment/")] == nil {
		return errors.New("no such deployment")
	}
	name, rest := strings.TrimPrefix(args[at], "deployment/"), args[at+1:]
	d, before := f.deployments[name], slices.Clone(f.deployments[name].pods)
	switch strings.Join(args[1:at], " ") {
	case "scale":
		var n int
		if _, err := fmt.Sscanf(rest[0], "--replicas=%d", &n); err != nil {
			return err
		}
		for len(d.pods) < n {
			p, err := f.start(name, d)
			if err != nil {
				return err
			}
			d.pods = append(d.pods, p)
		}
		for ; len(d.pods) > n; d.pods = d.pods[1:] {
			d.pods[0].stop()
		}
		return nil
	case "set env":
		d.set(rest[0])
	case "set image", "rollout undo", "rollout restart":
	default:
		return errors.New("unknown command")
	}
	for i, old := range before { // one after the other
		p, err := f.start(name, d)
		if err != nil {
			return err
		}
		for end := time.Now().Add(slack); f.made(p.name) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("%s is not ready", p.name)
			}
		}
		old.stop()
		d.pods[i] = p
	}
	return nil
}
