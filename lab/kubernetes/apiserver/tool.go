//go:build tool

// Package apiserver has the versions that kube-apiserver is built from: its own module replaces
// others, so it can't be installed.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
