#!/bin/sh
# Lists the tests that this machine skipped, with their reasons, from the logs in DIR that gotestsum wrote, but for those that another
# run of these logs includes. Fails if a test of REQUIRED, such as lab/prove.TestKernels, ran in none of them whole.
# usage: internal/skipped.sh DIR [REQUIRED...]
set -eu
cd "$1"
shift
awk -v required="$*" '
	function field(name) {
		return match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5) : ""
	}
	{ test = field("Package") "." field("Test"); sub(/.*randflake\/randflake[\/.]/, "", test) }
	/"Action":"output"/ && /_test\.go:[0-9]+: / { reason[test] = field("Output"); gsub(/\\[nt]|^ +/, " ", reason[test]) }
	/"Action":"pass"/ { ran[test] = 1 }
	/"Action":"skip"/ && field("Test") != "" { skipped[test] = 1 }
	END {
		for (test in skipped) if (!(test in ran)) print "skipped: " test ":" reason[test] | "sort"
		close("sort")
		n = split(required, names, " ")
		for (i = 1; i <= n; i++) {
			if (!(names[i] in ran)) { print "must run here, and did not: " names[i]; bad = 1 }
			for (test in skipped) if (index(test, names[i] "/") == 1 && !(test in ran)) { print "must run here, and was skipped: " test; bad = 1 }
		}
		exit bad
	}' ./*.json
