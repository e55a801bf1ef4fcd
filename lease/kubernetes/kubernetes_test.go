package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/document/documenttest"
	"github.com/randflake/randflake/lease/internal/taken"
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

	redirects bool
}

type metadata struct {
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	path, named, _ := strings.Cut(r.URL.Path, "/configmaps")
	name := named
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
	s.Stamp(w)
	switch {
	case s.redirects:
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		return
	case r.ProtoMajor != 1:
		refuse(w, http.StatusHTTPVersionNotSupported)
		return
	case r.Header.Get("Content-Type") != "application/json":
		refuse(w, http.StatusUnsupportedMediaType)
		return
	case r.Method == "POST" && named != "":
		refuse(w, http.StatusMethodNotAllowed)
		return
	case r.Method == "GET" && r.ContentLength != 0:
		refuse(w, http.StatusBadRequest)
		return
	case !s.knows(r):
		refuse(w, http.StatusUnauthorized)
		return
	case path != "/api/v1/namespaces/shop" || r.Method != "POST" && !exists:
		refuse(w, http.StatusNotFound)
		return
	case r.Method == "POST" && exists, r.Method == "PUT" && m.ResourceVersion != old.ResourceVersion:
		refuse(w, http.StatusConflict)
		return
	case len(body.Data["entries"]) > 1<<20:
		refuse(w, http.StatusUnprocessableEntity)
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
	s.http = httptest.NewUnstartedServer(s)
	s.http.EnableHTTP2 = true
	s.http.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	s.write(t, "ca.crt", s.certificate())
	s.write(t, "token", s.token)
	s.write(t, "key.pem", s.key(t))
	return s
}

// certificate returns the server's certificate, which is its own authority, and a client's too.
func (s *server) certificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw}))
}

