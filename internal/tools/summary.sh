#!/bin/sh
# Says how the tests went whose logs gotestsum wrote into DIR: the ten slowest; those that no log ran, with the
# reasons why they were skipped; the whole output of what failed; how many each target had.
#
# TARGETS are targets of make in one argument. It fails if one of them has no log, or a log without a test, unless it left a note
# instead; and if a test of REQUIRED, such as lab/prove.TestKernels, or one below it, passed in no log.
# usage: internal/tools/summary.sh DIR TARGETS [REQUIRED...]
set -eu
gotestsum=$PWD/bin/gotestsum
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
		grep -qs '"Action":"run".*"Test":' "$log" || idle="$idle $target"
	done
done
logs=$(ls | grep '\.json$' || true)
echo "the slowest tests:"
# shellcheck disable=SC2086
cat $logs </dev/null | "$gotestsum" tool slowest --num 10 | sed 's/^/  /'
complete=true
# shellcheck disable=SC2086
awk -v targets="$targets" -v required="$*" -v idle="$idle" '
	function field(name) {
		return match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5) : ""
	}
	{
		package = field("Package")
		test = package "." field("Test")
		sub(/.*randflake\/randflake[\/.]/, "", test)
		target = FILENAME
		sub(/-[^-]*$/, "", target)
	}
	/"Action":"output"/ && /\.go:[0-9]+: / { reason[test] = field("Output"); gsub(/\\[nt]|^ +/, " ", reason[test]) }
	/"Action":"pass"/ { ran[test] = 1 }
	/"Action":"skip"/ && field("Test") != "" { skipped[test] = 1 }
	field("Test") != "" { count[target, field("Action")]++; if (/"Action":"fail"/) failing[target, package] }
	# A package can fail without a test that does: it does not compile, or was killed in the middle of one.
	/"Action":"fail"/ && field("Test") == "" && !((target, package) in failing) { count[target, "fail"]++ }
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
		printf "%-16s %7s %7s %7s\n", "target", "passed", "failed", "skipped" >"table"
		n = split(targets, names, " ")
		for (i = 1; i <= n; i++) {
			t = names[i]
			printf "%-16s %7d %7d %7d\n", t, count[t, "pass"], count[t, "fail"], count[t, "skip"] >"table"
		}
		exit bad
	}' $logs </dev/null || complete=false
for failed in *.failed; do
	target=${failed%.failed}
	[ -e "$failed" ] || continue
	echo
	echo "FAILED: make $target"
	cat "$target-"??????.json >failed.json 2>/dev/null || true
	if grep -q '"Action":"fail"' failed.json; then
		"$gotestsum" --format none --hide-summary=skipped --raw-command -- cat failed.json || true
	else
		cat "$target.out"
	fi
done
echo
cat table
$complete
