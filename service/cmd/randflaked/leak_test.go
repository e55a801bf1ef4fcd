package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/store/filestore"
)

// TestMain is the program itself where a test runs it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("RANDFLAKED_AS_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// shapes returns how a secret may look, as text and as bytes: as it is, encoded, as part of something that is encoded, and as
// a debugger or a traceback shows words and bytes.
func shapes(text string, raw []byte) map[string]string {
	all := map[string]string{}
	for name, b := range map[string][]byte{"text": []byte(text), "raw": raw} {
		all[name] = string(b)
		all[name+" hex"] = hex.EncodeToString(b)
		all[name+" reversed hex"] = hex.EncodeToString(reversed(b, len(b)))
		all[name+" in words of 8"] = hex.EncodeToString(reversed(b, 8))
		all[name+" in words of 4"] = hex.EncodeToString(reversed(b, 4))
		all[name+" word"] = "0x" + hex.EncodeToString(reversed(b[:8], 8))
		all[name+" base32"] = strings.TrimRight(base32.StdEncoding.EncodeToString(b), "=")
		all[name+" base32hex"] = strings.TrimRight(base32.HexEncoding.EncodeToString(b), "=")
		for skip := range 3 { // as the end of something longer
			for kind, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
				whole := encoding.EncodeToString(append(make([]byte, skip), b...))
				all[fmt.Sprint(name, " ", kind, skip)] = whole[skip+min(skip, 1) : len(whole)-2]
			}
		}
		all[name+" query"], all[name+" path"] = url.QueryEscape(string(b)), url.PathEscape(string(b))
		all[name+" quoted"] = strings.Trim(fmt.Sprintf("%q", b), `"`)
		all[name+" list"] = strings.Trim(fmt.Sprint(b[:8]), "[]")
		all[name+" array"] = strings.Trim(fmt.Sprintf("%#v", b[:8]), "[]byte{}")
		all[name+" short array"] = strings.ReplaceAll(strings.Trim(fmt.Sprintf("%#x", [][]byte{b[:1], b[1:2], b[2:3], b[3:4], b[4:5]}), "[]"), " ", ", ")
	}
	return all
}

// reversed returns words of b with their bytes the other way round.
func reversed(b []byte, word int) []byte {
	b = slices.Clone(b)
	for chunk := range slices.Chunk(b, word) {
		slices.Reverse(chunk)
	}
	return b
}

// A searcher knows secrets by name, and looks for them in all that it is given, but where one is known to be due.
type searcher struct {
	secrets map[string]map[string]string // their shapes
	given   map[string]string            // text by where it was
	due     map[string]string            // secrets by where
}

func (s *searcher) know(name, text string, raw []byte) { s.secrets[name] = shapes(text, raw) }

func (s *searcher) give(where, text string) { s.given[where] += text }

