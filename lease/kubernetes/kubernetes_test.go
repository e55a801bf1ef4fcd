package kubernetes

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/document/documenttest"
	"github.com/randflake/randflake/lease/leasetest"
)

// A server compares resourceVersions as an API server does. What needs a real one is tested where there is one.
type server struct {
	documenttest.Server
	http    *httptest.Server
	dir     string // with the files of a service account
	objects map[string]object
	version int
	token   string
}

type metadata struct {
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	path, name, _ := strings.Cut(r.URL.Path, "/configmaps")
	var body object
	var m, old metadata
	json.NewDecoder(r.Body).Decode(&body)
	json.Unmarshal(body.Metadata, &m)
	if m.Name != "" {
		name = "/" + m.Name
	}
	found, exists := s.objects[name]
	json.Unmarshal(found.Metadata, &old)
	put := func() {
		s.version++
		m = metadata{m.Name, old.UID, fmt.Sprint(s.version)}
		if !exists {
			m.UID = fmt.Sprint("uid-", s.version)
		}
		body.Metadata, _ = json.Marshal(m)
		s.objects[name] = body
	}
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.token:
		refuse(w, http.StatusUnauthorized)
		return
	case path != "/api/v1/namespaces/shop" || r.Method != "POST" && !exists:
		refuse(w, http.StatusNotFound)
		return
	case r.Method == "POST" && exists, r.Method == "PUT" && m.ResourceVersion != old.ResourceVersion:
		refuse(w, http.StatusConflict)
		return
	case r.Method != "GET" && !s.Put(w, put):
		return
	}
	json.NewEncoder(w).Encode(s.objects[name])
}

func refuse(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"kind": "Status", "message": "no"}`)
}

func start(t *testing.T) *server {
	s := &server{objects: map[string]object{}, token: "first", dir: t.TempDir()}
	s.http = httptest.NewTLSServer(s)
	t.Cleanup(s.http.Close)
	s.write(t, "ca.crt", string(s.authority()))
	s.write(t, "token", s.token)
	return s
}

func (s *server) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

func (s *server) write(t *testing.T, name, content string) string {
	path := filepath.Join(s.dir, name)
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// connect returns an engine as in a pod.
func (s *server) connect(t *testing.T) lease.Engine {
	host, port, _ := strings.Cut(strings.TrimPrefix(s.http.URL, "https://"), ":")
	a, err := inPod(s.dir, host, port)
	must(t, err)
	return newEngine(a, "shop", "ids")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(*testing.T) lease.Engine { return start(t).connect })
}

func TestFaults(t *testing.T) {
	documenttest.Faults(t, func(t *testing.T) (*documenttest.Server, lease.Engine) {
		s := start(t)
		return &s.Server, s.connect(t)
	}, http.StatusConflict, http.StatusTooManyRequests)
}

// TestFull: a ConfigMap that is nearly full takes no more entries, and its entries can change.
func TestFull(t *testing.T) {
	e := start(t).connect(t)
	must(t, e.Prepare(t.Context()))
	large := strings.Repeat("1", lease.MaxValue)
	for i := range most / (lease.MaxValue * 4 / 3) { // in base64
		leasetest.Put(t, e, fmt.Sprint(i), large)
	}
	if a, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "1")); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("%+v, %v", a, err)
	}
	leasetest.Put(t, e, "0", "1")
}

// TestChanges: a new token is used at once, and a ConfigMap that was made again has another lineage.
func TestChanges(t *testing.T) {
	s := start(t)
	e, lineages := s.connect(t), leasetest.Lineages{}
	must(t, e.Prepare(t.Context()))
	leasetest.Put(t, e, "a", "1")
	lineages.WantNew(t, "at first", e)
	s.token = "second"
	if _, err := e.Read(t.Context(), "a"); err == nil || strings.Contains(err.Error(), "first") {
		t.Errorf("with an old token: %v", err)
	}
	s.write(t, "token", "second\n")
	leasetest.Put(t, e, "a", "1")
	backup := s.objects["/ids"]
	delete(s.objects, "/ids")
	if _, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "1")); !errors.Is(err, lease.ErrNoSpace) {
		t.Errorf("without a ConfigMap: %v", err)
	}
	backup.Metadata = json.RawMessage(`{"name": "ids", "uid": "new"}`)
	s.objects["/ids"] = backup
	if _, err := e.Read(t.Context(), "a"); err == nil {
		t.Error("without a resourceVersion")
	}
	backup.Metadata = json.RawMessage(`{"name": "ids", "uid": "new", "resourceVersion": "1"}`)
	s.objects["/ids"] = backup
	lineages.WantNew(t, "restored", e)
}

// TestKubeconfig: the current context's cluster and user count, as data or files beside the kubeconfig; no error has a secret.
func TestKubeconfig(t *testing.T) {
	s := start(t)
	const form = `{current-context: here, contexts: [{name: there, context: {}}, {name: here, context: {cluster: c, user: u}}],
		clusters: [{name: c, cluster: {%s}}], users: [{name: other, user: {}}, {name: u, user: {%s}}]}`
	server := fmt.Sprintf("server: %q", s.http.URL)
	data := server + ", certificate-authority-data: " + base64.StdEncoding.EncodeToString(s.authority())
	for _, tt := range []struct{ cluster, user, want string }{
		{data, "token: first", ""},
		{server + ", certificate-authority: ca.crt", "tokenFile: token", ""},
		{data, "token: hunter2", "401"},
		{server, "token: first", "certificate"},
		{data, "exec: {command: aws}", "want a token or a client certificate"},
		{data, "client-certificate: none.pem, client-key: none.pem", "none.pem"},
		{data, "client-certificate-data: aHVudGVyMg==", "client certificate"},
		{server + ", certificate-authority-data: '?'", "token: hunter2", "base64"},
		{data, "token: first}}], current-context: nowhere, x: [{y: {", "want a kubeconfig file"},
		{"server: 'https://me:hunter2@shop'", "token: first", "https://HOST:PORT"},
		{"", "token: first", "https://HOST:PORT"},
	} {
		path := s.write(t, "config", fmt.Sprintf(form, tt.cluster, tt.user))
		e, err := Connect(t.Context(), "kubernetes:shop/ids?kubeconfig="+path)
		if err == nil {
			err = e.Prepare(t.Context())
		}
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s, %s: %v, want %q", tt.cluster, tt.user, err, tt.want)
		}
	}
	for url, want := range map[string]string{
		"kubernetes://shop/ids":           "NAMESPACE/NAME",
		"kubernetes:ids":                  "NAMESPACE/NAME",
		"kubernetes:shop/IDs":             "NAMESPACE/NAME",
		"kubernetes:shop/ids?config=x":    `"config"`,
		"kubernetes:a/b?kubeconfig=/none": "/none",
	} {
		if _, err := Connect(t.Context(), url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
