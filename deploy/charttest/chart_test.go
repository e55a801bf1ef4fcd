package charttest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	for file, want := range map[string]int{"tls-values.yaml": 6, "cert-manager-values.yaml": 11, "plaintext-values.yaml": 4} {
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

// TestMonitoring: alerts and dashboards are those of the chart's files.
func TestMonitoring(t *testing.T) {
	documents, _, err := render(t, "cert-manager-values.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := decode(documents)
	if err != nil {
		t.Fatal(err)
	}
	want := r.rules.Spec
	want.Groups = nil
	if text, err := os.ReadFile("../chart/alerts.yaml"); err != nil || yaml.UnmarshalStrict(text, &want) != nil || !reflect.DeepEqual(r.rules.Spec, want) {
		t.Errorf("alerts %+v, want those of alerts.yaml: %v", r.rules.Spec, err)
	}
	files, err := filepath.Glob("../chart/dashboards/*.json")
	if err != nil || len(files) == 0 || len(files) != len(r.dashboards.Data) {
		t.Errorf("%d dashboards of %d files: %v", len(r.dashboards.Data), len(files), err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(r.dashboards.Data[filepath.Base(file)]) != strings.TrimSpace(string(text)) {
			t.Errorf("%s is another one in the chart: %v", file, err)
		}
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

// TestManifest: the manifest of docs is of Kubernetes' types, hangs together, and shows no password.
func TestManifest(t *testing.T) {
	text, err := os.ReadFile("../../docs/kubernetes/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"maxSurge: 10%", "maxSruge: 10%", "unknown field"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"mountPath: /etc/randflake", "mountPath: /etc/other", "is not the Secret's"},
		{"secretName: randflake", "secretName: other", "is not the Secret's"},
		{"\n  store: postgres", "\n  url: postgres", "is not the Secret's"},
		{"value: /etc/randflake/store", "valueFrom: {secretKeyRef: {name: randflake, key: store}}", "is not the Secret's"},
		{"args: [lease, init", "args: [lease, init, --store, 'postgres://u:p@h/d'", "command line"},
		{"port: http", "port: https", "no port"},
		{"failureThreshold: 180", "failureThreshold: 100", "first lease"},
		{"path: /readyz", "path: /ready", "docs/kubernetes.md"},
		{"matchLabels:\n      app: orders", "matchLabels:\n      app: order", "selects"},
	} {
		changed := string(text)
		if c.old != "" {
			changed = strings.ReplaceAll(changed, c.old, c.new)
		}
		r, err := decode(strings.Split(changed, "\n---\n"))
		found := fmt.Sprint(err)
		if err == nil {
			found = strings.Join(append(r.manifest(), r.insecure()...), "\n")
		}
		if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%q for %q: found %q, want %q", c.new, c.old, found, c.want)
		}
	}
}

// manifest returns what does not fit together in the manifest of docs.
func (r *rendering) manifest() (found []string) {
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for name, pod := range map[string]core.PodSpec{"Job": r.job.Spec.Template.Spec, "Deployment": r.deployment.Spec.Template.Spec} {
		volume, c := pod.Volumes[0], pod.Containers[0]
		for _, e := range c.Env {
			if mount := c.VolumeMounts[0]; path.Dir(e.Value) != mount.MountPath || volume.Name != mount.Name || volume.Secret == nil ||
				volume.Secret.SecretName != r.secret.Name || r.secret.StringData[path.Base(e.Value)] == "" {
				wrong("%s: what %s names is not the Secret's", name, e.Name)
			}
		}
		if strings.Contains(strings.Join(append(c.Command, c.Args...), " "), "://") || len(c.Env) != 2 {
			wrong("%s: a URL is on the command line, or there is more in the environment: %v", name, c.Env)
		}
	}
	probe, on := r.deployment.Spec.Template.Spec.Containers[0].StartupProbe, r.deployment.Spec.Template
	if probe.PeriodSeconds*probe.FailureThreshold <= 11*60 {
		wrong("the startup probe does not wait for a first lease: %+v", probe)
	}
	if probe.HTTPGet.Port.StrVal != on.Spec.Containers[0].Ports[0].Name {
		wrong("no port is named %v", probe.HTTPGet.Port)
	}
	if page, err := os.ReadFile("../../docs/kubernetes.md"); err != nil || !strings.Contains(string(page), `http.HandleFunc("`+probe.HTTPGet.Path+`"`) {
		wrong("docs/kubernetes.md has no %s: %v", probe.HTTPGet.Path, err)
	}
	for _, selector := range []*meta.LabelSelector{r.deployment.Spec.Selector, r.budget.Spec.Selector} {
		if s, err := meta.LabelSelectorAsSelector(selector); err != nil || s.Empty() || !s.Matches(labels.Set(on.Labels)) {
			wrong("%v selects no pods", selector)
		}
	}
	return found
}
