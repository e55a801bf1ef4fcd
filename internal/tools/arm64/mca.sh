#!/bin/bash
# Cycles per ID of the arm64 kernels on several cores, as llvm-mca models them: each kernel is taken
# from the compiled package and laid out straight, its loop of four turns unrolled, and simulated as
# called time after time. Fails if a word in a kernel is not an instruction.
#
# Needs go and LLVM 19 (Debian: llvm-19), and runs on any machine. Usage, in the top directory:
#
#	internal/tools/arm64/mca.sh [core ...]
set -euo pipefail

blocks=32
turns=4
attributes=+sve2
sve2_cores='neoverse-[vn][23]'
kernels=(encrypt32NEON run32NEON decrypt32NEON encrypt32SVE2 run32SVE2 decrypt32SVE2)
cores=("$@")
if [ $# = 0 ]; then
	cores=(neoverse-v2 neoverse-n2 neoverse-v1 neoverse-n1 apple-m1 cortex-a55)
fi

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
GOARCH=arm64 CGO_ENABLED=0 go test -c -o "$work/test" .

# straight prints a kernel's instructions in the order in which they run.
straight() {
	llvm-objdump-19 -d --no-show-raw-insn --mattr=$attributes \
		--disassemble-symbols="github.com/randflake/randflake.$1.abi0" "$work/test" |
		awk -v turns=$turns '
			/^ *[0-9a-f]+:/ {
				address = $1
				sub(/:$/, "", address)
				sub(/^ *[0-9a-f]+:[ \t]*/, "")
				sub(/ *<.*/, "")
				if ($0 == "" || /unknown/) { print "not an instruction at " address > "/dev/stderr"; exit 1 }
				if (/^ret/) exit
				if (/^cbnz/) {
					target = $NF
					sub(/^0x/, "", target)
					for (i = 1; i < turns; i++) for (j = at[target]; j < n; j++) print line[j]
					next
				}
				at[address] = n
				line[n++] = $0
				print
			}
			END { if (n == 0) exit 1 }'
}

printf '%-14s' kernel
printf '%12s' "${cores[@]}"
echo
for kernel in "${kernels[@]}"; do
	straight "$kernel" >"$work/$kernel.s"
	printf '%-14s' "$kernel"
	for core in "${cores[@]}"; do
		if [[ $kernel == *SVE2 && $core != $sve2_cores ]]; then
			printf '%12s' -
			continue
		fi
		llvm-mca-19 -mtriple=aarch64 -mcpu="$core" -mattr=$attributes -iterations=100 \
			-instruction-info=false -resource-pressure=false "$work/$kernel.s" |
			awk -v ids=$blocks '/^Iterations:/ { n = $2 } /^Total Cycles:/ { printf "%12.1f", $3 / n / ids }'
	done
	echo
done
