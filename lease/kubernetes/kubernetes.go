// Package kubernetes keeps a store in a ConfigMap, by the API server of Kubernetes.
//
//	e, err := kubernetes.Connect(ctx, "kubernetes:namespace/name")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// In a pod it acts as the pod's service account, elsewhere as the current context of the kubeconfig file that the parameter
// kubeconfig names, or KUBECONFIG, or ~/.kube/config. That user needs a token or a client certificate: programs that fetch
// credentials are not run. It must be allowed to get and update this one ConfigMap; Prepare also needs to create one.
//
// All entries are in the key "entries" of the ConfigMap, which a swap replaces as a whole if its resourceVersion is the one that
// was read. A ConfigMap holds a mebibyte, so this suits a thousand counters; when three quarters are full, no counter or space is
// added, so that leases go on. It must not be made, or changed, by other tools. While the API server is busy (429), calls wait for
// as long as Retry-After says.
//
// Time is that of the Date header, to a second. Lineage is the UID of the ConfigMap and a random token, which change when the
// ConfigMap is made again, by a restore too. Position is the number of swaps, so a process that has seen newer data
// notices an older snapshot of etcd. Otherwise report the loss.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/document"
	"github.com/randflake/randflake/lease/internal/storeurl"
)

// An Engine keeps entries in a ConfigMap. It implements [lease.Engine].
type Engine struct {
	*document.Engine
	client *http.Client
}

// Close implements [lease.Engine].
func (e *Engine) Close() error {
	e.client.CloseIdleConnections()
	return e.Engine.Close()
}

// Connect returns an engine for a URL. It reads files, and sends nothing yet.
func Connect(_ context.Context, url string) (*Engine, error) {
	namespace, name, kubeconfig, err := parse(url)
	if err != nil {
		return nil, err
	}
	a, err := findAccess(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	return newEngine(a, namespace, name), nil
}

func newEngine(a *access, namespace, name string) *Engine {
	return &Engine{document.New(&configMap{a, namespace, name}, most), a.client}
}

const most = 3 << 18 // bytes of a ConfigMap's mebibyte

// Check finds what is wrong with a URL, as Connect does. It reads no file, and connects to nothing.
func Check(url string) error {
	_, _, _, err := parse(url)
	return err
}

// form allows names of any length, as counted repetitions would take a quarter of a megabyte.
var form = regexp.MustCompile(`^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$`)

func parse(raw string) (namespace, name, kubeconfig string, err error) {
	u, query, err := storeurl.ParseURL(raw)
	if err != nil {
		return "", "", "", fmt.Errorf("kubernetes: %w", err)
	}
	parts := form.FindStringSubmatch(u.Opaque)
	if u.Scheme != "kubernetes" || parts == nil || len(parts[1]) > 63 || len(parts[2]) > 253 {
		return "", "", "", errors.New("kubernetes: URL: want kubernetes:NAMESPACE/NAME, the name of a ConfigMap")
	}
	kubeconfig = storeurl.Take(query, "kubeconfig")
	for name := range query {
		return "", "", "", fmt.Errorf("kubernetes: URL: %w", storeurl.Unknown(name, "kubeconfig"))
	}
	return parts[1], parts[2], kubeconfig, nil
}

// A configMap is the backend of an engine.
type configMap struct {
	access          *access
	namespace, name string
}

// An object is what the API server reads and writes. The metadata, with the resourceVersion, go back as they came.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   json.RawMessage   `json:"metadata"`
	Data       map[string]string `json:"data"`
	Message    string            `json:"message,omitempty"` // of an error
}

// Check implements [document.Backend]: every API server compares resourceVersions.
func (c *configMap) Check(context.Context) error { return nil }

// Get implements [document.Backend].
func (c *configMap) Get(ctx context.Context) (document.Document, error) {
	d, status, err := c.call(ctx, http.MethodGet, "/"+c.name, nil)
	if status == http.StatusNotFound {
		err = fmt.Errorf("%w: %w", lease.ErrNoSpace, err)
	}
	return d, err
}

// Put implements [document.Backend].
func (c *configMap) Put(ctx context.Context, content []byte, version string) (document.Document, error) {
	method, path := http.MethodPut, "/"+c.name
	if version == "" {
		method, path, version = http.MethodPost, "", fmt.Sprintf(`{"name":%q}`, c.name)
	}
	d, status, err := c.call(ctx, method, path, object{
		APIVersion: "v1", Kind: "ConfigMap", Metadata: json.RawMessage(version), Data: map[string]string{"entries": string(content)},
	})
	if status == http.StatusConflict || status == http.StatusNotFound && method == http.MethodPut {
		return d, document.ErrChanged
	}
	if string(d.Content) != string(content) {
		d.Version = "" // as another object's, or one that was not put
	}
	return d, err
}

// call sends a request once, or again after the server said that it was too busy to look at it.
func (c *configMap) call(ctx context.Context, method, path string, body any) (d document.Document, status int, err error) {
	path = fmt.Sprintf("/api/v1/namespaces/%s/configmaps%s?fieldManager=randflake", c.namespace, path)
	for {
		answer, err := c.access.send(ctx, method, path, body)
		if err != nil {
			return d, 0, err
		}
		content, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return d, 0, err
		}
		var got object
		if answer.StatusCode == http.StatusTooManyRequests {
			if err := wait(ctx, answer.Header.Get("Retry-After")); err != nil {
				return d, 0, fmt.Errorf("the API server is busy: %w", err)
			}
			continue
		}
		err = json.Unmarshal(content, &got)
		if answer.StatusCode/100 != 2 {
			return d, answer.StatusCode, fmt.Errorf("%s: %.300s", answer.Status, got.Message)
		}
		var metadata struct{ UID, ResourceVersion string }
		err = errors.Join(err, json.Unmarshal(got.Metadata, &metadata))
		d = document.Document{Content: []byte(got.Data["entries"]), Lineage: metadata.UID}
		if metadata.ResourceVersion != "" { // without one, the next request would put the content unconditionally
			d.Version = string(got.Metadata)
		}
		d.Date, _ = http.ParseTime(answer.Header.Get("Date"))
		return d, answer.StatusCode, err
	}
}

// wait waits for so many seconds, at least one.
func wait(ctx context.Context, seconds string) error {
	n, _ := strconv.ParseUint(seconds, 10, 16)
	select {
	case <-time.After(time.Duration(max(n, 1)) * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// String says where the ConfigMap is.
func (c *configMap) String() string {
	return fmt.Sprintf("kubernetes:%s/%s at %s", c.namespace, c.name, c.access.server)
}
