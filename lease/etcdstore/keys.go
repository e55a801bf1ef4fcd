package etcdstore

import (
	"fmt"
	"math/bits"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// The keys of a store, all under its prefix:
//
//	meta                      rules, floor, lineage
//	range/<class>/<first>     one record; class is the size class of the range in two digits, first
//	                          its first node in six
//
// No key has an etcd lease, so none ever expires, and none is ever deleted.
type keys struct{ prefix string }

const (
	metaName  = "meta"
	rangeName = "range/"
	rangeEnd  = "range0" // sorts right after every key that starts with rangeName
)

// classes is the number of size classes. Class c holds the ranges of more than 2^(c-1) and up to
// 2^c nodes.
const classes = 18

func classOf(nodes int) int { return bits.Len(uint(nodes - 1)) }

func (k keys) meta() string { return k.prefix + metaName }

func (k keys) record(r lease.Record) string {
	return k.atNode(classOf(r.Nodes()), int(r.FirstNode))
}

func (k keys) atNode(class, node int) string {
	return fmt.Sprintf("%s%s%02d/%06d", k.prefix, rangeName, class, node)
}

// isRange reports whether the nodes of r are a range, which can have a record.
func isRange(r lease.Record) bool {
	return r.FirstNode <= r.LastNode && r.LastNode <= randflake.MaxNode
}

// noneNewer is the condition that no range was added since revision that shares a node with r,
// which shared none with any record at that revision.
//
// Ranges of other sizes have other keys, so that two clients may add different ranges with a node
// in common. One of class c that shares a node with r begins at its last node or before, and
// fewer than 2^c nodes before its first. That is one interval of keys for each class, and none of
// them may have been created since. An interval takes in few ranges that r does not touch, and
// none at all among ranges whose size is the same power of two: of clients that start at once and
// ask for as many nodes, only those are in each other's way that choose the same ones.
func (k keys) noneNewer(r lease.Record, revision int64) []clientv3.Cmp {
	conditions := make([]clientv3.Cmp, classes)
	for class := range conditions {
		from := max(0, int(r.FirstNode)-1<<class+1)
		interval := clientv3.CreateRevision(k.atNode(class, from)).WithRange(k.atNode(class, int(r.LastNode)+1))
		conditions[class] = clientv3.Compare(interval, "<", revision+1)
	}
	return conditions
}
