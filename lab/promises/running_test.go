package promises

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/metrics"
)

// scraped has the metrics of the library and of a service that runs, without those of Go and of the process.
func scraped(t *testing.T) (lines []string) {
	add := func(who, name, kind string, labels []string) {
		slices.Sort(labels)
		lines = append(lines, fmt.Sprintf("%s %s: %s", who, name, strings.TrimSpace(kind+" "+strings.Join(labels, " "))))
	}
	for _, m := range reported(t) {
		kind := "gauge"
		if m.Counter {
			kind = "counter"
		}
		add("library", m.Name, kind, slices.Collect(maps.Keys(m.Labels)))
	}
	s := startService(t)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(s.get(t, "/metrics")))
	require.NoError(t, err)
	for name, family := range families {
		if !strings.HasPrefix(name, "randflake") {
			continue
		}
		for _, m := range family.Metric {
			var labels []string
			for _, label := range m.Label {
				labels = append(labels, label.GetName())
			}
			add("randflaked", name, strings.ToLower(family.GetType().String()), labels)
		}
	}
	return lines
}

// reported are the metrics of each kind of reporter of the randflake.
func reported(t *testing.T) []metrics.Metric {
	space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	keeper, err := lease.Keep(t.Context(), space, randflake.NewSecret())
	require.NoError(t, err)
	defer keeper.Close()
	numbers, err := counter.From(space).Open(t.Context(), "orders", counter.OrCreate(counter.Config{}))
	require.NoError(t, err)
	defer numbers.Close()
	return slices.Concat(keeper.Metrics(), space.Metrics(), numbers.Metrics(), metrics.Build("").Metrics())
}

// logs has the lines of the audit log, and the one of the library that docs/versions.md names, with their keys.
func logs(t *testing.T) (lines []string) {
	var log bytes.Buffer
	space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	keeper, err := lease.Keep(t.Context(), space, randflake.NewSecret(), lease.WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
	require.NoError(t, err)
	require.NoError(t, keeper.Close())
	for line := range bytes.Lines(log.Bytes()) {
		if bytes.Contains(line, []byte(`"randflake: leased"`)) {
			lines = append(lines, "library "+keysOfLine(t, line))
		}
	}
	s := startService(t)
	audit, err := os.ReadFile(s.audit)
	require.NoError(t, err)
	for line := range bytes.Lines(audit) {
		lines = append(lines, "audit "+keysOfLine(t, line))
	}
	return lines
}

func keysOfLine(t *testing.T, line []byte) string {
	var keys map[string]any
	require.NoError(t, json.Unmarshal(line, &keys))
	return fmt.Sprintf("%v: %s", keys["msg"], strings.Join(slices.Sorted(maps.Keys(keys)), " "))
}

// A service is a randflaked that has answered a call of each kind.
type service struct{ url, audit string }

const bearer = "7b3d979ca8330a94fa7e9e1b466d8b99"

var started *service // ended with the test's process

func startService(t *testing.T) *service {
	if started != nil {
		return started
	}
	dir := filepath.Join(work, "service")
	require.NoError(t, os.Mkdir(dir, 0o700))
	must(t, tool(t), "store", "init", "--never-used", "file:"+dir+"/leases", "--secret-file", dir+"/secret")
	config := fmt.Sprintf(`
listen: localhost:0
audit: {file: %[1]s/audit.log, mint: true}
spaces:
  - name: orders
    kind: randflake
    store: file:%[1]s/leases
    secretFile: %[1]s/secret
    counters: [{name: daily, periods: day}, {name: "*"}]
principals: [{name: web, tokenHashes: [%[2]x]}]
rules: [{principals: [web], spaces: ["*"], verbs: [lease, list, mint, inspect, count, set, observe]}]
`, dir, sha256.Sum256([]byte(bearer)))
	require.NoError(t, os.WriteFile(dir+"/randflaked.yaml", []byte(config), 0o600))
	s := &service{audit: dir + "/audit.log"}
	process := exec.Command(daemon(t), "--config", dir+"/randflaked.yaml")
	stderr, err := process.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	endOfTests = append(endOfTests, func() { process.Process.Kill(); process.Wait() })
	lines := json.NewDecoder(stderr)
	for s.url == "" {
		var line struct{ URL string }
		require.NoError(t, lines.Decode(&line))
		s.url = line.URL
	}
	go io.Copy(io.Discard, stderr)
	must(t, daemon(t), "ready", "--timeout", "30s", s.url)
	s.call(t, "LeaseService/Take", fmt.Sprintf(`{"space":"orders","window":"%d"}`, time.Now().Unix()/60))
	minted := s.call(t, "IDService/Mint", `{"space":"orders"}`)
	_, id, _ := strings.Cut(minted, `["`)
	s.call(t, "IDService/Inspect", fmt.Sprintf(`{"space":"orders","text":"%.13s"}`, id))
	s.call(t, "CounterService/Next", `{"space":"orders","counter":"daily"}`)
	s.call(t, "CounterService/Next", `{"space":"orders","counter":"all"}`)
	s.call(t, "CounterService/SetCounter", `{"space":"orders","counter":"all","next":"70000"}`)
	response, err := http.Get(s.url) // without a token
	require.NoError(t, err)
	response.Body.Close()
	started = s
	return s
}

func (s *service) do(t *testing.T, request *http.Request) string {
	request.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Must(t, response.StatusCode == http.StatusOK, "%s: %s: %s", request.URL, response.Status, text)
	return string(text)
}

func (s *service) get(t *testing.T, path string) string {
	request, err := http.NewRequest("GET", s.url+path, nil)
	require.NoError(t, err)
	return s.do(t, request)
}

// status returns that of an answer to GET.
func (s *service) status(t *testing.T, path, token string) int {
	request, err := http.NewRequest("GET", s.url+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	response.Body.Close()
	return response.StatusCode
}

func (s *service) call(t *testing.T, procedure, body string) string {
	return s.post(t, "/randflake.v1."+procedure, body)
}

func (s *service) post(t *testing.T, path, body string) string {
	request, err := http.NewRequest("POST", s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	return s.do(t, request)
}
