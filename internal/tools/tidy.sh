#!/bin/bash
# Checks that the go.mod of a command is tidy: internal/tools/tidy.sh DIR. A command replaces nothing, or nobody could install
# it, and go mod tidy does not heed go.work. So this is done on a copy that replaces the modules of this repository by what is
# in the checkout.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cp "$1/go.mod" "$1/go.sum" "$work"
for file in $(git ls-files --cached --others --exclude-standard go.mod '*/go.mod'); do
	dir=$PWD/$(dirname "$file")
	go mod edit -replace="$(sed -n 's/^module //p' "$file")=$dir" "$work/go.mod"
done
cd "$1"
GOWORK=off go mod tidy -diff -modfile="$work/go.mod"
