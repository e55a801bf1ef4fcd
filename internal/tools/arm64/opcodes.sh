#!/bin/bash
# Checks the opcodes of sparx64_arm64.s: evaluates each macro of an instruction for several operands, and has asm2plan9s
# write the opcode of the instruction that the comment beside it names. Both must be the same.
#
# asm2plan9s speaks arm64 when it is built for arm64, so qemu runs it. It calls as without SVE; the one that it finds
# here first in PATH adds that.
#
# Needs binutils-aarch64-linux-gnu and qemu-user, as Debian calls them. Usage: go generate, in the top directory.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
printf '#!/bin/sh\nshift # its -march\nexec aarch64-linux-gnu-as -march=armv8-a+sve2 "$@"\n' >"$work/as"
chmod +x "$work/as"

# words prints lines as asm2plan9s makes them: WORD $opcode // instruction
words() {
	local definition='^#define [A-Z0-9]+\([a-z, ]*\) +WORD \$\((.*)\) +// (.*)$'
	grep WORD sparx64_arm64.s | while IFS= read -r line; do
		[[ $line =~ $definition ]] || { echo "WORD outside an instruction's macro: $line" >&2; exit 1; }
		opcode=${BASH_REMATCH[1]} instruction=${BASH_REMATCH[2]}
		while read -r m n d i r; do
			printf '    WORD $0x%08x // ' $((opcode))
			sed -E "s/([vz])m/\1$m/g; s/([vz])n/\1$n/g; s/([vz])d/\1$d/g; s/wr/w$r/; s/#i/#$i/" <<<"$instruction"
		done <<<$'0 0 0 1 0\n31 30 29 15 28\n5 18 24 7 4\n1 2 4 14 8\n26 13 11 2 6'
	done
}

words >"$work/words"
PATH=$work:$PATH GOARCH=arm64 CGO_ENABLED=0 go run -exec qemu-aarch64 github.com/minio/asm2plan9s <"$work/words" >"$work/assembled"
diff "$work/words" "$work/assembled"
echo "$(wc -l <"$work/words") opcodes are right"
