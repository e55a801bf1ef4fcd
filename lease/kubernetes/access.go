package kubernetes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An access is how to reach the API server.
type access struct {
	server string // URL
	client *http.Client
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// findAccess returns how to reach the API server of this pod, unless a kubeconfig file is named.
func findAccess(kubeconfig string) (*access, error) {
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" && kubeconfig == "" {
		return inPod(serviceAccount, host, os.Getenv("KUBERNETES_SERVICE_PORT"))
	}
	return byConfig(kubeconfig)
}

// inPod returns the access of a pod whose service account is mounted at dir. It isn't by
// rest.InClusterConfig, which trusts the system's authorities if the account's is missing.
func inPod(dir, host, port string) (*access, error) {
	a, err := connect(&rest.Config{
		Host:            "https://" + net.JoinHostPort(host, cmp.Or(port, "443")),
		BearerTokenFile: filepath.Join(dir, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.crt")},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: does the pod mount its service account (automountServiceAccountToken)?", err)
	}
	return a, nil
}

// byConfig returns the access of the current context in a kubeconfig file, or else in those that
// KUBECONFIG lists, or in that of the user.
func byConfig(kubeconfig string) (*access, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	rules.MigrationRules = nil // they write files
	a, err := byRules(rules)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %q: %w", rules.GetLoadingPrecedence(), err)
	}
	return a, nil
}

// byRules returns the access of the current context in the files of rules. No error shows a part of a file
// that may be a secret.
func byRules(rules *clientcmd.ClientConfigLoadingRules) (*access, error) {
	files, err := rules.Load()
	if err != nil {
		return nil, errors.New("want a kubeconfig file that can be read, outside of pods")
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*files, files.CurrentContext, nil, rules).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err), err == nil && !storeurl.IsServer(config.Host):
		return nil, fmt.Errorf("current-context %q: want a file that is there, outside of pods, "+
			"with a context that has a cluster with a server, as https://HOST:PORT", files.CurrentContext)
	case err != nil && strings.Contains(err.Error(), "proxy-url"): // with a password, maybe
		return nil, errors.New("proxy-url: want http://HOST:PORT")
	case err != nil:
		return nil, err
	}
	return connect(config)
}

// connect makes the client. It uses HTTP/1.1, so that no two requests share a connection: a dead
// connection fails only one request.
func connect(config *rest.Config) (*access, error) {
	// Otherwise a goroutine would watch the files, and nothing would end it.
	err := rest.LoadTLSFiles(config)
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &access{strings.TrimSuffix(config.Host, "/"), client}, nil
}

// send sends one request, and reads the whole response.
func (a *access) send(ctx context.Context, method, path string, body any) (response *http.Response, content []byte, err error) {
	if body != nil {
		content, _ = json.Marshal(body) // can't fail on such fields
	}
	r, err := http.NewRequestWithContext(ctx, method, a.server+path, bytes.NewReader(content))
	if err != nil {
		return nil, nil, swap.Unmade(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err = a.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(response.Body)
	return response, content, err
}
