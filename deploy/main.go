// Command deploy makes the image of randflaked, without Docker, and brings it to a registry.
//
//	go run . image -to DIR           writes an OCI layout
//	go run . push -from DIR NAME     NAME as registry.example.com/randflaked:v1
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

// run does what the arguments say, and writes the digest.
func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("want image or push")
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	var digest v1.Hash
	var err error
	switch args[0] {
	case "image":
		to := set.String("to", "../dist/image", "`directory` for the layout, which is replaced")
		root := set.String("root", "..", "`directory` of the checkout")
		version := set.String("version", "dev", "what the image's labels say")
		archs := set.String("arch", "amd64,arm64", "architectures")
		if err := set.Parse(args[1:]); err != nil {
			return err
		}
		if set.NArg() > 0 {
			return fmt.Errorf("image: unexpected argument %s", set.Arg(0))
		}
		digest, err = write(*to, *root, *version, strings.Split(*archs, ","))
	case "push":
		from := set.String("from", "../dist/image", "`directory` of the layout")
		if err := set.Parse(args[1:]); err != nil {
			return err
		}
		digest, err = push(*from, set.Arg(0))
	default:
		return fmt.Errorf("%q: want image or push", args[0])
	}
	if err == nil {
		_, err = fmt.Fprintln(out, digest)
	}
	return err
}

// write makes an image of the checkout at root, and puts it into a directory.
func write(to, root, version string, archs []string) (v1.Hash, error) {
	if err := vacant(to); err != nil {
		return v1.Hash{}, err
	}
	var programs []program
	for _, arch := range archs {
		for _, name := range slices.Sorted(maps.Keys(sources)) {
			p, err := build(root, name, arch, version)
			if err != nil {
				return v1.Hash{}, err
			}
			programs = append(programs, p)
		}
	}
	made, err := index(archs, programs, version)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := store(to, made, version); err != nil {
		return v1.Hash{}, err
	}
	return made.Digest()
}

// vacant removes what store put into a directory, and says so when there are other things in it.
func vacant(dir string) error {
	if _, err := read(dir); err == nil {
		return os.RemoveAll(dir)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		return fmt.Errorf("image: %s has other things in it: want an empty directory, or one that image wrote", dir)
	}
	return nil
}

// store puts an image into a directory.
func store(to string, made v1.ImageIndex, version string) error {
	path, err := layout.Write(to, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(made, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}))
}

// read returns what store put into a directory.
func read(from string) (v1.ImageIndex, error) {
	all, err := layout.ImageIndexFromPath(from)
	if err != nil {
		return nil, err
	}
	list, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(list.Manifests) != 1 {
		return nil, fmt.Errorf("%s: has %d images: want a directory that image wrote", from, len(list.Manifests))
	}
	return all.ImageIndex(list.Manifests[0].Digest)
}

// push brings an image to the registry in its name, as the user who logged in there with docker or podman.
func push(from, to string) (v1.Hash, error) {
	target, err := name.ParseReference(to, name.StrictValidation)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("push: %w: want one as registry.example.com/randflaked:v1", err)
	}
	made, err := read(from)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := remote.WriteIndex(target, made, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return v1.Hash{}, err
	}
	return made.Digest()
}
