//go:build unix

// Command etcd runs etcd of one member in the directory that it is given, until its input ends, and says where. So tests
// of modules that do not require etcd's server can have one, and those under the race detector one without it.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/randflake/randflake/lab/etcd"
)

func main() {
	etcdtest.Main()
	cluster, err := etcdtest.New(os.Args[1], 1, nil)
	if err == nil {
		err = cluster.Start()
	}
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Kill()
	fmt.Println(cluster.Hosts())
	io.Copy(io.Discard, os.Stdin)
}
