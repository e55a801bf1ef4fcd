//go:build unix

package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
)

// prefork are servers with an application that makes an ID before they fork, where they do. A lease is that of a
// worker, or of all of them.
var prefork = []struct {
	name, language string
	command        string // APPS, CLIENTS, PORT and DIR are known
	workers        int
}{
	{"uwsgi", "python", "uwsgi --plugin python3 --http-socket 127.0.0.1:$PORT --master --processes 3 --need-app " +
		"--wsgi-file $APPS/app.py", 3},
	{"gunicorn --preload", "python", "gunicorn --preload --workers 3 --timeout 300 --bind 127.0.0.1:$PORT " +
		"--chdir $APPS app:application", 3},
	{"php-fpm", "php", "php-fpm8.2 --nodaemonize --allow-to-run-as-root --fpm-config $DIR/fpm.conf", 3},
	{"node cluster", "typescript", "node $APPS/node.mjs cluster", 3},
	{"node worker_threads", "typescript", "node $APPS/node.mjs threads", 3},
	{"java virtual threads", "java", "java -cp $CLIENTS/java/build/classes $APPS/Virtual.java", 1},
	{"puma", "ruby", "puma --workers 3 --preload --threads 2:2 --bind tcp://127.0.0.1:$PORT $APPS/config.ru", 3},
}

func TestServers(t *testing.T) {
	found := here(t)
	for _, p := range prefork {
		if !slices.ContainsFunc(found, func(l language) bool { return l.name == p.language }) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			program, _, _ := strings.Cut(p.command, " ")
			if out, err := shell("command -v " + program).CombinedOutput(); err != nil {
				t.Skipf("no %s: %v %s", program, err, out)
			}
			serve(t, p.command, p.workers)
		})
	}
}

func shell(command string) *exec.Cmd {
	return exec.Command("sh", "-c", "PATH=$PATH:/usr/sbin; "+command)
}

// serve has a server make IDs until all workers have made some, and there are enough of them.
func serve(t *testing.T, command string, workers int) {
	s := newService(t)
	a := newAnswerer(s, "server", 1)
	defer a.close()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	clients, _ := filepath.Abs("..")
	conf := fmt.Sprintf("[global]\nerror_log = /dev/stderr\n[www]\nuser = root\nclear_env = no\n"+
		"listen = 127.0.0.1:%d\npm = static\npm.max_children = 3\n", port)
	if err := os.WriteFile(dir+"/fpm.conf", []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := shell("exec " + command)
	log := logged(t, cmd)
	cmd.Stdout = cmd.Stderr
	cmd.Env = append(a.environ(), "CLIENTS="+clients, "APPS="+clients+"/conformance/testdata/servers", "DIR="+dir,
		fmt.Sprint("PORT=", port))
	process, err := servers.StartProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-process.Pid, syscall.SIGKILL) // its group, which is its own
	want, made, by, firsts := 100_000, 0, map[string]int{}, map[string]bool{"0": true}
	if testing.Short() {
		want = 3_000
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	deadline := time.Now().Add(4 * time.Minute)
	for range 6 {
		group.Go(func() {
			for enough := false; !enough && !process.Ended() && time.Now().Before(deadline); {
				text, err := ask(command, port)
				words := strings.Fields(text)
				if err != nil || len(words) != 102 {
					time.Sleep(20 * time.Millisecond)
					continue
				}
				mu.Lock()
				ids := parseIDs(words[2:])
				if !firsts[words[1]] {
					firsts[words[1]] = true
					ids = append(ids, parseIDs(words[1:2])...)
				}
				if _, err := s.take("server", ids); err != nil {
					t.Error(err)
				}
				made, by[words[0]] = made+len(ids), by[words[0]]+len(ids)
				enough = made >= want && len(by) >= workers
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if strings.Contains(log(), "java.lang.NoSuchMethodException") {
		t.Skip("this Java has no virtual threads")
	}
	if made < want || len(by) < workers || len(s.made) != made {
		t.Errorf("%d IDs of %d workers, want %d of %d: %s", made, len(by), want, workers, log())
	}
	t.Logf("IDs by worker %v, %d leases", by, len(s.grants["server"]))
}

// ask gets a page, by HTTP or from FPM.
func ask(command string, port int) (string, error) {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if !strings.HasPrefix(command, "php-fpm") {
		a, err := http.Get("http://" + address)
		if err != nil {
			return "", err
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		return string(body), err
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	// FastCGI: one request, whose records are the role, the parameters and no input.
	var request bytes.Buffer
	record := func(kind uint16, content string) {
		binary.Write(&request, binary.BigEndian, [4]uint16{1<<8 | kind, 1, uint16(len(content)), 0})
		request.WriteString(content)
	}
	script, _ := filepath.Abs("testdata/servers/index.php")
	record(1, "\x00\x01\x00\x00\x00\x00\x00\x00")
	record(4, fmt.Sprintf("\x0f%cSCRIPT_FILENAME%s\x0e\x03REQUEST_METHODGET", len(script), script))
	record(4, "")
	record(5, "")
	request.WriteTo(c)
	answer, err := io.ReadAll(c)
	_, page, _ := strings.Cut(string(answer), "\r\n\r\n") // of one record, as it is short; what follows is no line
	page, _, _ = strings.Cut(page, "\n")
	return page, err
}
