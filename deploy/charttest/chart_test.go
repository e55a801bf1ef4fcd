package charttest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// render renders the chart as helm install does, with values of a file in chart/ci and more of them.
func render(t *testing.T, file, more string) (documents []string, notes string, err error) {
	t.Helper()
	c, err := loader.Load("../chart")
	if err != nil {
		t.Fatal(err)
	}
	values, over := map[string]any{}, map[string]any{}
	text, err := os.ReadFile(filepath.Join("../chart/ci", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(more), &over); err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: "ids", Namespace: "prod", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, chartutil.MergeTables(over, values), release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, "", err
	}
	rendered, err := engine.Render(c, all)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		switch text := strings.TrimSpace(rendered[name]); {
		case filepath.Ext(name) == ".txt":
			notes = text
		case filepath.Ext(name) == ".yaml" && text != "":
			documents = append(documents, text)
		}
	}
	return documents, notes, nil
}

// TestChart: what the chart makes of sets of values is of Kubernetes' types, hangs together, and is what randflaked takes.
func TestChart(t *testing.T) {
	randflaked := filepath.Join(t.TempDir(), "randflaked")
	build := exec.Command("go", "build", "-o", randflaked, "./cmd/randflaked")
	build.Dir = "../../service"
	build.Env = append(os.Environ(), "GOWORK=") // that of the checkout
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for file, want := range map[string]int{"tls-values.yaml": 6, "cert-manager-values.yaml": 9, "plaintext-values.yaml": 4} {
		t.Run(file, func(t *testing.T) {
			documents, notes, err := render(t, file, "")
			if err != nil {
				t.Fatal(err)
			}
			r, err := decode(documents)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range r.problems() {
				t.Error(problem)
			}
			if len(documents) != want {
				t.Errorf("%d documents, want %d", len(documents), want)
			}
			if !strings.Contains(notes, "://ids-randflaked.prod.svc:") && !strings.Contains(notes, "://ids-randflaked.prod:") || strings.Contains(notes, "%!") {
				t.Errorf("notes: %s", notes)
			}
			config := filepath.Join(t.TempDir(), "randflaked.yaml")
			if err := os.WriteFile(config, []byte(r.configuration()), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(randflaked, "check", "--offline", "--config", config).CombinedOutput(); err != nil || string(out) != "ok\n" {
				t.Errorf("randflaked check: %v: %s%s", err, out, r.configuration())
			}
		})
	}
}

// TestPlanted: faults that were put into what the chart made are found.
func TestPlanted(t *testing.T) {
	good, _, err := render(t, "cert-manager-values.yaml", "{tls: {clientCA: {secretName: clients}}, secrets: [orders]}")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"replicas: 3", "replica: 3", "unknown field"},
		{"replicas: 3", "replicas: three", "replicas"},
		{"- host: ids.example.com\n", "- hosts: ids.example.com\n", "unknown field"},
		{"port:\n                  name: https", "port:\n                  name: http", "Ingress"},
		{"    name: audit", "    name: other", "no volume"},
		{"targetPort: https", "targetPort: http", "no port"},
		{"- port: https\n    ", "- port: http\n    ", "no port"},
		{"name: secret-0\n              mountPath", "name: secret-1\n              mountPath", "no volume"},
		{"mountPath: /run/secrets/tls", "mountPath: /run/tls", "is not mounted"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "can be written"},
		{"name: GOMEMLIMIT", "name: GOMEMORY", "limit of memory"},
		{"terminationGracePeriodSeconds: 20", "terminationGracePeriodSeconds: 12", "seconds to end"},
		{"secretName: ids-randflaked-tls\n  issuerRef", "secretName: other\n  issuerRef", "no certificate"},
		{"team: ids", "team: a b", "labels"},
		{"unhealthyPodEvictionPolicy: AlwaysAllow\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: randflaked", "selector:\n    matchLabels:\n      app.kubernetes.io/name: other", "PodDisruptionBudget"},
	} {
		t.Run(c.new, func(t *testing.T) {
			documents := slices.Clone(good)
			found := 0
			for i, text := range documents {
				found += strings.Count(text, c.old)
				documents[i] = strings.Replace(text, c.old, c.new, 1)
			}
			if found == 0 {
				t.Fatalf("%q is not there to be replaced", c.old)
			}
			r, err := decode(documents)
			said := fmt.Sprint(err)
			if err == nil {
				said = strings.Join(r.problems(), "\n")
			}
			if !strings.Contains(said, c.want) {
				t.Errorf("found %q, want %q", said, c.want)
			}
		})
	}
}

// TestRefused: values that can't be meant are refused, with what to do.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"{replicas: 3}", "replicas"},
		{"{replicaCount: 0}", "minimum"},
		{"{image: {repository: ''}}", "image/repository"},
		{"{image: {digest: abc}}", "image/digest"},
		{"{config: {spaces: []}}", "minItems"},
		{"{config: {rules: []}}", "minItems"},
		{"{config: {listen: ':1'}}", "listen"},
		{"{config: {metrics: {}}}", "metrics"},
		{"{config: {tracing: {}}}", "tracing"},
		{"{config: {logLevel: loud}}", "logLevel"},
		{"{autoscaling: {max: 3}}", "max"},
		{"{ingress: {host: 'http://ids'}}", "ingress/host"},
		{"{config: {spaces: [{name: a, kind: twitter, store: 'file:/var/lib/a'}]}}", "store"},
		{"{config: {spaces: [{name: a, kind: twitter, store: 'postgres://me:word@db/ids'}]}}", "config.spaces[0].store: it has a password"},
		{"{config: {spaces: [{name: a, kind: twitter, store: 'postgres://db/ids?user=me&password=word'}]}}", "config.spaces[0].store: it has a password"},
		{"{secrets: [shop]}", "config.spaces[0].secretFile: /run/secrets/randflaked/orders/secret: want"},
		{"{secrets: [shop, shop]}", "secrets"},
		{"{tls: {secretName: ''}}", "tls: want one of"},
		{"{plaintext: true}", "tls: want one of"},
		{"{plaintext: true, tls: {secretName: ''}}", "tls.clientCA: nobody shows"},
		{"{tls: {certManager: {issuerRef: {kind: Issuer}}}}", "issuerRef"},
		{"{podDisruptionBudget: {maxUnavailable: 0}}", "maxUnavailable"},
		{"{service: {port: 0}}", "service/port"},
	} {
		_, _, err := render(t, "tls-values.yaml", c.values)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.values, err, c.want)
		} else if strings.Contains(err.Error(), ":word@") {
			t.Errorf("%s: the error has the password", c.values)
		}
	}
}

// TestManifest: the manifest of docs is of Kubernetes' types.
func TestManifest(t *testing.T) {
	text, err := os.ReadFile("../../docs/kubernetes/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		documents = append(documents, string(document))
	}
	r, err := decode(documents)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range r.insecure() {
		t.Error(problem)
	}
}
