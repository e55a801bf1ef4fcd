#!/bin/sh
# Finds what the protocol takes back of what the newest release has, or branch main where there is none. $1 is buf.
set -eu
cd "$(dirname "$0")"
for base in $(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) main origin/main; do
	if git cat-file -e "$base:./buf.yaml" 2>/dev/null; then
		before=$(mktemp -d)
		trap 'rm -r "$before"' EXIT
		git archive "$base" . | tar -x -C "$before"
		echo "buf breaking, against $base"
		"$1" breaking --against "$before"
		exit
	fi
done
echo "buf breaking is skipped: this clone has neither a release with the protocol nor branch main"
