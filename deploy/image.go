package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is whom the program runs as, by number, so that Kubernetes can see that it is not root.
const user = 65532

// A file is one of an image; its name ends in a slash where it is a directory.
type file struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

// ground is what the program finds in an image: there is no other one below.
func ground() []file {
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nrandflaked:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nrandflaked:x:65532:65532:randflaked:/var/lib/randflaked:/sbin/nologin\n")},
		{name: "etc/randflaked/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities()},
		{name: "run/", mode: 0o755},
		{name: "run/secrets/", mode: 0o755},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: "var/lib/randflaked/", mode: 0o700, owner: user}, // a volume that is new takes this over
	}
}

// authorities are those that Mozilla trusts without reservations, which a file can't express.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// layer packs files. The same files are the same bytes at any time.
func layer(files ...file) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}

// image returns that of one architecture.
func image(arch string, programs []program, labels map[string]string) (v1.Image, error) {
	below, err := layer(ground()...)
	if err != nil {
		return nil, err
	}
	layers := []v1.Layer{below}
	for _, p := range programs {
		if p.arch != arch {
			continue
		}
		above, err := layer(file{name: p.name, mode: 0o755, content: p.content})
		if err != nil {
			return nil, err
		}
		layers = append(layers, above)
	}
	made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if made, err = mutate.AppendLayers(made, layers...); err != nil {
		return nil, err
	}
	has, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := has.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: time.Unix(0, 0).UTC()}
	config.Config = v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/randflaked"},
		Cmd:          []string{"--config", "/etc/randflaked/randflaked.yaml"},
		WorkingDir:   "/",
		ExposedPorts: map[string]struct{}{"8443/tcp": {}},
		Labels:       labels,
		StopSignal:   "SIGTERM",
	}
	return mutate.ConfigFile(made, config)
}

// index returns the images of all architectures together.
func index(archs []string, programs []program, version string) (v1.ImageIndex, error) {
	labels := map[string]string{
		"org.opencontainers.image.title":       "randflaked",
		"org.opencontainers.image.description": "Leases, IDs and counters over the network",
		"org.opencontainers.image.source":      "https://github.com/randflake/randflake",
		"org.opencontainers.image.licenses":    "MIT",
		"org.opencontainers.image.version":     version,
	}
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range archs {
		one, err := image(arch, programs, labels)
		if err != nil {
			return nil, err
		}
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return mutate.Annotations(all, labels).(v1.ImageIndex), nil
}
