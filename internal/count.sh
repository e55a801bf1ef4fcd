#!/bin/sh
# Prints for each top folder: files, lines of code (without tests and what is generated), lines of tests, words of pages.
# internal/count.sh -check fails where a number exceeds internal/budget, or a folder has more lines of tests than of code, but for the
# prover, the explorer, and folders that the budget says are still over.
set -eu
cd "$(git rev-parse --show-toplevel)"
generated=$(git grep -lE '^// (Code generated|@generated)|DO NOT EDIT' -- '*.go' '*.py' '*.ts' '*.java' | tr '\n' ' ')
counts=$(git ls-files -z | xargs -0 wc -lw 2>/dev/null | awk -v generated=" $generated" '
	$NF == "total" || NF != 3 { next }
	{ folder = $3 ~ /\// ? substr($3, 1, index($3, "/") - 1) : "."; files[folder]++ }
	$3 ~ /(^|\/)testdata\// || index(generated, " " $3 " ") { next }
	$3 ~ /_test\.go$|\/tests?\// { tests[folder] += $1; if ($3 ~ /^lab\/prove\/|explorer_|scene_/) apart[folder] += $1; next }
	$3 ~ /\.(go|s|sql|lua|sh|py|ts|mts|java|php|rb|js)$|Makefile$/ { code[folder] += $1 }
	$3 ~ /\.md$/ { words[folder] += $2 }
	END {
		for (f in files) {
			printf "%s %d %d %d %d %d\n", f, files[f], code[f], tests[f], words[f], tests[f] - apart[f]
			F += files[f]; C += code[f]; T += tests[f]; W += words[f]
		}
		printf "total %d %d %d %d\n", F, C, T, W
	}' | LC_ALL=C sort)
if [ "${1-}" != -check ]; then
	{ echo folder files code tests words; echo "$counts"; } | awk '{ printf "%-14s %6s %6s %6s %6s\n", $1, $2, $3, $4, $5 }'
	exit
fi
echo "$counts" | awk '
	NR == FNR { for (i = 2; i <= 5; i++) budget[$1, i] = $i; over[$1] = $6 == "over"; next }
	{ for (i = 2; i <= 5; i++) if ($i > budget[$1, i]) { printf "%s: %d %s, the budget is %d\n", $1, $i, name[i], budget[$1, i]; bad = 1 } }
	$6 > $3 && !over[$1] { printf "%s: %d lines of tests for %d of code\n", $1, $6, $3; bad = 1 }
	BEGIN { name[2] = "files"; name[3] = "lines of code"; name[4] = "lines of tests"; name[5] = "words" }
	END { exit bad }' internal/budget -
