package prove

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// onQEMU has f compare models with qemu's processor.
func onQEMU(vectorBits int) func(t *testing.T, f func(processor)) {
	return func(t *testing.T, f func(processor)) {
		for _, tool := range []string{"qemu-aarch64", "aarch64-linux-gnu-as", "aarch64-linux-gnu-ld"} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%v: make tools installs it", err)
			}
		}
		f(processor{
			tools: []string{"aarch64-linux-gnu-as", "aarch64-linux-gnu-ld",
				fmt.Sprintf("qemu-aarch64 -cpu max,sve-max-vq=%d", vectorBits/128)},
			vectors: arm64Vector,
			flags: func(f flags) (nzcv uint64) {
				for _, flag := range []bool{f.sign, f.zero, !f.carry, f.overflow} {
					if nzcv *= 2; flag {
						nzcv++
					}
				}
				return nzcv << 28
			},
			stub:    stubARM64,
			prepare: prepareARM64,
			planted: map[string]string{"sli": "shl", "usra": "ushr", "mla": "add", "ror": "lsr", "cbnz": "cbz", "ld4": "st4"},
		})
	}
}

// stubARM64 leaves out adrp, which depends on where it stands, calls and returns.
func stubARM64(t *testing.T, c *code, op operation) (string, operation) {
	switch op.mnemonic {
	case "adrp", "bl", "ret", "udf":
		return "", op
	}
	raw, _ := c.bytes(op.address, 4)
	word, distance := nearARM64(binary.LittleEndian.Uint32(raw))
	if to := fmt.Sprintf("%x", op.address+distance); distance != 0 && !strings.HasSuffix(op.operands, to) {
		t.Errorf("%s %s goes to %s", op.mnemonic, op.operands, to)
	}
	return fmt.Sprintf("%#x", word), op
}

// nearARM64 returns the word of a branch that goes two instructions ahead, and how far it went. It
// returns words of other instructions as they are.
func nearARM64(word uint32) (near uint32, distance uint64) {
	from, size := 5, 19 // where the distance is in the word
	switch {
	case word>>26 == 0b000101: // b
		from, size = 0, 26
	case word>>24 == 0b01010100, word>>25&0x3f == 0b011010: // b.cond, cbz, cbnz
	case word>>25&0x3f == 0b011011: // tbz, tbnz
		size = 14
	default:
		return word, 0
	}
	distance = uint64(int32(word<<(32-from-size)) >> (32 - size) * 4)
	return word&^((1<<size-1)<<from) | 2<<from, distance
}

func prepareARM64(m *machine, op operation, rng *rand.Rand) {
	for _, part := range split(op.operands) {
		if parts := arm64Address.FindStringSubmatch(part); parts != nil {
			if index, ok := parseARM64(parts[3]); ok {
				m.registers[index.number] = number(rng.Uint64N(8), 4)
			}
			base, _ := parseARM64(parts[1])
			m.registers[base.number] = number(stateMiddle+16*rng.Uint64N(8), 4)
		}
	}
}
