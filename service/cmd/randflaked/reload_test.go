package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/local"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/internal/config"
)

// A reloading is a service with an old and a new configuration, which have nothing in common.
type reloading struct {
	*testing.T
	*process
	authority // of the old clients, and of all servers
	added     *authority
	old, new  *http.Client
	texts     [2]string // of the configurations
}

func newReloading(t *testing.T) *reloading {
	r := &reloading{T: t, authority: *newAuthority(t), added: newAuthority(t)}
	r.sign("server")
	r.sign("other")
	for i, name := range []string{"old", "new"} {
		dir := filepath.Join(r.dir, name)
		require.Done(t)(local.Create(dir))
		ca, server := r.dir+"/ca.pem", "server"
		if name == "new" {
			ca, server = r.added.dir+"/ca.pem", "other"
		}
		r.write(name+"-keys.json", `{"keys":[]}`)
		r.texts[i] = fmt.Sprintf(`listen: localhost:0
audit: {file: %[1]s/%[2]s-audit}
tls: {certificate: %[1]s/%[4]s.pem, key: %[1]s/%[4]s.key, clientCA: %[3]s}
spaces: [{name: %[2]s, kind: randflake, store: "file:%[1]s/%[2]s", secretFile: "%[1]s/%[2]s/secret"}]
issuers: [{issuer: %[2]s, audience: randflaked, jwks: %[1]s/%[2]s-keys.json}]
principals: [{name: web, certificates: {dns: [web.example]}}]
rules: [{principals: [web], spaces: [%[2]s], verbs: [inspect]}]
`, r.dir, name, ca, server)
	}
	r.old = r.client("web.example")
	r.new = r.client("")
	pair := r.added.sign("web.example")
	r.new.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate =
		func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	file := r.write("randflaked.yaml", r.texts[0])
	read := func() (*config.Config, error) { return config.Read(file) }
	r.process = start(t, read, r.client(""), func(b *limits) { b.renewal = time.Hour })
	return r
}

// again makes the service read a configuration.
func (r *reloading) again(text string) {
	r.write("randflaked.yaml", text)
	r.reload <- os.Interrupt
	r.reload <- os.Interrupt // is taken once the first is done
}

// inspect returns whether a client may open an ID of a space.
func (r *reloading) inspect(client *http.Client, space string) error {
	request := &api.InspectRequest{Space: space, Id: &api.InspectRequest_Number{Number: 1}}
	_, err := randflakev1connect.NewIDServiceClient(client, r.url, connect.WithGRPC()).Inspect(r.Context(), request)
	return err
}

// wantAll checks that all that is in force is of the old configuration, or of the new one.
func (r *reloading) wantAll(what string, is, not string) {
	r.Helper()
	mine, others, server := r.old, r.new, "server"
	if is == "new" {
		mine, others, server = others, mine, "other"
	}
	before, _ := os.ReadFile(filepath.Join(r.dir, is+"-audit"))
	if err := r.inspect(mine, is); err != nil {
		r.Errorf("%s: %s space for its client: %v", what, is, err)
	}
	if err := r.inspect(mine, not); connect.CodeOf(err) != connect.CodePermissionDenied {
		r.Errorf("%s: %s space for the %s client: %v", what, not, is, err)
	}
	others.CloseIdleConnections()
	if err := r.inspect(others, is); err == nil {
		r.Errorf("%s: the client of the %s authority opened an ID", what, not)
	}
	conn, err := tls.Dial("tcp", r.listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.NoError(r, err)
	defer conn.Close()
	names := conn.ConnectionState().PeerCertificates[0].DNSNames
	require.That(r, names[0] == server, "%s: the certificate of %q, want %s", what, names, server)
	after, _ := os.ReadFile(filepath.Join(r.dir, is+"-audit"))
	n := strings.Count(string(after[len(before):]), `"msg":"inspect"`)
	require.That(r, n == 1, "%s: %d lines in the %s audit log, want 1", what, n, is)
}

// TestReload: a configuration is in force as a whole or not at all, whichever step fails.
func TestReload(t *testing.T) {
	r := newReloading(t)
	r.wantAll("before", "old", "new")
	for what, change := range map[string][2]string{
		"YAML":              {"spaces:", "spaces: :"},
		"a check":           {"verbs: [inspect]", "verbs: [inspects]"},
		"listen":            {"localhost:0", "localhost:1"},
		"the key":           {"other.key", "server.key"},
		"the certificate":   {"other.pem", "missing.pem"},
		"the authority":     {r.added.dir + "/ca.pem", "missing.pem"},
		"no authority":      {r.added.dir + "/ca.pem", r.dir + "/other.key"},
		"the audit log":     {"new-audit", "missing/audit"},
		"the issuer's keys": {"new-keys.json", "missing.json"},
		"the issuer's CA":   {"audience: randflaked,", "audience: randflaked, ca: missing.pem,"},
		"the secret":        {"new/secret\"", "new/missing\""},
	} {
		before := strings.Count(r.written.String(), "configuration was not read again")
		r.again(strings.Replace(r.texts[1], change[0], change[1], 1))
		require.That(t, strings.Count(r.written.String(), "configuration was not read again") != before,
			"%s: a configuration with a fault there was accepted", what)
		r.wantAll("after a fault of "+what, "old", "new")
	}
	r.again(r.texts[1])
	for r.server.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	r.wantAll("after all", "new", "old")
	_, err := os.Stat(filepath.Join(r.dir, "missing"))
	require.That(t, err != nil, "a directory was made")
}
