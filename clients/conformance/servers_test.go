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

	"github.com/randflake/randflake/store/storetest/servers"
)

// prefork are servers with an application that makes an ID before they fork, where they do. A lease is that of a worker,
// or of all of them.
var prefork = []struct {
	name, language string
	command        string // APPS, CLIENTS, PORT and DIR are known
	workers        int
}{
	{"uwsgi", "python", "uwsgi --plugin python3 --http-socket 127.0.0.1:$PORT --master --processes 3 --need-app --wsgi-file $APPS/app.py", 3},
	{"gunicorn --preload", "python", "gunicorn --preload --workers 3 --bind 127.0.0.1:$PORT --chdir $APPS app:application", 3},
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
			if _, err := exec.LookPath(program); err != nil {
				if _, err = exec.LookPath("/usr/sbin/" + program); err != nil {
					t.Skip(err)
				}
			}
			serve(t, p.command, p.workers)
		})
	}
}

// serve has a server make IDs until all workers have made some, and there are enough of them.
func serve(t *testing.T, command string, workers int) {
	s := newService(t)
	defer s.minter.Close()
	a := newAnswerer(s, "server", 1)
	defer a.close()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	clients, _ := filepath.Abs("..")
	conf := fmt.Sprintf("[global]\nerror_log = /dev/stderr\n[www]\nuser = root\nclear_env = no\nlisten = 127.0.0.1:%d\npm = static\npm.max_children = 3\n", port)
	if err := os.WriteFile(dir+"/fpm.conf", []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "PATH=$PATH:/usr/sbin; exec "+command)
	log, err := os.Create(dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(a.environ(), "CLIENTS="+clients, "APPS="+clients+"/conformance/testdata/servers", fmt.Sprint("PORT=", port), "DIR="+dir)
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
	deadline := time.Now().Add(time.Minute)
	for range 6 {
		group.Go(func() {
			for enough := false; !enough && time.Now().Before(deadline); {
				text, err := ask(command, port)
				words := strings.Fields(text)
				if err != nil || len(words) != 102 {
					if process.Ended() {
						return
					}
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
	said, _ := os.ReadFile(log.Name())
	if bytes.Contains(said, []byte("java.lang.NoSuchMethodException")) {
		t.Skip("this Java has no virtual threads")
	}
	if made < want || len(by) < workers || len(s.made) != made {
		t.Errorf("%d IDs of %d workers, want %d of %d: %s", made, len(by), want, workers, said)
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
	record := func(kind byte, content string) {
		binary.Write(c, binary.BigEndian, [4]uint16{1<<8 | uint16(kind), 1, uint16(len(content)), 0})
		io.WriteString(c, content)
	}
	record(1, "\x00\x01\x00\x00\x00\x00\x00\x00")
	script, _ := filepath.Abs("testdata/servers/index.php")
	var parameters bytes.Buffer
	for _, p := range [][2]string{{"SCRIPT_FILENAME", script}, {"REQUEST_METHOD", "GET"}} {
		parameters.Write([]byte{byte(len(p[0])), byte(len(p[1]))})
		parameters.WriteString(p[0] + p[1])
	}
	record(4, parameters.String())
	record(4, "")
	record(5, "")
	var page strings.Builder
	for {
		var head [4]uint16
		if err := binary.Read(c, binary.BigEndian, &head); err != nil {
			return page.String(), err
		}
		content := make([]byte, int(head[2])+int(head[3]>>8))
		if _, err := io.ReadFull(c, content); err != nil || head[0]&0xff == 3 {
			_, body, _ := strings.Cut(page.String(), "\r\n\r\n")
			return body, err
		} else if head[0]&0xff == 6 {
			page.Write(content[:head[2]])
		}
	}
}
