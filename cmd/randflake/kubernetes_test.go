package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/randflake/randflake/lease"
)

// The parts of Kubernetes' objects that the manifest uses, and no others: decoding is strict.
type (
	object struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		StringData       map[string]string
		Spec             struct {
			BackoffLimit, Replicas int
			Selector               struct{ MatchLabels map[string]string }
			Template               struct {
				Metadata struct{ Labels map[string]string }
				Spec     pod
			}
		}
	}
	pod struct {
		RestartPolicy                 string
		TerminationGracePeriodSeconds int
		SecurityContext               struct {
			RunAsNonRoot       bool
			RunAsUser, FSGroup int
			SeccompProfile     struct{ Type string }
		}
		Containers []container
		Volumes    []struct {
			Name   string
			Secret struct {
				SecretName  string
				DefaultMode int
				Items       []struct{ Key, Path string }
			}
		}
	}
	container struct {
		Name, Image string
		Args        []string
		Env         []struct {
			Name, Value string
			ValueFrom   struct{ SecretKeyRef struct{ Name, Key string } }
		}
		VolumeMounts []struct {
			Name, MountPath string
			ReadOnly        bool
		}
		SecurityContext struct {
			AllowPrivilegeEscalation, ReadOnlyRootFilesystem bool
			Capabilities                                     struct{ Drop []string }
		}
		Ports []struct {
			Name          string
			ContainerPort int
		}
		StartupProbe, ReadinessProbe *probe
	}
	probe struct {
		HTTPGet                         struct{ Path, Port string }
		PeriodSeconds, FailureThreshold int
	}
)

func manifest(t *testing.T) map[string]object {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubernetes/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := make(map[string]object)
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var o object
		if err := yaml.UnmarshalStrict(document, &o); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		objects[o.Kind] = o
	}
	return objects
}

// TestManifest has what the parts of the manifest say of each other hold.
func TestManifest(t *testing.T) {
	objects := manifest(t)
	secret := objects["Secret"]
	for _, kind := range []string{"Job", "Deployment"} {
		spec := objects[kind].Spec.Template.Spec
		volume, c := spec.Volumes[0], spec.Containers[0]
		if volume.Secret.SecretName != secret.Metadata.Name || volume.Name != c.VolumeMounts[0].Name || volume.Secret.DefaultMode != 0o400 || spec.SecurityContext.FSGroup == 0 {
			t.Errorf("%s: %+v", kind, volume)
		}
		item := volume.Secret.Items[0]
		for _, variable := range c.Env {
			from := variable.ValueFrom.SecretKeyRef
			switch variable.Name {
			case storeVariable:
				if from.Name != secret.Metadata.Name || secret.StringData[from.Key] == "" {
					t.Errorf("%s: %+v", kind, variable)
				}
			case secretFileVariable:
				if variable.Value != filepath.Join(c.VolumeMounts[0].MountPath, item.Path) || secret.StringData[item.Key] == "" {
					t.Errorf("%s: %+v", kind, variable)
				}
			default:
				t.Errorf("%s: %s", kind, variable.Name)
			}
		}
		if len(c.Env) != 2 {
			t.Errorf("%s: %+v", kind, c.Env)
		}
	}
	service := objects["Deployment"].Spec
	c := service.Template.Spec.Containers[0]
	if service.Selector.MatchLabels["app"] != service.Template.Metadata.Labels["app"] || c.StartupProbe.HTTPGet.Port != c.Ports[0].Name ||
		c.ReadinessProbe.HTTPGet.Port != c.Ports[0].Name || c.StartupProbe.PeriodSeconds*c.StartupProbe.FailureThreshold <= 11*60 {
		t.Errorf("%+v", service)
	}
	guide, err := os.ReadFile("../../docs/leases.md")
	for _, p := range []*probe{c.StartupProbe, c.ReadinessProbe} {
		if err != nil || !strings.Contains(string(guide), `http.HandleFunc("`+p.HTTPGet.Path+`"`) {
			t.Errorf("docs/leases.md has no %s: %v", p.HTTPGet.Path, err)
		}
	}
}

// TestManifestJob runs the Job's command twice, as Kubernetes does when the node fails.
func TestManifestJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	succeed(t, "secret", "--output", file)
	t.Setenv(storeVariable, filepath.Join(t.TempDir(), "store"))
	t.Setenv(secretFileVariable, file)
	for _, want := range []string{"made a store", "already"} {
		if out := succeed(t, manifest(t)["Job"].Spec.Template.Spec.Containers[0].Args...); !strings.Contains(out, want) {
			t.Errorf("%q, want %q", out, want)
		}
	}
}

// TestAlerts has rules on metrics that there are.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../docs/kubernetes/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict(text, &rules); err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) == 0 {
		t.Fatalf("%+v, %v", rules, err)
	}
	var names []string
	for _, m := range (lease.Status{}).Metrics() {
		names = append(names, m.Name)
	}
	for _, name := range regexp.MustCompile(`randflake_\w+`).FindAllString(string(text), -1) {
		if !slices.Contains(names, name) {
			t.Errorf("no metric is named %s", name)
		}
	}
}