// found returns what was found, and where.
func (s *searcher) found() (all []string) {
	for where, text := range s.given {
		lower := strings.ToLower(text)
		for name, shapes := range s.secrets {
			if s.due[where] == name {
				continue
			}
			for shape, secret := range shapes {
				if strings.Contains(text, secret) || strings.Contains(lower, strings.ToLower(secret)) {
					all = append(all, fmt.Sprintf("%s: %s as %s", where, name, shape))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// A life is a process and all that it says.
type life struct {
	*testing.T
	searcher
	url    string
	client *http.Client
	token  string
}

// ask asks for something, and keeps the answer.
func (l *life) ask(method, path, body, token, secret string) string {
	l.Helper()
	r, err := http.NewRequest(method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := l.client.Do(r)
	if err != nil {
		l.give("errors of the client", err.Error())
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	where := fmt.Sprintf("%s %s #%d", method, path, len(l.given))
	if secret != "" {
		l.due[where] = secret
	}
	l.give(where, fmt.Sprint(answer.Status, answer.Header, string(text)))
	return string(text)
}

// TestNothingLeaks: whatever one process lives through, no secret, token, password or key is in what it says: its output, audit log,
// answers, pages, metrics, traces, and the dump of its goroutines at the end.
func TestNothingLeaks(t *testing.T) {
	l := &life{T: t, searcher: searcher{map[string]map[string]string{}, map[string]string{}, map[string]string{}}}
	sent := new(buffer)
	traces := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprint(sent, r.Header, string(body))
	}))
	defer traces.Close()
	a := newAuthority(t)
	pair := a.sign("server")
	d, err := pair.PrivateKey.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	pem, _ := os.ReadFile(filepath.Join(a.dir, "server.key"))
	l.know("key of the server", strings.Split(string(pem), "\n")[1], d)
	dir := filepath.Join(a.dir, "state")
	if _, err := local.Create(dir); err != nil {
		t.Fatal(err)
	}
	secret, err := local.ReadSecret(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	bits, _ := hex.DecodeString(secret.Hex())
	l.know("secret of the space", secret.Hex(), bits)
	var made bytes.Buffer
	if err := run([]string{"token"}, &made, &made); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(made.String())
	l.token = words[1]
	for name, text := range map[string]string{"token": words[1], "hash of the token": words[3]} {
		raw, _ := hex.DecodeString(text)
		l.know(name, text, raw)
	}
	const password, wrong = "Pa55/w+rd&of=db7", "wr0ng-token-that-nobody-has"
	l.know("password of stores", password, []byte(password))
	l.know("wrong token", wrong, []byte(wrong))
	space, err := filestore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := space.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	space.Close()
	l.know("incarnation of the space", meta.Incarnation, []byte(meta.Incarnation))

	var spaces strings.Builder
	for name, place := range map[string]string{"redis": "redis://me:%s@127.0.0.1:1/0", "postgres": "postgres://me:%s@127.0.0.1:1/ids", "mysql": "mysql://me:%s@127.0.0.1:1/ids",
		"etcd": "etcd://me:%s@127.0.0.1:1"} {
		fmt.Fprintf(&spaces, "- {name: %s, kind: twitter, store: %q}\n", name, fmt.Sprintf(place, url.QueryEscape(password)))
	}
	file := filepath.Join(a.dir, "randflaked.yaml")
	text := fmt.Sprintf(`listen: localhost:0
audit: %[1]s/audit.log
tls: {certificate: %[1]s/server.pem, key: %[1]s/server.key, clientCA: %[1]s/ca.pem}
spaces:
- {name: shop, kind: randflake, store: "file:%[2]s", secret: distribute, secretFile: "%[2]s/secret"}
%[4]scounters: [{name: orders, space: shop}]
principals: [{name: web, certificates: {dns: [web.example]}, tokens: [%[3]s]}]
rules: [{principals: [web], spaces: ['*'], verbs: [lease, list, mint, inspect, count, report-loss, revoke, fetch, observe]}]
`, a.dir, dir, words[3], spaces.String())
	a.write("randflaked.yaml", text)
	program := exec.Command(os.Args[0], "--config", file)
	program.Env = append(os.Environ(), "RANDFLAKED_AS_PROGRAM=1", "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "GOTRACEBACK=system")
	output := new(buffer)
	program.Stdout, program.Stderr = output, output
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer program.Process.Kill()
	l.client = a.client("")
	listening := regexp.MustCompile(`"url":"([^"]*)"`)
	l.await("the program listens", func() bool { return listening.MatchString(output.String()) })
	l.url = listening.FindStringSubmatch(output.String())[1]
	l.await("it makes IDs", func() bool { return strings.Contains(l.ask("POST", "/v1/spaces/shop/ids", "", l.token, ""), `"ids"`) })

	l.liveThrough(wrong)
	web := a.client("web.example")
	anonymous := l.client
	l.client = web
	if !strings.Contains(l.ask("POST", "/randflake.v1.SecretService/Fetch", `{"space":"shop"}`, "", "secret of the space"), secret.Hex()) {
		t.Error("the secret does not come where it is due: does this test see what it is to see?")
	}
	l.client = newAuthority(t).client("web.example")
	l.ask("POST", "/v1/spaces/shop/ids", "", "", "")
	l.client = anonymous
	for _, change := range [][2]string{{"secret: distribute", "secret: " + secret.Hex()}, {dir + "/secret", secret.Hex()}, {"tokens: [", "tokens: [" + l.token + "x, "},
		{"rules:", "rulez: " + l.token + "\nrules:"}, {"listen: ", "listen: *" + password + " # "}, {"kind: twitter", "kind: twitter, nodes: '`" + secret.Hex() + "'"}, {"@127.0.0.1", "@127.0.0.1:x:y"}} {
		before := strings.Count(output.String(), "configuration was not read again")
		a.write("randflaked.yaml", strings.Replace(text, change[0], change[1], 1))
		program.Process.Signal(syscall.SIGHUP)
		l.await("a broken configuration is refused, or taken", func() bool {
			return strings.Count(output.String(), "configuration was not read again") > before || strings.Contains(output.String(), "configuration was read again")
		})
	}
	l.await("each store that is away is told of", func() bool {
		return strings.Count(output.String(), "can't be opened") >= 4
	})
	l.await("traces come", func() bool { return sent.String() != "" })
	l.give("traces", sent.String())
	audit := func() string { b, _ := os.ReadFile(filepath.Join(a.dir, "audit.log")); return string(b) }
	l.give("audit log", audit())
	l.give("output", output.String())
	if found := l.found(); len(found) > 0 {
		t.Fatalf("leaks:\n%s", strings.Join(found, "\n"))
	}

	// A leak that is there is found: somebody writes the secret where a name belongs.
	l.ask("POST", "/randflake.v1.SecretService/Fetch", `{"space":"`+secret.Hex()+`"}`, l.token, "secret of the space")
	l.given["audit log"] = audit()
	if found := l.found(); len(found) == 0 || found[0] != "audit log: secret of the space as raw hex" {
		t.Errorf("a planted leak was not found, but %q", found)
	}
	l.given["audit log"] = ""
	program.Process.Signal(syscall.SIGQUIT)
	program.Wait()
	l.give("output", output.String())
	if found := l.found(); len(found) > 0 || !strings.Contains(output.String(), "goroutine 1 ") {
		t.Errorf("leaks, the goroutines' dump included:\n%s", strings.Join(found, "\n"))
	}
	for name, shapes := range l.secrets {
		for shape, text := range shapes {
			planted := searcher{l.secrets, map[string]string{"here": "... " + text + " ..."}, nil}
			if !slices.ContainsFunc(planted.found(), func(f string) bool { return strings.HasPrefix(f, "here: "+name) }) {
				t.Errorf("%s as %s is not found", name, shape)
			}
		}
	}
}

func (l *life) await(what string, there func() bool) {
	l.Helper()
	for end := time.Now().Add(time.Minute); !there(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			l.Fatalf("%s: not within a minute", what)
		}
	}
}

// liveThrough calls all procedures and looks at all pages, with good and bad input, and with tokens good and bad.
func (l *life) liveThrough(wrong string) {
	owner := lease.NewToken(time.Now())
	l.know("token of the lease", owner.String(), owner[:])
	granted := l.ask("POST", "/randflake.v1.LeaseService/Acquire", fmt.Sprintf(`{"space":"shop","nodes":1,"ttlSeconds":60,"owner":%q}`, owner), l.token, "token of the lease")
	var answer struct{ Lease json.RawMessage }
	if json.Unmarshal([]byte(granted), &answer) != nil || answer.Lease == nil {
		l.Fatalf("acquire: %s", granted)
	}
	good := fmt.Sprintf(`{"space":"shop","ttlSeconds":60,"held":%s}`, answer.Lease)
	protoregistry.GlobalFiles.RangeFilesByPackage("randflake.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for k := range service.Methods().Len() {
				path := fmt.Sprintf("/%s/%s", service.FullName(), service.Methods().Get(k).Name())
				due := ""
				if service.Name() == "LeaseService" || strings.HasSuffix(path, "Revoke") {
					due = "token of the lease"
				}
				for _, token := range []string{l.token, wrong, "", "a.b.c"} {
					for _, body := range []string{good, `{"space":"shop","counter":"orders","count":3}`, `{"space":"shop"}`, `{"counter":"orders"}`, `{"space":"redis"}`, `{"space":"shop","held":{"owner":"` + wrong + `"}}`, `{`} {
						l.ask("POST", path, body, token, due)
					}
				}
			}
		}
		return true
	})
	for _, path := range []string{"/", "/metrics", "/healthz", "/readyz", "/spaces/shop", "/spaces/redis", "/debug/pprof/", "/debug/vars", "/v1/spaces/shop/ids/1", "/v1/spaces/shop/ids", "/favicon.ico"} {
		for _, token := range []string{l.token, wrong, ""} {
			l.ask("GET", path, "", token, "")
			l.ask("POST", path+"?count=3", "", token, "")
		}
	}
	for _, conf := range []*tls.Config{{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, {InsecureSkipVerify: true}} {
		if conn, err := tls.Dial("tcp", strings.TrimPrefix(l.url, "https://"), conf); err == nil {
			fmt.Fprintf(conn, "GET / HTTP/1.1\r\nAuthorization: Basic %s\r\n\r\n", base64.StdEncoding.EncodeToString([]byte("me:"+l.token)))
			text, _ := io.ReadAll(io.LimitReader(conn, 10_000))
			l.give("answers by hand", string(text))
			conn.Close()
		}
	}
}
