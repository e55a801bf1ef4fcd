#!/bin/sh
# Lists the tests that this machine skipped, with their reasons, from the logs in DIR that gotestsum wrote, but for those that another
# run of these logs includes. Fails if one of TARGETS, targets of make in one argument, has no log, or a log without a test, unless it
# left a note instead; and if a test of REQUIRED, such as lab/prove.TestKernels, ran in no log whole.
# usage: internal/skipped.sh DIR TARGETS [REQUIRED...]
set -eu
cd "$1"
targets=$2
shift 2
idle=
for target in $targets; do
	if [ -e "$target.note" ]; then
		cat "$target.note"
		continue
	fi
	for log in "$target"-??????.json; do
		grep -qsE '"Action":"(pass|fail|skip)".*"Test":' "$log" || idle="$idle $target"
	done
done
cat ./*.json 2>/dev/null | awk -v required="$*" -v idle="$idle" '
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
		n = split(idle, names, " ")
		for (i = 1; i <= n; i++) { print "make " names[i] " ran no test"; bad = 1 }
		n = split(required, names, " ")
		for (i = 1; i <= n; i++) {
			if (!(names[i] in ran)) { print "must run here, and did not: " names[i]; bad = 1 }
			for (test in skipped) if (index(test, names[i] "/") == 1 && !(test in ran)) { print "must run here, and was skipped: " test; bad = 1 }
		}
		exit bad
	}'