func (s *server) key(t *testing.T) string {
	key, err := x509.MarshalPKCS8PrivateKey(s.http.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

// knows reports whether a request has the token, or that of an assistant who acts as boss, or else
// the client's certificate.
func (s *server) knows(r *http.Request) bool {
	token := r.Header.Get("Authorization")
	if token == "Bearer assistant" {
		return r.Header.Get("Impersonate-User") == "boss"
	}
	certificates := r.TLS.PeerCertificates
	if token == "" && len(certificates) == 1 {
		return certificates[0].Equal(s.http.Certificate())
	}
	return token == "Bearer "+s.token
}

func (s *server) write(t *testing.T, name, content string) string {
	path := filepath.Join(s.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// access returns that of a pod.
func (s *server) access(t *testing.T) *access {
	host, port, _ := strings.Cut(strings.TrimPrefix(s.http.URL, "https://"), ":")
	a, err := inPod(s.dir, host, port)
	require.NoError(t, err)
	return a
}

func (s *server) connect(t *testing.T) lease.Engine { return newEngine(s.access(t), "shop", "ids") }

func TestSuite(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(*testing.T) lease.Engine { return start(t).connect })
}

func TestFaults(t *testing.T) {
	documenttest.Faults(t, func(t *testing.T) (*documenttest.Server, lease.Engine) {
		s := start(t)
		return &s.Server, s.connect(t)
	}, http.StatusConflict, http.StatusTooManyRequests)
}

func TestCut(t *testing.T) {
	s := start(t)
	documenttest.Cut(t, &s.Server, s.connect(t))
}

func TestTime(t *testing.T) {
	s := start(t)
	documenttest.Time(t, &s.Server, s.connect(t))
}

// A transport answers requests by a function.
type transport struct {
	answer http.HandlerFunc
	closed int
}

func (f *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f.answer(w, r)
	return w.Result(), nil
}

func (f *transport) CloseIdleConnections() { f.closed++ }

// TestBusy: a call waits for as long as a busy server says, at least a second, and no longer than its context.
func TestBusy(t *testing.T) {
	const found = `{"metadata": {"resourceVersion": "1"}, "data": {"entries": "{\"lineage\": \"l\", \"entries\": {}}"}}`
	for _, tt := range []struct {
		after string
		waits time.Duration
		want  error
	}{
		{"1", time.Second, nil},
		{"5", 5 * time.Second, nil},
		{"12", 12 * time.Second, nil},
		{"0", time.Second, nil},
		{"", time.Second, nil},
		{"soon", time.Second, nil},
		{"60", 20 * time.Second, context.DeadlineExceeded},
		{"99999999", 20 * time.Second, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			server := &transport{answer: func(w http.ResponseWriter, _ *http.Request) {
				if requests++; requests > 1 {
					fmt.Fprint(w, found)
					return
				}
				w.Header().Set("Retry-After", tt.after)
				w.WriteHeader(http.StatusTooManyRequests)
			}}
			e := newEngine(&access{client: &http.Client{Transport: server}}, "shop", "ids")
			began := time.Now()
			ctx, cancel := context.WithDeadline(t.Context(), began.Add(20*time.Second))
			defer cancel()
			_, err := e.Read(ctx, "a")
			if took := time.Since(began); !errors.Is(err, tt.want) || took != tt.waits {
				t.Errorf("after %q: %v after %v, want %v after %v", tt.after, err, took, tt.want, tt.waits)
			}
			if err := e.Close(); err != nil || server.closed != 1 {
				t.Errorf("Close: %v, idle connections closed %d times, want once", err, server.closed)
			}
		})
	}
}

// TestRedirected: a request goes to the server that was named, and to no other.
func TestRedirected(t *testing.T) {
	s := start(t)
	s.redirects = true
	require.ErrorSays(t, s.connect(t).Prepare(t.Context()), "307", "redirected")
}

// TestNoNamespace: without its namespace a ConfigMap can't be made, however often it is tried.
func TestNoNamespace(t *testing.T) {
	e := newEngine(start(t).access(t), "none", "ids")
	require.ErrorSays(t, e.Prepare(t.Context()), "404", "prepare")
}

// TestFull: spaces are added as long as all can age, and those that are there can age.
func TestFull(t *testing.T) {
	e := start(t).connect(t)
	spaces := -1
	var full error
	for full == nil {
		spaces++
		_, full = lease.Create(t.Context(), e, lease.Config{Name: fmt.Sprint(spaces), NeverUsed: true})
	}
	want := fmt.Sprintf("full: its %d spaces, with their counters, can grow to", spaces)
	require.Must(t, spaces >= 200 && errors.Is(full, lease.ErrStore) && strings.Contains(full.Error(), want),
		"after %d spaces: %v", spaces, full)

	aged := "999999999999"
	for i := range taken.MaxSteps - 1 {
		aged += fmt.Sprintf(" %d 131072 999999999999", i*400000)
	}
	aged += " 25200000 0 999999999999" // all windows from 2017 on are free
	var leases []lease.Entry
	for i := range spaces {
		leases = append(leases, leasetest.Entry(fmt.Sprintf("%d/leases", i), aged)...)
	}
	a, err := e.Swap(t.Context(), nil, leases)
	require.Must(t, err == nil && a.Swapped, "%d aged spaces: %+v, %v", spaces, a, err)
	s, err := lease.Open(t.Context(), e, lease.Config{Name: "0"})
	require.NoError(t, err)
	window := s.Limits().WindowOf(time.Now())
	leased, err := s.Take(t.Context(), window, window+5, 1)
	require.That(t, err == nil && len(leased) == 6, "a take of an aged space: %v, %v", leased, err)
}

// TestToken: a new token in its file is used within a minute. Close reaches the connections below it.
func TestToken(t *testing.T) {
	s := start(t)
	synctest.Test(t, func(t *testing.T) {
		sent := ""
		below := &transport{answer: func(w http.ResponseWriter, r *http.Request) {
			sent = r.Header.Get("Authorization")
			refuse(w, http.StatusUnauthorized)
		}}
		a, err := connect(&rest.Config{
			Host:            "https://shop",
			BearerTokenFile: filepath.Join(s.dir, "token"),
			WrapTransport:   func(http.RoundTripper) http.RoundTripper { return below },
		})
		require.NoError(t, err)
		e := newEngine(a, "shop", "ids")
		for _, token := range []string{"first", "second"} {
			s.write(t, "token", token+"\n")
			time.Sleep(time.Minute)
			_, err = e.Read(t.Context(), "a")
			require.That(t, err != nil && !strings.Contains(err.Error(), token) && sent == "Bearer "+token,
				"%q was sent: %v, want the token %s", sent, err, token)
		}
		require.NoError(t, e.Close())
		require.That(t, below.closed == 1, "closed %d times, want once", below.closed)
	})
}

// TestChanges: a ConfigMap that was made again has another lineage.
func TestChanges(t *testing.T) {
	s := start(t)
	e, lineages := s.connect(t), enginetest.Lineages{}
	require.NoError(t, e.Prepare(t.Context()))
	leasetest.Put(t, e, "a", "1")
	lineages.WantNew(t, "at first", e)
	backup := s.objects["/ids"]
	delete(s.objects, "/ids")
	require.Refuses(t, lease.ErrNoSpace, "without a ConfigMap")(e.Swap(t.Context(), nil, leasetest.Entry("a", "1")))
	backup.Metadata = json.RawMessage(`{"name": "ids", "uid": "new"}`)
	s.objects["/ids"] = backup
	if _, err := e.Read(t.Context(), "a"); err == nil {
		t.Error("without a resourceVersion")
	}
	backup.Metadata = json.RawMessage(`{"name": "ids", "uid": "new", "resourceVersion": "1"}`)
	s.objects["/ids"] = backup
	lineages.WantNew(t, "restored", e)
}

// TestKubeconfig: the current context's cluster and user count, as data or files beside the
// kubeconfig; no error has a secret.
func TestKubeconfig(t *testing.T) {
	s := start(t)
	const form = `{current-context: here, contexts: [{name: there, context: {}}, {name: here, context: {cluster: c, user: u}}],
		clusters: [{name: c, cluster: {%s}}], users: [{name: other, user: {}}, {name: u, user: {%s}}]}`
	server := fmt.Sprintf("server: %q", s.http.URL)
	encode := base64.StdEncoding.EncodeToString
	pair := fmt.Sprintf("client-certificate-data: %s, client-key-data: %s", encode([]byte(s.certificate())), encode([]byte(s.key(t))))
	credential := func(name, text string) string {
		path := s.write(t, name, text)
		return "exec: {command: cat, args: [" + path + "], apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"
	}
	const fetched = `{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
		"status": {"token": "first"}}`
	data := server + ", certificate-authority-data: " + encode([]byte(s.certificate()))
	for _, tt := range []struct{ cluster, user, want string }{
		{data, "token: first", ""},
		{server + ", certificate-authority: ca.crt", "tokenFile: token", ""},
		{data, "client-certificate: ca.crt, client-key: " + filepath.Join(s.dir, "key.pem"), ""},
		{data, pair, ""},
		{data, "token: assistant, as: boss", ""},
		{data, credential("fetched", fetched), ""},
		{data, credential("secret", "hunter2"), "decoding stdout"},
		{data, "token: assistant", "401"},
		{data + ", certificate-authority: none.pem", "token: first", "both specified"},
		{data + ", proxy-url: 'me:hunter2@shop:80'", "token: first", "proxy-url"},
		{data + ", proxy-url: 'http://me:hunter2@localhost:1'", "token: first", "refused"},
		{data, "tokenFile: none", "none"},
		{data, "token: hunter2", "401"},
		{data, "", "401"},
		{server, "token: first", "unknown authority"},
		{server + ", certificate-authority: token", "token: first", "PEM block"},
		{data, "exec: {command: aws}", "apiVersion must be specified"},
		{data, "auth-provider: {name: gcp}", "no Auth Provider found"},
		{data, "client-certificate: none.pem, client-key: none.pem", "none.pem"},
		{data, "client-certificate-data: aHVudGVyMg==", "client-key"},
		{server + ", certificate-authority-data: '?'", "token: hunter2", "want a kubeconfig file"},
		{data, "token: first}}], current-context: nowhere, x: [{y: {", "nowhere"},
		{data, "token: *hunter2", "want a kubeconfig file"},
		{"server: 'https://me:hunter2@shop'", "token: first", "https://HOST:PORT"},
		{"server: 'https://shop?token=hunter2'", "token: first", "https://HOST:PORT"},
		{"server: 'https://shop:port'", "token: first", "https://HOST:PORT"},
		{"", "token: first", "no server found"},
	} {
		path := s.write(t, "config", fmt.Sprintf(form, tt.cluster, tt.user))
		e, err := Connect(t.Context(), "kubernetes:shop/ids?kubeconfig="+path)
		if err == nil {
			err = e.Prepare(t.Context())
		}
		if tt.want == "" && err == nil {
			continue
		}
		require.That(t, tt.want != "" && err != nil && strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), "hunter2"),
			"%s, %s: %v, want %q", tt.cluster, tt.user, err, tt.want)
	}
	_, found := s.objects["/ids"]
	require.That(t, found && len(s.objects) == 1, "%v, want the ConfigMap ids alone", s.objects)
}

