#!/bin/bash
# Checks the opcodes of sparx64_arm64.s: each macro of an instruction is evaluated for several operands
# and compared with what an assembler makes of the mnemonic in the comment beside it.
#
# Needs GNU binutils for arm64 (Debian: binutils-aarch64-linux-gnu), and runs on any machine. Usage, in
# the top directory:
#
#	internal/tools/arm64/opcodes.sh
set -euo pipefail

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# got has an opcode a line, want.s the instruction that it should be.
definition='^#define ([A-Z0-9]+)\(([a-z, ]*)\) +WORD \$\((.*)\) +// (.*)$'
while IFS= read -r line; do
	[[ $line =~ $definition ]] || { echo "not understood: $line" >&2; exit 1; }
	opcode=${BASH_REMATCH[3]} mnemonic=${BASH_REMATCH[4]}
	for operands in "0 0 0 1 0" "31 30 29 15 28" "5 18 24 7 4" "1 2 4 14 8" "26 13 11 2 6"; do
		read -r m n d i r <<<"$operands"
		printf '%08x\n' $((opcode)) >>"$work/got"
		sed -E "s/([vz])m/\1$m/g; s/([vz])n/\1$n/g; s/([vz])d/\1$d/g; s/wr/w$r/g; s/#i/#$i/" <<<"$mnemonic" >>"$work/want.s"
	done
done < <(grep '^#define .*WORD' sparx64_arm64.s)

if grep WORD sparx64_arm64.s | grep -v '^#define'; then
	echo "WORD outside an instruction's macro" >&2
	exit 1
fi
aarch64-linux-gnu-as -march=armv8-a+sve2 -o "$work/want.o" "$work/want.s"
aarch64-linux-gnu-objdump -d "$work/want.o" | awk '/^ *[0-9a-f]+:/ { print $2 }' >"$work/want"
paste "$work/got" "$work/want" "$work/want.s" | awk -F'\t' '
	$1 != $2 { print $1 ", want " $2 ": " $3; failed = 1 }
	END { if (NR == 0 || failed) exit 1; print NR " opcodes are right" }'
