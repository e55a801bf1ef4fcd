package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/service/client"
)

// TestSoak: good and hostile clients, and reloads with good and broken configurations, for some seconds, or as long as SOAK says:
// the good ones are served without an error, no ID and no number comes twice, and memory stays small.
func TestSoak(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		long = 3 * time.Second
	}
	dir := t.TempDir()
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "randflaked.yaml")
	if _, err := local.Create(state); err != nil {
		t.Fatal(err)
	}
	secret, err := local.ReadSecret(filepath.Join(state, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	hash := func(token string) string { h := sha256.Sum256([]byte(token)); return hex.EncodeToString(h[:]) }
	text := fmt.Sprintf(`listen: localhost:0
audit: %[1]s/audit.log
spaces:
- {name: demo, kind: randflake, store: "file:%[1]s/state", secret: mint, secretFile: "%[1]s/state/secret", limits: {batch: 65536, rate: 1000000}}
counters: [{name: orders, space: demo}, {name: 'more/*', space: demo, most: 20}]
issuers: [{issuer: i, audience: a, jwks: %[1]s/keys.json}]
principals: [{name: good, tokens: [%[2]s]}, {name: evil, tokens: [%[3]s]}]
rules:
- {principals: [good], spaces: [demo], verbs: [mint, count, lease, list, inspect, observe]}
- {principals: [evil], spaces: [demo], verbs: [mint, count, list], limits: {rate: 2000}}
`, dir, hash("good"), hash("evil"))
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("keys.json", `{"keys":[]}`)
	write("randflaked.yaml", text)
	program, output := exec.Command(os.Args[0], "--config", file), new(buffer)
	program.Env = append(os.Environ(), "RANDFLAKED_AS_PROGRAM=1", "GOMEMLIMIT=230MiB")
	program.Stdout, program.Stderr = output, output
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Process.Kill()
	listening := regexp.MustCompile(`"url":"http://([^"]*)"`)
	for !listening.MatchString(output.String()) {
		time.Sleep(time.Millisecond)
	}
	address := listening.FindStringSubmatch(output.String())[1]

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	var good, hostile, wrong atomic.Int64
	// each calls do until the end; an error of a good one is counted.
	each := func(n int, calls *atomic.Int64, do func() error) {
		for range n {
			running.Go(func() {
				for ctx.Err() == nil {
					if err := do(); err != nil && ctx.Err() == nil && calls == &good && wrong.Add(1) < 20 {
						t.Error(err)
					}
					calls.Add(1)
				}
			})
		}
	}
	send := func(token, method, path, body string) (string, error) {
		r, _ := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/plain")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer a.Body.Close()
		answer, err := io.ReadAll(a.Body)
		if err == nil && a.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %s: %s", method, path, a.Status, answer)
		}
		return string(answer), err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := send("good", "POST", "/v1/spaces/demo/ids", ""); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}

	var mu sync.Mutex
	seen := map[string]map[uint64]bool{"IDs": {}, "numbers": {}}
	note := func(kind string, all ...uint64) {
		mu.Lock()
		defer mu.Unlock()
		for _, one := range all {
			if seen[kind][one] {
				t.Errorf("%s: %d came twice", kind, one)
			}
			seen[kind][one] = true
		}
		if len(seen[kind]) > 5_000_000 {
			clear(seen[kind])
		}
	}
	replicas := []string{"http://" + address}
	ids, err := client.NewIDs[randflake.ID]("demo", replicas, client.WithToken("good"))
	if err != nil {
		t.Fatal(err)
	}
	leases, err := client.New("demo", replicas, client.WithToken("good"))
	if err != nil {
		t.Fatal(err)
	}
	each(2, &good, func() error {
		id, err := ids.Mint(ctx)
		if err == nil {
			note("IDs", uint64(id))
		}
		time.Sleep(100 * time.Microsecond)
		return err
	})
	each(2, &good, func() error {
		lines, err := send("good", "POST", "/v1/counters/orders/next?count=5", "")
		for line := range strings.Lines(lines) {
			if n, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64); err == nil {
				note("numbers", n)
			}
		}
		return err
	})
	each(2, &good, func() error {
		keeper, err := lease.Keep(ctx, leases, secret, lease.WithTTL(20*time.Second))
		if err != nil {
			return err
		}
		defer keeper.Close()
		for range 100 {
			id, err := keeper.Generator().Wait(ctx)
			if err != nil {
				return err
			}
			note("IDs", uint64(id))
			time.Sleep(rand.N(100 * time.Millisecond))
		}
		return nil
	})
	each(1, &good, func() error {
		for _, path := range []string{"/", "/spaces/demo", "/metrics", "/readyz"} {
			if _, err := send("good", "GET", path, ""); err != nil {
				return err
			}
		}
		time.Sleep(200 * time.Millisecond)
		return nil
	})

	raw := func(read bool, parts ...string) error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		for _, part := range parts {
			io.WriteString(conn, part)
			time.Sleep(rand.N(20 * time.Millisecond))
		}
		if read {
			io.Copy(io.Discard, conn)
		}
		time.Sleep(rand.N(time.Second))
		return nil
	}
	each(4, &hostile, func() error { return raw(true, "POST /v1/spaces/demo/ids HTTP/1.1\r\nHost: x\r\nX-Slow: ", "y") })
	each(4, &hostile, func() error {
		return raw(false, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", strings.Repeat("\x00", 600))
	})
	each(2, &hostile, func() error {
		token := []string{"", "x", "a.b.c", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJpIn0.", "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJpIn0.AA"}[rand.N(5)]
		_, err := send(token, "POST", "/randflake.v1.LeaseService/Acquire", `{"space":"`+strings.Repeat("z", rand.N(5000))+`"}`)
		time.Sleep(time.Millisecond)
		return err
	})
	each(2, &hostile, func() error {
		send("evil", "POST", fmt.Sprintf("/v1/counters/more%%2F%d/next", rand.Uint64()), "")
		send("evil", "POST", "/randflake.v1.CounterService/List", "{}")
		send("evil", "POST", "/randflake.v1.LeaseService/List", `{"space":"demo"}`)
		time.Sleep(10 * time.Millisecond)
		return nil
	})
	each(2, &hostile, func() error { // many answers that are not read
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		io.WriteString(conn, http2.ClientPreface)
		framer, block := http2.NewFramer(conn, conn), new(bytes.Buffer)
		framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(rand.N(2) * (1<<31 - 1))})
		encoder := hpack.NewEncoder(block)
		for stream := uint32(1); stream < 2*maxStreams; stream += 2 {
			block.Reset()
			for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/randflake.v1.IDService/Mint"}, {":authority", "x"},
				{"content-type", "application/json"}, {"authorization", "Bearer evil"}} {
				encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
			}
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
			if framer.WriteData(stream, true, []byte(`{"space":"demo","count":65536}`)) != nil {
				break
			}
		}
		time.Sleep(rand.N(10 * time.Second))
		return nil
	})
	each(1, &hostile, func() error { // an operator with careless hands
		os.Rename(filepath.Join(dir, "audit.log"), filepath.Join(dir, "audit.1"))
		write("randflaked.yaml", []string{text, strings.Replace(text, "orders,", "orders, rate: x,", 1), text + "- {}\n", strings.Replace(text, "keys.json", "none.json", 1), "", text + "# again\n"}[rand.N(6)])
		program.Process.Signal(syscall.SIGHUP)
		time.Sleep(rand.N(300 * time.Millisecond))
		return nil
	})

	most := 0
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(long / 30) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", program.Process.Pid))
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", program.Process.Pid))
		found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
		if found == nil {
			t.Fatalf("the service has ended: %s", output)
		}
		n, _ := strconv.Atoi(string(found[1]))
		most = max(most, n>>10)
		t.Logf("%d MB, %d files, %d good calls, %d hostile ones, %d errors", n>>10, len(files), good.Load(), hostile.Load(), wrong.Load())
	}
	cancel()
	running.Wait()
	build, _ := debug.ReadBuildInfo()
	if most > 256 && !slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) { // whose memory is a multiple
		t.Errorf("%d MB of memory: the chart's limit is 256", most)
	}
	if text := output.String(); strings.Contains(text, "panic") {
		t.Errorf("it panicked: %s", text)
	}
	program.Process.Signal(os.Interrupt)
	if err := program.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	t.Logf("%d good calls, %d hostile ones, at most %d MB; log %d bytes", good.Load(), hostile.Load(), most, len(output.String()))
}
