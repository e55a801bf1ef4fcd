package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/internal/config"
)

// A testbed is a server with all that it writes.
type testbed struct {
	testing.TB
	*Server
	handler http.Handler
	written *buffer // audit log and log
	secret  randflake.Secret
	data    map[string]*leasetest.Memory // by place
	broken  atomic.Bool                  // the stores
	hangs   atomic.Bool                  // calls of the stores, until their contexts end
	asked   atomic.Int64                 // calls of the stores
	during  atomic.Pointer[func()]       // is done in the next call of a store
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// spaces are those of testbeds: one of each kind, with a secret or without, and counters of some.
const spaces = `
spaces:
- {name: mint, kind: randflake, store: mint, secretFile: SECRET, counters: [{name: others}]}
- {name: given, kind: randflake, store: given, secretFile: SECRET, counters: [{name: others}]}
- {name: none, kind: randflake, store: none, counters: [{name: orders}, {name: few, last: 3}, {name: invoices/*}, {name: daily, start: 1000, periods: day}]}
- {name: sorted, kind: snowflake, layout: twitter, store: sorted}
- {name: ulid, kind: ulid}
`

// firstOfPart is the first node of the space none, which has the upper half of the nodes.
const firstOfPart = 1 << 16

// newTestbed starts a server by what is in YAML, in which SECRET is the name of a file, and waits for its spaces.
func newTestbed(t testing.TB, yaml string) *testbed {
	t.Helper()
	w := &testbed{TB: t, written: new(buffer), secret: randflake.NewSecret(), data: map[string]*leasetest.Memory{}}
	c := w.config(yaml)
	for _, s := range c.Spaces {
		if s.Store == "" {
			continue
		}
		w.data[s.Store] = leasetest.NewMemory()
		settings := lease.Config{NeverUsed: true}
		if s.Kind == "snowflake" {
			settings.Limits.Nodes = 1024
		} else if s.SecretFile == "" {
			settings.CheckValue = w.secret.CheckValue()
			settings.Limits.FirstNode = firstOfPart
		}
		space, err := lease.Create(t.Context(), w.data[s.Store].Connect(), settings)
		require.NoError(t, err)
		space.Close()
	}
	w.begin(c)
	return w
}

// inBubble runs a test with a testbed in a time of its own, as of a year in which there are IDs.
func inBubble(t *testing.T, yaml string, test func(t *testing.T, w *testbed)) {
	ours() // is of the time of all tests
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		test(t, newTestbed(t, yaml))
	})
}

// begin starts the server, on data that may be there.
func (w *testbed) begin(c *config.Config) {
	w.Helper()
	logger := slog.New(slog.NewJSONHandler(w.written, nil))
	w.Server = New(func(ctx context.Context, place string, c lease.Config) (*lease.Space, error) {
		return lease.Open(ctx, leasetest.Intercept(w.data[place].Connect(),
			func(ctx context.Context, c leasetest.Call, e lease.Engine) (lease.Answer, error) {
				w.asked.Add(1)
				if do := w.during.Swap(nil); do != nil {
					(*do)()
				}
				if w.broken.Load() {
					return lease.Answer{}, errors.New("connection to db-7 lost")
				}
				if w.hangs.Load() {
					<-ctx.Done()
					return lease.Answer{}, ctx.Err()
				}
				return c.On(ctx, e)
			}), c)
	}, w.written, logger)
	w.Cleanup(w.Close)
	require.That(w, w.Ready() != nil, "ready without a configuration")
	c.TLS = nil // its files are not there
	require.NoError(w, w.Configure(c))
	w.TLS().ClientCAs = servers.Pool(ours())
	for w.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	w.handler = w.Handler()
}

func (w *testbed) config(yaml string) *config.Config {
	w.Helper()
	file := filepath.Join(w.TempDir(), "secret")
	require.NoError(w, os.WriteFile(file, []byte(w.secret.Hex()+"\n"), 0o600))
	c, err := config.Parse("test", []byte(strings.ReplaceAll(yaml, "SECRET", file)))
	require.NoError(w, err)
	return c
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header
	text   string
	body   struct {
		Code, Message, Time string
		IDs                 []string `json:"ids"`
		Numbers             []string
		Plausible           bool
		Node                uint32
		Sequence            int `json:",string"`
		Leases              []struct{ FirstNode uint32 }
		Counters            []map[string]any
		Details             []struct{ Debug struct{ Reason string } }
	}
}

// why is the code of an error, and then its reason.
func (a answer) why() string {
	reason := ""
	for _, detail := range a.body.Details {
		reason += detail.Debug.Reason
	}
	return a.body.Code + " " + reason
}

// firstNode is that of the only lease in the answer.
func (a answer) firstNode() uint32 {
	if len(a.body.Leases) != 1 {
		return math.MaxUint32
	}
	return a.body.Leases[0].FirstNode
}

// send sends a request with what change does to it.
func (w *testbed) send(method, path, body string, change ...func(*http.Request)) answer {
	w.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:8080"
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	a := answer{status: recorder.Code, header: recorder.Header(), text: recorder.Body.String()}
	json.Unmarshal(recorder.Body.Bytes(), &a.body)
	return a
}

// call calls a procedure such as "IDService/Mint".
func (w *testbed) call(procedure, body string, change ...func(*http.Request)) answer {
	w.Helper()
	return w.send(http.MethodPost, "/randflake.v1."+procedure, body, change...)
}

// wants checks the code of an answer, which is "" if the call was carried out, and its reason, which may follow the code.
// A format says whose it is.
func (w *testbed) wants(code string, a answer, format string, args ...any) {
	w.Helper()
	done := a.status == http.StatusOK
	require.That(w, strings.HasPrefix(a.why()+" ", code+" ") && done == (code == ""),
		"%s: %d %s, want code %q", fmt.Sprintf(format, args...), a.status, a.text, code)
}

// as has a request come with the token of a principal, which is its name, or with its certificate.
func as(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer token-of-"+name) }
}

// ours is the authority that testbeds trust.
var ours = sync.OnceValue(servers.NewAuthority)

// withCertificate has a request come with a certificate of our authority.
func withCertificate(name string) func(*http.Request) {
	pair := ours().Sign(time.Hour, []string{name})
	return func(r *http.Request) {
		chain := []*x509.Certificate{pair.Leaf, ours().Leaf}
		r.TLS = &tls.ConnectionState{PeerCertificates: chain[:1], VerifiedChains: [][]*x509.Certificate{chain}}
	}
}

func hashOf(name string) string {
	hash := sha256.Sum256([]byte("token-of-" + name))
	return hex.EncodeToString(hash[:])
}
