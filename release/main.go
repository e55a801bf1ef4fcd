// Command release prepares a release in the checkout that it is called in, and publishes nothing:
//
//	cd release && go run . v0.1.0
//
// All modules that users install get the same version. It requires that version in every go.mod, gives the
// changelog's unreleased part a heading, and prints what is left to do, the tags among it.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run . VERSION, such as v0.1.0, in the directory release of a checkout")
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	version := flag.Arg(0)
	all, err := prepare("..", version, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Every go.mod requires %s, and CHANGELOG.md has it. Look at the difference, run make test, make check and make lint,\ncommit, tag that commit, and push it with its tags:\n\n", version)
	for _, m := range all {
		if m.released() {
			fmt.Printf("git tag %s\n", m.tag(version))
		}
	}
}
