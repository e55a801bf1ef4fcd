package prove

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"

	"github.com/randflake/randflake/internal/test/require"
)

// onThisCPU has f compare models with the processor of this machine.
func onThisCPU(t *testing.T, f func(processor)) {
	if _, err := exec.LookPath("as"); runtime.GOARCH != "amd64" || err != nil || !cpuid.CPU.Supports(cpuid.AVX2) {
		t.Skipf("on %s with as (%v) and AVX2: %t", runtime.GOARCH, err, cpuid.CPU.Supports(cpuid.AVX2))
	}
	p := processor{
		tools:   []string{"as --defsym AVX512=1", "ld"},
		vectors: vector,
		flags: func(f flags) (bits uint64) {
			for at, flag := range map[int]bool{0: f.carry, 6: f.zero, 7: f.sign, 11: f.overflow} {
				if flag {
					bits |= 1 << at
				}
			}
			return bits
		},
		stub:    stubAMD64,
		prepare: prepareAMD64,
		planted: map[string]string{"vpsrlw": "vpsllw", "vpsubw": "vpaddw", "vpunpcklwd": "vpunpckhwd", "cmp": "add",
			"jl": "jge", "rol": "shl", "movzwl": "mov"},
	}
	if !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512VBMI2) {
		p.tools[0] = "as"
		p.stub = func(t *testing.T, c *code, op operation) (string, operation) {
			if strings.Contains(op.operands, "zmm") {
				return "", op
			}
			return stubAMD64(t, c, op)
		}
		p.prepare = func(m *machine, op operation, rng *rand.Rand) {
			prepareAMD64(m, op, rng)
			for i := vector; i < vector+16; i++ {
				m.registers[i] = slices.Concat(m.registers[i][:16], make(value, 16))
			}
		}
		t.Run("AVX-512", func(t *testing.T) { t.Skip("the CPU has none") })
	}
	f(p)
}

// stubAMD64 leaves out calls, returns and padding. Branches, and addresses relative to the instruction, get others.
func stubAMD64(t *testing.T, c *code, op operation) (string, operation) {
	switch {
	case op.mnemonic == "call" || op.mnemonic == "ret" || op.mnemonic == "int3":
		return "", op
	case conditions[op.mnemonic] != nil:
		return fmt.Sprintf("%q", op.mnemonic+" branched"), op
	}
	raw, ok := c.bytes(op.address, int(op.next-op.address))
	require.Must(t, ok, "%x: no bytes", op.address)
	tail := ""
	if before, _, ok := strings.Cut(op.operands, "(%rip)"); ok {
		last := len(raw) - 4
		displacement := int32(binary.LittleEndian.Uint32(raw[last:]))
		text := fmt.Sprintf("%#x", displacement)
		require.Must(t, strings.HasSuffix(before, text), "%s %s: the displacement is %s", op.mnemonic, op.operands, text)
		raw, tail = raw[:last], fmt.Sprintf(".long %#x - . - 4", stateMiddle)
		op.next = uint64(stateMiddle - int64(displacement))
	}
	var line []string
	for _, b := range raw {
		line = append(line, strconv.Itoa(int(b)))
	}
	return fmt.Sprintf("\".byte %s\", \"%s\"", strings.Join(line, ","), tail), op
}

func prepareAMD64(m *machine, op operation, rng *rand.Rand) {
	if op.mnemonic == "movups" {
		startAMD64(m)
	}
	operands, err := operandsAMD64(op)
	if strings.HasSuffix(op.operands, "(%rax)") && err != nil {
		m.registers[0] = number(stateMiddle, 4)
	}
	if op.mnemonic == "vpmulhuw" {
		m.registers[operands[0].register] = each(m.registers[operands[0].register], func(word) word { return 1 << rng.UintN(16) })
	}
	for _, o := range operands {
		if o.kind != isMemory || op.mnemonic == "lea" {
			continue
		}
		index := uint64(0)
		if o.index >= 0 {
			index = rng.Uint64N(8)
			m.registers[o.index] = number(index, 4)
		}
		if o.base >= 0 && o.base != rsp {
			m.registers[o.base] = number(stateMiddle+2*rng.Uint64N(64)-o.number-index<<o.scale, 4)
		}
	}
}
