#!/bin/sh
# Fails unless tests ran and were not skipped, with all their subtests: required.sh "LOG..." NAME..., where the logs are
# those of gotestsum --jsonfile, and a name begins with the package's folder: store/filestore.TestKilled.
set -u
logs=$1 failed=0
shift
for name; do
	test='"Package":"[^"]*/'${name%%.Test*}'","Test":"Test'${name#*.Test}
	# shellcheck disable=SC2086 # several logs
	if grep -h "\"Action\":\"skip\",$test[/\"]" $logs; then
		echo "$name must not be skipped" >&2 && failed=1
	elif ! grep -hq "\"Action\":\"pass\",$test\"" $logs; then
		echo "$name must run and pass, and did not" >&2 && failed=1
	fi
done
exit $failed
