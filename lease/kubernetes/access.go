package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An access is how to reach the API server.
type access struct {
	server    string // URL
	token     string // or ""
	tokenFile string // with a token that changes, or ""
	client    *http.Client
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// findAccess returns how to reach the API server of this pod, unless a kubeconfig file is named.
func findAccess(kubeconfig string) (*access, error) {
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" && kubeconfig == "" {
		return inPod(serviceAccount, host, os.Getenv("KUBERNETES_SERVICE_PORT"))
	}
	if kubeconfig == "" {
		kubeconfig = os.Getenv("KUBECONFIG")
		if n := len(filepath.SplitList(kubeconfig)); n > 1 {
			return nil, fmt.Errorf("KUBECONFIG names %d files: want one: "+
				"kubectl config view --raw --flatten makes one of them", n)
		}
	}
	if kubeconfig == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		kubeconfig = filepath.Join(home, ".kube", "config")
	}
	return byConfig(kubeconfig)
}

// inPod returns the access of a pod whose service account is mounted at dir.
func inPod(dir, host, port string) (*access, error) {
	authorities, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("%w: does the pod mount its service account (automountServiceAccountToken)?",
			err)
	}
	a := &access{
		server:    "https://" + net.JoinHostPort(host, cmp.Or(port, "443")),
		tokenFile: filepath.Join(dir, "token"),
	}
	return a, a.connect(authorities, nil, nil)
}

// A config is the part of a kubeconfig file that is used.
type config struct {
	Current                   string `yaml:"current-context"`
	Contexts, Clusters, Users []named
}

// A named is a context, a cluster or a user, with its name.
type named struct {
	Name    string
	Context struct{ Cluster, User string }
	Cluster struct {
		Server string
		CA     string `yaml:"certificate-authority"`
		CAData string `yaml:"certificate-authority-data"`
	}
	User struct {
		Token       string
		TokenFile   string `yaml:"tokenFile"`
		Certificate string `yaml:"client-certificate"`
		CertData    string `yaml:"client-certificate-data"`
		Key         string `yaml:"client-key"`
		KeyData     string `yaml:"client-key-data"`
		Exec        any
		Provider    any    `yaml:"auth-provider"`
		As          string // another user, as whom to act
	}
}

// find returns the one with the name, or an empty one.
func find(all []named, name string) named {
	for _, n := range all {
		if n.Name == name {
			return n
		}
	}
	return named{}
}

// byConfig returns the access of a kubeconfig file. No error shows a part of the file's secrets.
func byConfig(name string) (*access, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: want a kubeconfig file, outside of pods", err)
	}
	var c config
	if yaml.Unmarshal(content, &c) != nil {
		return nil, fmt.Errorf("%s: want a kubeconfig file", name)
	}
	a, err := c.access(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// access returns the access of the current context. Names of files are relative to dir.
func (c config) access(dir string) (*access, error) {
	context := find(c.Contexts, c.Current).Context
	cluster := find(c.Clusters, context.Cluster).Cluster
	user := find(c.Users, context.User).User
	switch {
	case !storeurl.IsServer(cluster.Server):
		return nil, fmt.Errorf("current-context %q: want one that has a cluster with a server, as https://HOST:PORT",
			c.Current)
	case user.Exec != nil || user.Provider != nil:
		return nil, fmt.Errorf("user %s: a program fetches the credentials: want a token or a client certificate",
			context.User)
	case user.As != "":
		return nil, fmt.Errorf("user %s: it acts as %s: want credentials of that one, without as", context.User, user.As)
	}
	ca, caErr := read(dir, cluster.CA, cluster.CAData)
	certificate, certErr := read(dir, user.Certificate, user.CertData)
	key, keyErr := read(dir, user.Key, user.KeyData)
	if err := cmp.Or(caErr, certErr, keyErr); err != nil {
		return nil, err
	}
	a := &access{
		server:    strings.TrimSuffix(cluster.Server, "/"),
		token:     user.Token,
		tokenFile: pathIn(dir, user.TokenFile),
	}
	return a, a.connect(ca, certificate, key)
}

// read returns what data has in base64, or if that is empty what is in file, if any.
func read(dir, file, data string) ([]byte, error) {
	if data != "" || file == "" {
		return base64.StdEncoding.DecodeString(data)
	}
	return os.ReadFile(pathIn(dir, file))
}

// pathIn returns the path of a file that is named in a file of dir, or "" if file is.
func pathIn(dir, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// connect makes the client. It uses HTTP/1.1, so that no two requests share a connection: a dead
// connection fails only one request.
func (a *access) connect(authorities, certificate, key []byte) error {
	c := new(tls.Config)
	if len(authorities) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(authorities) {
			return errors.New("certificate authority: want certificates in PEM")
		}
	}
	if len(certificate) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return fmt.Errorf("client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: c,
		Protocols:       new(http.Protocols),
		IdleConnTimeout: time.Minute,
	}
	transport.Protocols.SetHTTP1(true)
	a.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// send sends one request, and reads the whole response.
func (a *access) send(
	ctx context.Context, method, path string, body any,
) (response *http.Response, content []byte, err error) {
	r, err := a.request(ctx, method, path, body)
	if err != nil {
		return nil, nil, swap.Unmade(err)
	}
	response, err = a.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(response.Body)
	return response, content, err
}

// request returns a request with the credentials of the moment: Kubernetes replaces the token in a
// file every hour.
func (a *access) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content []byte
	if body != nil {
		content, _ = json.Marshal(body) // can't fail on such fields
	}
	r, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	token := []byte(a.token)
	if a.tokenFile != "" {
		token, err = os.ReadFile(a.tokenFile)
		if err != nil {
			return nil, err
		}
	}
	if len(token) > 0 {
		r.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
	}
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}
