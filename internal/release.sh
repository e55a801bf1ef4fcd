#!/usr/bin/env bash
# Prepares a release in this checkout, and publishes nothing: internal/release.sh v0.1.0. All modules get the same version: every go.mod
# requires it of the others, and the changelog's unreleased part gets a heading. It prints the tags that are left to make.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-} own=github.com/randflake/randflake
[[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "version \"$version\": want one as v0.1.0, of major version 0 or 1" >&2; exit 1; }
[ "$(grep -cx '## Unreleased' CHANGELOG.md)" = 1 ] || { echo "CHANGELOG.md: want one line \"## Unreleased\", with what is new below it" >&2; exit 1; }
! grep -l '^replace' cmd/*/go.mod service/go.mod || { echo "nobody can install a program whose go.mod replaces modules: go.work is enough for a clone" >&2; exit 1; }
files=$(git ls-files --cached --others --exclude-standard go.mod '*/go.mod')
# What libraries replace stays: it counts in a clone alone.
sed -i -E "s#^((require)?[[:space:]]+$own(/[^ ]+)?) v[^ ]+#\1 $version#" $files
sed -i "s/^## Unreleased\$/&\n\n## $version, $(date -u +%F)/" CHANGELOG.md
echo "Look at the difference, run make test, make check and make lint, commit, tag that commit, and push it with its tags:"
for file in $files; do
	case $file in
	bench/*|lab/*|chaos/*|compat/upstream/*|examples/*|*/s3test/*|*/browsertest/*) ;; # nobody installs these
	go.mod) echo "git tag $version" ;;
	*) echo "git tag ${file%/go.mod}/$version" ;;
	esac
done