func TestURL(t *testing.T) {
	long := strings.Repeat("a", 253)
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Wrong: map[string]string{
			"kubernetes:" + long[:64] + "/ids": "NAMESPACE/NAME",
			"kubernetes:shop/" + long + "a":    "NAMESPACE/NAME",
			"kubernetes://shop/ids":            "NAMESPACE/NAME",
			"kubernetes:ids":                   "NAMESPACE/NAME",
			"kubernetes:shop/IDs":              "NAMESPACE/NAME",
			"configmap:shop/ids":               "NAMESPACE/NAME",
			"kubernetes:shop/ids?config=x":     `"config"`,
			"kubernetes:shop/ids?%zz":          "parameters can't be parsed",
		},
		Failing: map[string]string{
			"kubernetes:" + long[:63] + "/" + long + "?kubeconfig=/none": "want a kubeconfig file that can be read, outside of pods",
		},
	})
}

// TestFindAccess: a kubeconfig file that is named counts, then the pod, then the files of KUBECONFIG,
// then the user's file.
func TestFindAccess(t *testing.T) {
	home := t.TempDir()
	config := func(path, server string) string {
		const form = `{current-context: c, contexts: [{name: c, context: {cluster: c}}],
			clusters: [{name: c, cluster: {server: "%s"}}]}`
		path = filepath.Join(home, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, form, server), 0o600))
		return path
	}
	named, variable := config("named", "https://named/"), config("variable", "https://variable")
	users := config(".kube/config", "https://home")
	list := strings.Join([]string{filepath.Join(home, "none"), variable, named}, string(filepath.ListSeparator))
	old := clientcmd.RecommendedHomeFile
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = old })
	for _, tt := range []struct {
		named, variable, pod, users string
		want                        string
	}{
		{named, variable, "10.0.0.1", users, "https://named"},
		{os.DevNull, variable, "10.0.0.1", users, "want a file that is there"},
		{"", variable, "10.0.0.1", users, "automountServiceAccountToken"},
		{"", variable, "", users, "https://variable"},
		{"", list, "", users, "https://variable"},
		{"", "", "", users, "https://home"},
		{"", ":", "", users, `kubeconfig [""]: current-context "": want a file that is there`},
		{"", "", "", filepath.Join(home, "none"), `none"]: current-context "": want a file that is there`},
	} {
		t.Setenv("KUBECONFIG", tt.variable)
		t.Setenv("KUBERNETES_SERVICE_HOST", tt.pod)
		clientcmd.RecommendedHomeFile = tt.users // by HOME as it was when the program began
		a, err := findAccess(tt.named)
		if err == nil && a.server != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %+v, %v", tt, a, err)
		}
	}
}

// TestInPod: the server's address may be one of IPv6, and without a certificate authority it is not asked.
func TestInPod(t *testing.T) {
	dir := start(t).dir
	for _, tt := range []struct{ host, port, want string }{
		{"10.0.0.1", "6443", "https://10.0.0.1:6443"},
		{"fd00::1", "", "https://[fd00::1]:443"},
	} {
		a, err := inPod(dir, tt.host, tt.port)
		require.That(t, err == nil && a.server == tt.want, "%+v, %v, want %s", a, err, tt.want)
	}
	a, err := inPod(dir, "no host", "")
	require.NoError(t, err)
	require.ErrorSays(t, newEngine(a, "shop", "ids").Prepare(t.Context()), "host name", "a host that is none")
	require.NoError(t, os.Remove(filepath.Join(dir, "ca.crt")))
	require.Refuses(t, fs.ErrNotExist, "without a certificate authority")(inPod(dir, "10.0.0.1", ""))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("none"), 0o600))
	require.Says(t, "PEM block", "with another authority's file")(inPod(dir, "10.0.0.1", ""))
}
