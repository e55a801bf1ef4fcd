#!/bin/sh
# Prints for each top folder: lines of code (without tests and what is generated), lines of tests, words of pages.
# internal/count.sh -check fails where a number exceeds that of internal/budget.
set -eu
top=$(git rev-parse --show-toplevel)
cd "$top"
generated=$(git grep -lE '^// (Code generated|@generated)|DO NOT EDIT' -- '*.go' '*.py' '*.ts' '*.java' | tr '\n' ' ')
counts=$(git ls-files -z | xargs -0 wc -lw 2>/dev/null | awk -v generated=" $generated" '
	$NF == "total" || NF != 3 { next }
	$3 ~ /(^|\/)testdata\// || index(generated, " " $3 " ") { next }
	{ folder = $3 ~ /\// ? substr($3, 1, index($3, "/") - 1) : "." }
	$3 ~ /_test\.go$|\/tests?\// { seen[folder]; tests[folder] += $1; next }
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
	BEGIN { name[2] = "lines of code"; name[3] = "lines of tests"; name[4] = "words" }
	NR == FNR { for (i = 2; i <= 4; i++) budget[$1, i] = $i; next }
	{ for (i = 2; i <= 4; i++) if ($i > budget[$1, i]) { printf "%s: %d %s, the budget is %d\n", $1, $i, name[i], budget[$1, i]; bad = 1 } }
	END { exit bad }' internal/budget -
