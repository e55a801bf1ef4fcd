#!/bin/sh
# Runs a test under Valgrind, and again when it fails: as goroutines change places, Valgrind sometimes takes what lies on
# their stacks for undefined. A branch or an address that depends on a secret is reported every time.
log=$(mktemp) out=$(mktemp)
trap 'rm -f "$log" "$out"' EXIT
for try in $(seq 20); do
	env GOMAXPROCS=1 GOGC=off GODEBUG=asyncpreemptoff=1 valgrind -q --error-limit=no --log-file="$log" \
		--suppressions="$(dirname "$0")/suppressions" "$@" >"$out"
	code=$?
	[ $code -ne 0 ] || break
done
cat "$out"
[ $code -eq 0 ] || tail -n 40 "$log" >&2
exit $code
