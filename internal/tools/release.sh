#!/usr/bin/env bash
# Prepares a release in this checkout, and publishes nothing: internal/tools/release.sh v0.1.0
#
# All modules, clients and the chart get the same version: every go.mod requires it of the others, the pages say how to
# get it, and the changelog's unreleased part gets a heading. It prints the commands that are left.
#
# It refuses a checkout with other changes, and a version that is not new, before it changes anything. If a page lacks a
# marker it fails later: git checkout . takes back what it did.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-}
number=${version#v}
own=github.com/randflake/randflake
files=$(git ls-files go.mod '*/go.mod')

fail() { echo "release.sh: $*" >&2; exit 1; }

check_version() {
	# What Go, Python, npm, Maven and Helm all read as a version.
	local n='(0|[1-9][0-9]*)' tags
	[[ $version =~ ^v[01]\.$n\.$n(-(alpha|beta|rc)\.$n)?$ ]] ||
		fail "version \"$version\": want one as v0.1.0 or v0.1.0-rc.1, of major version 0 or 1"
	tags=$(git tag --list "$version" "*/$version" | tr '\n' ' ')
	[ -z "$tags" ] || fail "there are tags of $version: $tags"
	newest=$(sed -n '/^## v/ { s/^## \(.*\),.*/\1/p; q }' CHANGELOG.md)
	# sort puts ~ before the end of a line: v0.1.0~rc.1 comes before v0.1.0.
	printf '%s\n' "$newest" "$version" | tr - '~' | sort --version-sort --check=quiet --unique ||
		fail "CHANGELOG.md has $newest: want a later version than that"
}

check_checkout() {
	git symbolic-ref --quiet HEAD >/dev/null ||
		fail "no branch is checked out, so that nobody would find the commit: git switch main"
	[ -z "$(git status --porcelain)" ] || fail "the checkout has changes, which the release would have too: commit or stash them"
	[ "$(grep -cx '## Unreleased' CHANGELOG.md)" = 1 ] ||
		fail "CHANGELOG.md: want one line \"## Unreleased\", with what is new below it"
	[ -n "$(sed '1,/^## Unreleased$/d; /^## /,$d' CHANGELOG.md)" ] ||
		fail "CHANGELOG.md says nothing below \"## Unreleased\": want what is new"
	! grep -l '^replace' cmd/*/go.mod service/go.mod ||
		fail "nobody can install a program whose go.mod replaces modules: go.work is enough for a clone"
}

set_versions() {
	# What libraries replace stays: it counts in a clone alone.
	sed -i -E "s#^((require)?[[:space:]]+$own(/[^ ]+)?) v[^ ]+#\1 $version#" $files
	sed -i -E "s#^([[:space:]]+$own[^ ]*) v[^ ]+ =>#\1 $version =>#" go.work
	sed -i "s/^## Unreleased\$/&\n\n## $version, $(date -u +%F)/" CHANGELOG.md
}

set_clients_and_chart() {
	sed -i -E "s/^(version|appVersion): .*/\1: $number/" service/deploy/chart/Chart.yaml
	sed -i -E "s#(kubernetes.io/version: \").*\"#\1$number\"#; s#(chart: randflaked-).*#\1$number#" service/deploy/chart/ci/*.golden
	cd service/clients
	sed -i "s/^version = .*/version = \"$number\"/" python/pyproject.toml
	sed -i "0,/\"version\":/s/\"version\": .*/\"version\": \"$number\",/" typescript/package.json
	sed -i "1,10s/\"version\": .*/\"version\": \"$number\",/" typescript/package-lock.json
	sed -i "0,/<version>/s#<version>.*<#<version>$number<#" java/pom.xml
	sed -i -E "s#(<version>|client-)[0-9][^<]*(<|\.tgz)#\1$number\2#" java/README.md typescript/README.md
	cd ../..
}

# put PAGE NAME TEXT puts a text, in which \n is a new line, in place of what is between the markers of that name.
put() {
	local page begin="<!--release.sh:$2-->" end="<!--/release.sh:$2-->"
	page=$(cat "$1")
	[[ $page = *"$begin"*"$end"* ]] || fail "$1 has no text between $begin and $end: git checkout ."
	printf '%s%b%s\n' "${page%%"$begin"*}$begin" "$3" "$end${page#*"$end"}" >"$1"
}

# The first release takes away what the pages say of the time before it.
set_pages() {
	local fence='```'
	put README.md state "[$version](CHANGELOG.md)."
	put README.md get ":\n\n${fence}sh\ngo get $own@$version\n$fence\n"
	put README.md command "\`go install $own/cmd/randflake@$version\`"
	put docs/leases.md get ":\n\n${fence}sh\ngo get $own/lease/url@$version\n$fence\n"
	put docs/service.md get ""
	sed -i "s#^go install .*service/cmd/randflaked.*#go install $own/service/cmd/randflaked@$version#" docs/service.md
	! grep -niE 'not released yet|(until|before|after) (there is )?a release' README.md docs/leases.md docs/service.md ||
		fail "these sentences are of the time before a release, and outside of markers: git checkout ."
}

print_steps() {
	local tags=() file
	for file in $files; do
		case $file in
		go.mod|bench/*|lab/*|examples/*) ;; # the root is last, and nobody installs the others
		*) tags+=("${file%/go.mod}/$version") ;;
		esac
	done
	echo "Look at the difference, run make test, make check and make lint, and commit. Then, on that commit:"
	printf 'git tag %s\n' "${tags[@]}" "$version"
	echo "git push --atomic origin HEAD ${tags[*]}"
	echo "git push origin $version"
	echo "The last tag starts the workflow. It goes alone, as GitHub starts none when more than three come at once."
	! grep -q 'No release has tried' SECURITY.md ||
		echo "Then try the steps of SECURITY.md, and take away its sentence that no release has."
}

check_version
check_checkout
set_versions
set_clients_and_chart
set_pages
print_steps
