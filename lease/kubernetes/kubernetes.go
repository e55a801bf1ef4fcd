// Package kubernetes is an engine for stores in a ConfigMap, by the API server of Kubernetes.
//
//	e, err := kubernetes.Connect(ctx, "kubernetes:namespace/name")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// # Access
//
// In a pod the engine acts as the pod's service account. Elsewhere, or with the parameter
// kubeconfig, it acts as the current context of a kubeconfig file: the one that the parameter
// names, or those that KUBECONFIG lists, or ~/.kube/config. A program that the file names (exec) is
// run for credentials, and a call waits for it even after its context ended. Account or user must be
// allowed to get and update this one ConfigMap, and for Prepare to create it.
//
// The cluster's authority (ca.crt) is read once: after it was replaced, start the program again.
//
// # ConfigMap
//
// All entries are in the key "entries" of the ConfigMap. A swap replaces the ConfigMap as a whole if its
// resourceVersion is the one that was read. Other tools must neither make nor change the ConfigMap.
//
// A ConfigMap holds a mebibyte. No space or counter is added if all could grow beyond three quarters
// of that, so that leases go on: it has 205 spaces, or about 2,000 counters. A new space has half a
// kilobyte, and may have almost four after some hours. While the API server is busy (429), calls
// wait for as long as Retry-After says.
//
// # Lineage and position
//
// The lineage is the UID of the ConfigMap and a random token. They change when the ConfigMap is
// made again, by a restore too. The position is the number of swaps, so a process that has seen
// newer data notices an older snapshot of etcd. If there is no such process, report the loss. The
// time is that of the Date header, to a second.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/net"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/backoff"
	"github.com/randflake/randflake/lease/internal/document"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in a ConfigMap. It implements [lease.Engine].
type Engine struct {
	*engine
	client *http.Client
}

type engine = document.Engine

// Close implements [lease.Engine].
func (e *Engine) Close() error {
	net.CloseIdleConnectionsFor(e.client.Transport)
	return e.engine.Close()
}

// Connect returns an engine for a URL. It reads files, and sends nothing yet.
func Connect(_ context.Context, url string) (*Engine, error) {
	p, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("kubernetes", err)
	}
	a, err := findAccess(p.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	return newEngine(a, p.namespace, p.name), nil
}

func newEngine(a *access, namespace, name string) *Engine {
	return &Engine{document.New(&configMap{a, namespace, name}, most), a.client}
}

// most is three quarters of a mebibyte. The rest is for what document doesn't count, such as long reasons of losses.
const most = 3 << 18

// Check finds what is wrong with a URL, as Connect does. It reads no file, and connects to nothing.
func Check(url string) error {
	_, err := parse(url)
	return storeurl.WrapError("kubernetes", err)
}

// form allows names of any length, and parse checks the length: counted repetitions would take a
// quarter of a megabyte.
var form = regexp.MustCompile(`^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$`)

// A place is what a URL says.
type place struct{ namespace, name, kubeconfig string }

// parse splits a URL.
func parse(raw string) (p place, err error) {
	u, query, err := storeurl.ParseURL(raw)
	if err != nil {
		return p, err
	}
	parts := form.FindStringSubmatch(u.Opaque)
	if u.Scheme != "kubernetes" || parts == nil || len(parts[1]) > 63 || len(parts[2]) > 253 {
		return p, errors.New("want kubernetes:NAMESPACE/NAME, the name of a ConfigMap")
	}
	p = place{namespace: parts[1], name: parts[2], kubeconfig: storeurl.TakeParameter(query, "kubeconfig")}
	return p, storeurl.CheckAllTaken(query, "kubeconfig")
}

// A configMap is the backend of an engine.
type configMap struct {
	access          *access
	namespace, name string
}

// An object is what the API server reads and writes. A put has the metadata as they came, with the resourceVersion.
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
func (c *configMap) Put(ctx context.Context, content []byte, tag string) (document.Document, error) {
	method := http.MethodPut
	path := "/" + c.name
	if tag == "" {
		method = http.MethodPost
		path = ""
		tag = fmt.Sprintf(`{"name":%q}`, c.name)
	}
	put := object{
		APIVersion: "v1",
		Kind:       "ConfigMap",
		Metadata:   json.RawMessage(tag),
		Data:       map[string]string{"entries": string(content)},
	}
	d, status, err := c.call(ctx, method, path, put)
	switch {
	case status == http.StatusConflict, status == http.StatusNotFound && method == http.MethodPut:
		return d, document.ErrChanged
	case document.ChangedNothing(status):
		return d, swap.Unmade(err)
	}
	if string(d.Content) != string(content) {
		d.Tag = "" // the answer is about another object, or one that was not put
	}
	return d, err
}

// call sends a request, and again as long as the server says that it is too busy to look at it. The number
// is the status of the answer, or 0 if there was none.
func (c *configMap) call(ctx context.Context, method, path string, body any) (document.Document, int, error) {
	path = fmt.Sprintf("/api/v1/namespaces/%s/configmaps%s?fieldManager=randflake", c.namespace, path)
	for {
		response, content, err := c.access.send(ctx, method, path, body)
		if err != nil {
			return document.Document{}, 0, err
		}
		if response.StatusCode != http.StatusTooManyRequests {
			d, err := configMapIn(response, content)
			return d, response.StatusCode, err
		}
		if err := wait(ctx, response.Header.Get("Retry-After")); err != nil {
			return document.Document{}, 0, swap.Unmade(fmt.Errorf("the API server is busy: %w", err))
		}
	}
}

// configMapIn returns the ConfigMap that a response has.
func configMapIn(response *http.Response, content []byte) (document.Document, error) {
	var got object
	err := json.Unmarshal(content, &got)
	if response.StatusCode/100 != 2 {
		return document.Document{}, fmt.Errorf("%s: %.300s", response.Status, got.Message)
	}
	var metadata struct{ UID, ResourceVersion string }
	err = errors.Join(err, json.Unmarshal(got.Metadata, &metadata))
	d := document.Document{Content: []byte(got.Data["entries"]), Lineage: metadata.UID}
	if metadata.ResourceVersion != "" { // without it a put would have no condition
		d.Tag = string(got.Metadata)
	}
	d.Date, _ = http.ParseTime(response.Header.Get("Date"))
	return d, err
}

// wait waits for as many seconds as the text says, at least one.
func wait(ctx context.Context, seconds string) error {
	n, _ := strconv.ParseUint(seconds, 10, 16)
	return backoff.Sleep(ctx, time.Duration(max(n, 1))*time.Second)
}

// String says where the ConfigMap is.
func (c *configMap) String() string {
	return fmt.Sprintf("kubernetes:%s/%s at %s", c.namespace, c.name, c.access.server)
}
