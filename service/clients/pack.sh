#!/usr/bin/env bash
# Makes the package of a client, as it is published, and installs it into an empty project, for which no registry is asked.
# usage: service/clients/pack.sh python|typescript|java DIR
# The package is then in DIR/package, and the project in DIR/project.
set -euo pipefail
language=$1
mkdir -p "$2/package" "$2/project"
package=$(cd "$2/package" && pwd)
project=$(cd "$2/project" && pwd)
cd "$(dirname "$0")/$language"

case $language in
python)
	for python in python3 /usr/bin/python3 ''; do
		[ -n "$python" ] || { echo "pack.sh: no python3 has pip, setuptools and wheel" >&2; exit 1; }
		! "$python" -c 'import setuptools, wheel, pip' 2>/dev/null || break
	done
	pip=("$python" -m pip --quiet --disable-pip-version-check --no-cache-dir)
	"${pip[@]}" wheel --no-index --no-deps --no-build-isolation --wheel-dir "$package" .
	"${pip[@]}" install --no-index --no-deps --root-user-action=ignore --target "$project" "$package"/*.whl
	;;
typescript)
	[ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund --silent
	npm pack --silent --pack-destination "$package" >/dev/null
	cd "$project"
	npm init --yes >/dev/null
	npm install --offline --no-audit --no-fund --silent "$package"/*.tgz
	;;
java)
	# The jars that mvn package makes of pom.xml, without its plugins.
	version=$(sed -n '0,/<version>/s/.*<version>\(.*\)<.*/\1/p' pom.xml)
	jar=$package/randflake-client-$version
	work=$(mktemp -d)
	trap 'rm -r "$work"' EXIT
	javac -encoding UTF-8 --release 17 -Xlint:all,-serial -Werror -d "$work/classes" $(find src -name '*.java')
	javadoc -quiet -encoding UTF-8 --release 17 -Xdoclint:all,-missing -Werror -d "$work/javadoc" $(find src -name '*.java')
	cp pom.xml "$jar.pom"
	jar --create --file "$jar.jar" -C "$work/classes" .
	jar --create --file "$jar-sources.jar" -C src .
	jar --create --file "$jar-javadoc.jar" -C "$work/javadoc" .
	for file in "$jar"*.jar; do
		jar --update --file "$file" LICENSE
	done
	cp "$jar.jar" "$project"
	;;
*)
	echo "pack.sh: $language: want python, typescript or java" >&2
	exit 1
	;;
esac
