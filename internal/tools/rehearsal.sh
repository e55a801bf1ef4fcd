#!/usr/bin/env bash
# Rehearses a release of HEAD, as its users will meet it: with an empty module cache, and a proxy of files that has the tagged modules, it does in
# empty folders what the pages say. The go command's usual proxy has the modules of others. HELM, in the environment, is a helm.
set -euo pipefail
cd "$(dirname "$0")/../.."
own=github.com/randflake/randflake
version=v0.1.0
if newest=$(grep -m 1 -oE '^## v[0-9]+\.[0-9]+\.[0-9]+' CHANGELOG.md); then
	version=${newest#* }
	version=${version%.*}.$((${version##*.} + 1))
fi
printed=$(sed 's/^v//; s/\./\\./g' <<<"$version") # by programs, as a pattern

work=$(mktemp -d)
chmod 755 "$work" # PostgreSQL's user passes through
clone=$work/clone
end() {
	[ -z "${service:-}" ] || kill "$service" || true
	[ ! -e "$work/postgres/postmaster.pid" ] || as_postgres "$postgres/pg_ctl" -D "$work/postgres" -m immediate stop >/dev/null || true
	rm -rf "$work"
}
trap end EXIT
fail() { echo "rehearsal.sh: $*" >&2; exit 1; }
step() { echo "$SECONDS s: $*"; }

# empty makes an empty folder and goes there.
empty() {
	mkdir "$work/$1"
	cd "$work/$1"
}

# block PAGE TEXT prints the first block between fences of a page that has a text.
block() {
	awk -v text="$2" '
		/^```/ && inside { if (index(code, text)) { printf "%s", code; found = 1; exit }; inside = 0; next }
		/^```/ { inside = 1; code = ""; next }
		inside { code = code $0 "\n" }
		END { exit !found }' "$clone/$1" || fail "$1 has no block with \"$2\""
}

# lines fails unless its input has that many lines that a pattern matches, and prints the first of them.
lines() {
	local out
	out=$(cat)
	[ "$(grep -cE "$2" <<<"$out")" = "$1" ] || fail "want $1 lines like $2: $out"
	grep -m 1 -E "$2" <<<"$out"
}

GOCACHE=$(go env GOCACHE) # what is compiled is not downloaded
export GOPATH=$work/go GOMODCACHE=$work/go/mod GOCACHE GOBIN=$work/bin
export GOPROXY="file://$work/proxy,$(go env GOPROXY)" GONOSUMDB="$own,$own/*"
# The flags of the image, so that what is compiled once serves all.
export CGO_ENABLED=0 GOWORK=off GOFLAGS="-trimpath -modcacherw -buildvcs=false"
export HOME=$work/home XDG_STATE_HOME=$work/state PATH=$work/bin:$PATH
mkdir "$HOME"

step "the release $version"
mkdir "$clone"
git archive HEAD | tar -x -C "$clone"
cd "$clone"
git init -q
git config user.name rehearsal
git config user.email rehearsal@example.com
sed -i 's/^## Unreleased$/&\n\nA rehearsal./' CHANGELOG.md # right after a release it has nothing there
git add -A
git commit -qm "What is released"
internal/tools/release.sh "$version" >"$work/todo"
git commit -qam "Release $version"
git init -q --bare "$work/origin"
git remote add origin "$work/origin"
sh -ec "$(grep '^git ' "$work/todo")" >"$work/pushed" 2>&1 || fail "$(cat "$work/pushed")"
[ "$(grep '^git push' "$work/todo" | tail -n 1)" = "git push origin $version" ] ||
	fail "the tag that starts the workflow is not pushed alone, at the end"
while read -r tag; do
	dir=$(dirname "$tag") # of the module; . is the root
	module=$own${dir#.}
	[ "$dir" = . ] || module=$own/$dir
	at=$work/proxy/$module/@v
	mkdir -p "$at"
	others=$(git ls-files "$dir/*/go.mod" | sed "s#^$dir/##; s#/go.mod\$##; s#^#:(exclude)#")
	git archive --format=zip --prefix="$module@$version/" -o "$at/$version.zip" "HEAD:${dir#.}" . $others
	cp "$dir/go.mod" "$at/$version.mod"
	echo "{\"Version\": \"$version\"}" >"$at/$version.info"
	echo "$version" >"$at/list"
done < <(git -C "$work/origin" tag)

step "README's program"
empty first
go mod init example 2>/dev/null
sh -c "$(block README.md 'go get ')" 2>/dev/null
block README.md 'package main' >main.go
go run . | lines 5 '^[0-9a-v]+ -?[0-9]+ 2'

step "the command"
go install "$own/cmd/randflake@$version" 2>/dev/null
randflake version | lines 1 "$printed"

step "leases in PostgreSQL"
postgres=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/initdb | tail -n 1)")
as_postgres() { "$@"; }
[ "$(id -u)" != 0 ] || as_postgres() { (cd / && setpriv --reuid postgres --regid postgres --init-groups "$@"); }
mkdir "$work/postgres"
[ "$(id -u)" != 0 ] || chown postgres "$work/postgres"
as_postgres "$postgres/initdb" -D "$work/postgres" -U postgres --auth=trust --no-sync >/dev/null
as_postgres "$postgres/pg_ctl" -D "$work/postgres" -l "$work/postgres/log" -w -o "-c listen_addresses= -k $work/postgres" start >/dev/null
export RANDFLAKE_STORE="postgres://postgres@/postgres?host=$work/postgres"
empty several
go mod init example 2>/dev/null
sh -c "$(block docs/leases.md 'go get ')" 2>/dev/null
block docs/leases.md 'package main' >main.go
sh -ec "$(block docs/leases.md 'randflake store init' | sed "s#'postgres://[^']*'#'$RANDFLAKE_STORE'#")"
RANDFLAKE_SECRET=$(cat secret)
export RANDFLAKE_SECRET
go run . 2>/dev/null | lines 1 '^[0-9a-v]+ <nil>$'

step "the service"
go install "$own/service/cmd/randflaked@$version" 2>/dev/null
randflaked version | lines 1 "$printed"
randflaked --dev --dir "$work/demo" --listen localhost:0 2>"$work/service.log" &
service=$!
until address=$(sed -n 's#^look: ##p' "$work/service.log") && [ -n "$address" ]; do
	kill -0 "$service" || fail "$(cat "$work/service.log")"
	sleep 0.1
done
RANDFLAKE_SECRET=$(cat "$work/demo/secret")
export RANDFLAKE_SECRET

step "the clients, as packages"
local_address() { sed "s#http://localhost:8080#$address#"; }
clients=$clone/service/clients
export npm_config_cache=$work/npm
for language in python typescript java; do
	"$clients/pack.sh" "$language" "$work/$language"
done
cd "$work/python"
block service/clients/python/README.md 'import os' | local_address >first.py
PYTHONPATH=project python3 first.py | lines 1 '^[0-9a-v]+ Fields'
cd "$work/typescript/project"
block service/clients/typescript/README.md 'import {' | local_address >first.mjs
node first.mjs | lines 1 '^[0-9a-v]+$'
cd "$work/java/project"
{
	echo 'import io.github.randflake.*; class First { public static void main(String[] args) {'
	block service/clients/java/README.md 'new Service' | local_address
	echo '}}'
} >First.java
java -cp '*' First.java | lines 1 '^[0-9a-v]+ '

step "the image"
# The steps of the Dockerfile, in the clone: /root-fs is what the image has.
mkdir "$work/image"
cd "$clone"
sed -n '/^RUN /,/[^\\]$/p' service/deploy/Dockerfile | sed "s#^RUN ##; s# /\(root-fs\|empty\)# $work/image/\1#g" >"$work/build.sh"
env -u GOWORK -u GOFLAGS GOFLAGS=-modcacherw VERSION="$version" sh -ec "$(cat "$work/build.sh")" 2>/dev/null
[ -s "$work/image/root-fs/etc/ssl/certs/ca-certificates.crt" ] || fail "the image has no certificates"
for program in randflaked randflake; do
	"$work/image/root-fs/$program" version | lines 1 "$printed"
done

step "the files"
env -u GOWORK -u GOFLAGS GOFLAGS="-modcacherw -buildvcs=false" \
	internal/tools/artifacts.sh "$version" "$work/files" "$(go env GOOS)/$(go env GOARCH)" 2>/dev/null
cd "$work/files"
sha256sum --quiet --check checksums.txt
for program in randflaked randflake; do
	"./$program-$(go env GOOS)-$(go env GOARCH)" version | lines 1 "$printed"
done

step "the chart"
cd "$clone/service/deploy/chart"
"$HELM" template ids . --kube-version 1.30 --values ci/plaintext-values.yaml --set image.tag= | lines 1 "image: .*:$printed\"$"

step "done"
