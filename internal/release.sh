#!/usr/bin/env bash
# Prepares a release in this checkout, and publishes nothing: internal/release.sh v0.1.0. All modules, clients and the chart get the same
# version: every go.mod requires it of the others, the pages say how to get it, and the changelog's unreleased part gets a heading. It
# prints the tags that are left to make. Before it changes anything it refuses a version that there is.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-}
own=github.com/randflake/randflake
fail() { echo "release.sh: $*" >&2; exit 1; }

[[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "version \"$version\": want one as v0.1.0, of major version 0 or 1"
[ "$(grep -cx '## Unreleased' CHANGELOG.md)" = 1 ] || fail "CHANGELOG.md: want one line \"## Unreleased\", with what is new below it"
! grep -qF "## $version," CHANGELOG.md || fail "CHANGELOG.md has a heading for $version"
[ -z "$(git tag --list "$version" "*/$version")" ] || fail "there are tags of $version: $(git tag --list "$version" "*/$version" | tr '\n' ' ')"
! grep -l '^replace' cmd/*/go.mod service/go.mod || fail "nobody can install a program whose go.mod replaces modules: go.work is enough for a clone"

files=$(git ls-files --cached --others --exclude-standard go.mod '*/go.mod')
# What libraries replace stays: it counts in a clone alone.
sed -i -E "s#^((require)?[[:space:]]+$own(/[^ ]+)?) v[^ ]+#\1 $version#" $files
sed -i -E "s#^([[:space:]]+$own[^ ]*) v[^ ]+ =>#\1 $version =>#" go.work
sed -i "s/^## Unreleased\$/&\n\n## $version, $(date -u +%F)/" CHANGELOG.md

# The clients and the chart.
number=${version#v}
sed -i -E "s/^(version|appVersion): .*/\1: $number/" service/deploy/chart/Chart.yaml
sed -i -E "s#(kubernetes.io/version: \").*\"#\1$number\"#; s#(chart: randflaked-).*#\1$number#" service/deploy/chart/ci/*.golden
cd service/clients
sed -i "s/^version = .*/version = \"$number\"/" python/pyproject.toml
sed -i "0,/\"version\":/s/\"version\": .*/\"version\": \"$number\",/" typescript/package.json
sed -i "1,10s/\"version\": .*/\"version\": \"$number\",/" typescript/package-lock.json
sed -i "0,/<version>/s#<version>.*<#<version>$number<#" java/pom.xml
sed -i -E "s#(<version>|client-)[0-9][^<]*(<|\.tgz)#\1$number\2#" java/README.md typescript/README.md
cd ../..

# What the first release makes of the pages, and what each one does.
pages="README.md docs/leases.md docs/service.md"
block='```sh\n[^`]*```'
sed -i -zE "s#not released yet; names and formats may still change\.#[$version](CHANGELOG.md).#
	s#, until there is a release:\n\n$block#:\n\n\`\`\`sh\ngo get $own@$version\n\`\`\`#
	s#In a clone, \`go install ./cmd/randflake\`#\`go install $own/cmd/randflake@$version\`#" README.md
sed -i -zE "s#Until there is a release, [^:]*:\n\n$block#Most engines are modules of their own:\n\n\`\`\`sh\ngo get $own/lease/url@$version\n\`\`\`#" docs/leases.md
sed -i -zE "s#In a clone \(after a release[^)]*\), with#With#
	s#\ngo install ./service/cmd/randflaked\n#\ngo install $own/service/cmd/randflaked@$version\n#" docs/service.md
sed -i -E "s#($own[^ @]*@|State:\*\* \[)v[0-9][^] \`]*#\1$version#" $pages
! grep -niE 'not released yet|(until|before|after) (there is )?a release' $pages || fail "these sentences are not what it replaces: git checkout ."

echo "Look at the difference, run make test, make check and make lint, commit, tag that commit, and push it with its tags:"
for file in $files; do
	case $file in
	bench/*|lab/*|examples/*) ;; # nobody installs these
	go.mod) echo "git tag $version" ;;
	*) echo "git tag ${file%/go.mod}/$version" ;;
	esac
done
