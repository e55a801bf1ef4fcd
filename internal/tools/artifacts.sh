#!/usr/bin/env bash
# Makes the files of a release in DIR, with their checksums: both commands for each platform, and the packages of the clients.
# usage: internal/tools/artifacts.sh v0.1.0 DIR [PLATFORM...]
set -euo pipefail
version=$1
own=github.com/randflake/randflake
mkdir -p "$2"
[ -z "$(ls -A "$2")" ] || { echo "artifacts.sh: $2 has files, which are not of $version: want an empty folder" >&2; exit 1; }
dir=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
cd "$(dirname "$0")/../.."

for platform in "$@"; do
	export GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0
	suffix=$GOOS-$GOARCH
	[ "$GOOS" != windows ] || suffix=$suffix.exe
	for command in cmd/randflake service/cmd/randflaked; do
		go build -trimpath -ldflags="-s -w -X $own/service/internal/server.version=$version -X $own/cmd/randflake/internal/cli.linked=$version" \
			-o "$dir/$(basename "$command")-$suffix" "./$command"
	done
done
for language in python typescript java; do
	work=$(mktemp -d)
	service/clients/pack.sh "$language" "$work"
	mv "$work"/package/* "$dir"
	rm -r "$work"
done
cd "$dir"
sums=$(sha256sum -- *)
echo "$sums" >checksums.txt
