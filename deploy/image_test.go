package main

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// archs are those for which the tests build the program: this machine's, as the others take minutes from an empty cache.
func archs() []string {
	if all := os.Getenv("RANDFLAKE_ARCHS"); all != "" {
		return strings.Split(all, ",")
	}
	return []string{runtime.GOARCH}
}

// written is the layout of this checkout.
var written = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(scratch, "image")
	_, err = write(dir, "..", "v1", archs())
	return dir, err
})

// executable returns the program of the image, for this machine.
func executable(t *testing.T) string {
	t.Helper()
	return filepath.Join(unpacked(t), "randflaked")
}

var unpack = sync.OnceValues(func() (string, error) {
	root := filepath.Join(scratch, "root")
	dir, err := written()
	if err != nil {
		return "", err
	}
	all, err := read(dir)
	if err != nil {
		return "", err
	}
	list, err := all.IndexManifest()
	if err != nil {
		return "", err
	}
	here := slices.IndexFunc(list.Manifests, func(d v1.Descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	image, err := all.Image(list.Manifests[here].Digest)
	if err != nil {
		return "", err
	}
	layers, err := image.Layers()
	if err != nil {
		return "", err
	}
	for _, layer := range layers {
		if err := extract(layer, root); err != nil {
			return "", err
		}
	}
	return root, nil
})

func unpacked(t *testing.T) string {
	t.Helper()
	root, err := unpack()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// extract puts the files of a layer below root, and its owners to them where this is root.
func extract(layer v1.Layer, root string) error {
	content, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer content.Close()
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		to := filepath.Join(root, h.Name)
		if h.FileInfo().IsDir() {
			err = os.Mkdir(to, h.FileInfo().Mode())
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, b, h.FileInfo().Mode())
			}
		}
		if err == nil && os.Getuid() == 0 {
			err = os.Chown(to, h.Uid, h.Gid)
		}
		if err != nil {
			return err
		}
	}
}

// TestSameDigest: the image of another checkout, at another path and with other things in the environment, is the same.
func TestSameDigest(t *testing.T) {
	dir, err := written()
	if err != nil {
		t.Fatal(err)
	}
	first, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("GOAMD64", "v3")
	var out bytes.Buffer
	other := filepath.Join(t.TempDir(), "layout")
	args := []string{"image", "-to", other, "-root", checkout(t), "-version", "v1", "-arch", strings.Join(archs(), ",")}
	if err := run(args, &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want.String()+"\n" {
		t.Errorf("digest %s, want %s", &out, want)
	}
	second, err := read(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(second); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*program){"version": nil, "program": func(p *program) { p.content = append(p.content, 0) }} {
		p, version := program{"randflaked", "amd64", []byte("program")}, "v2"
		if change != nil {
			change(&p)
			version = "v1"
		}
		changed, err := index([]string{"amd64"}, []program{p}, version)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := index([]string{"amd64"}, []program{{"randflaked", "amd64", []byte("program")}}, "v1")
		if err != nil {
			t.Fatal(err)
		}
		a, _ := changed.Digest()
		if b, _ := plain.Digest(); a == b {
			t.Errorf("another %s does not change the digest", name)
		}
	}
}

// checkout copies what git knows of this one to another place.
func checkout(t *testing.T) string {
	t.Helper()
	listed, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted, not yet in git
		}
		to := filepath.Join(root, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestPrograms: the image has the service, which knows its version, and the command with the clients of all stores.
func TestPrograms(t *testing.T) {
	for name, want := range map[string]string{"randflaked": "randflaked v1 ", "randflake": "servers   this program"} {
		if out, err := exec.Command(filepath.Join(unpacked(t), name), "version").CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s version: %s, error %v, want %q", name, out, err, want)
		}
	}
}

// TestPush: what was pushed to a registry comes from there as it was, for each platform.
func TestPush(t *testing.T) {
	made, err := index([]string{"amd64", "arm64"}, []program{{"randflaked", "amd64", []byte("one")}, {"randflaked", "arm64", []byte("another")}}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	want, err := made.Digest()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	if err := store(dir, made, "v1"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://") + "/ids/randflaked:v1"
	var out bytes.Buffer
	if err := run([]string{"push", "-from", dir, at}, &out); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := got.Digest(); digest != want || err != nil || out.String() != want.String()+"\n" {
		t.Errorf("digest %s, error %v, want %s", digest, err, want)
	}
	if err := validate.Index(got); err != nil {
		t.Error(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Architecture != arch || config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != "v1" {
			t.Errorf("%s: %+v, error %v", arch, config, err)
		}
	}
}

// TestUsage: what can't be meant is refused, and nothing is removed that image did not write.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"want image or push":       nil,
		`"pull": want`:             {"pull"},
		"want one as registry":     {"push", "-from", dir, "randflaked"},
		"index.json":               {"push", "-from", dir, "registry.example.com/randflaked:v1"},
		"has other things in it":   {"image", "-to", dir, "-root", "nowhere"},
		"-unknown":                 {"image", "-unknown"},
		"for nonsense":             {"image", "-to", filepath.Join(dir, "new"), "-arch", "nonsense"},
		"unexpected argument more": {"image", "more"},
	} {
		if err := run(args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}
