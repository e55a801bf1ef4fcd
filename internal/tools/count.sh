#!/bin/sh
# Prints for each top folder: lines of code (without tests and what is generated, with the kits of internal/test), lines of tests, words
# of pages.
# internal/tools/count.sh -check fails where a folder has more code than its row of internal/tools/budget.
set -eu
top=$(git rev-parse --show-toplevel)
cd "$top"
generated=$(git grep -lE '^// (Code generated|@generated)|DO NOT EDIT' -- '*.go' '*.py' '*.ts' '*.java' | tr '\n' ' ')
counts=$(git ls-files -z | xargs -0 wc -lw 2>/dev/null | awk -v generated=" $generated" '
	$NF == "total" || NF != 3 { next }
	$3 ~ /(^|\/)testdata\// || index(generated, " " $3 " ") { next }
	{ folder = $3 ~ /\// ? substr($3, 1, index($3, "/") - 1) : "." }
	$3 ~ /_test\.go$/ || $3 ~ /\/tests?\// && $3 !~ /^internal\/test\// { seen[folder]; tests[folder] += $1; next }
	$3 ~ /\.(go|s|sql|lua|sh|py|ts|mts|java|php|rb|js)$|Makefile$/ { seen[folder]; code[folder] += $1 }
	$3 ~ /\.md$/ { seen[folder]; words[folder] += $2 }
	END {
		for (f in seen) {
			printf "%s %d %d %d\n", f, code[f], tests[f], words[f]
			C += code[f]; T += tests[f]; W += words[f]
		}
		printf "total %d %d %d\n", C, T, W
	}' | LC_ALL=C sort)
if [ "${1-}" != -check ]; then
	{ echo folder code tests words; echo "$counts"; } | awk '{ printf "%-14s %6s %6s %6s\n", $1, $2, $3, $4 }'
	exit
fi
echo "$counts" | awk '
	NR == FNR { budget[$1] = $2; next }
	$1 != "total" && $2 > budget[$1] { printf "%s: %d lines of code, the budget is %d\n", $1, $2, budget[$1]; bad = 1 }
	END { exit bad }' internal/tools/budget -
