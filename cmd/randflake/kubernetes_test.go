package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestManifestJob runs the Job's command twice, as Kubernetes does when the node fails, on the Secret's files.
func TestManifestJob(t *testing.T) {
	text, err := os.ReadFile("../../docs/kubernetes/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Args []string
						Env  []struct{ Name, Value string }
					}
				}
			}
		}
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if bytes.Contains(document, []byte("\nkind: Job\n")) {
			err = yaml.Unmarshal(document, &job)
		}
	}
	if err != nil || len(job.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("%+v, %v", job, err)
	}
	mounted, init := t.TempDir(), job.Spec.Template.Spec.Containers[0]
	for _, variable := range init.Env {
		t.Setenv(variable.Name, filepath.Join(mounted, filepath.Base(variable.Value)))
	}
	succeed(t, "secret", "--output", filepath.Join(mounted, "secret"))
	if err := os.WriteFile(filepath.Join(mounted, "store"), []byte(filepath.Join(t.TempDir(), "store")+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"made a store", "already"} {
		if out := succeed(t, init.Args...); !strings.Contains(out, want) {
			t.Errorf("%q, want %q", out, want)
		}
	}
}
