package main

import (
	"strings"
	"testing"
)

// kernel makes a listing of one kernel from its instructions.
func kernel(name string, instructions ...string) string {
	var b strings.Builder
	b.WriteString("00000000005d2760 <" + pkg + name + ">:\n")
	for _, i := range instructions {
		b.WriteString("  5d2760:\t" + i + "\n")
	}
	return b.String()
}

var amd64Kernel = []string{
	"mov    0x8(%rsp),%rax",
	"mov    0x10(%rsp),%rdi",
	"mov    0x18(%rsp),%rsi",
	"vmovdqu64 0x24dc(%rip),%zmm31        # 5e0000 <swapBytes>",
	"vmovdqu64 0x40(%rsi),%zmm20",
	"mov    $0x4,%rbx",
	"vpxord (%rax){1to16},%zmm0,%zmm0",
	"add    $0x30,%rax",
	"dec    %rbx",
	"jne    5d2760 <" + pkg + "encrypt64AVX512.abi0+0x50>",
	"vmovdqu64 %zmm20,(%rdi)",
	"vzeroupper",
	"ret",
}

var arm64Kernel = []string{
	"ldr\tx0, [sp, #8]",
	"ldr\tx1, [sp, #16]",
	"ldr\tx2, [sp, #24]",
	"mov\tx3, #0x4                   \t// #4",
	"ld4\t{v0.8h-v3.8h}, [x2], #64",
	"ldr\tw4, [x0]",
	"dup\tv16.8h, w4",
	"add\tx0, x0, #0x30",
	"eor\tv0.16b, v0.16b, v16.16b",
	"sub\tx3, x3, #0x1",
	"cbnz\tx3, 5d2760 <x>",
	"st4\t{v0.8h-v3.8h}, [x1], #64",
	"ret",
}

func problemsOf(t *testing.T, g grammar, name string, instructions []string) []string {
	t.Helper()
	functions := parse(kernel(name, instructions...))
	if len(functions) != 1 || len(functions[0].instructions) != len(instructions) {
		t.Fatalf("parsed %d functions", len(functions))
	}
	if isKernel(functions[0].name) {
		return checkKernel(g, functions[0])
	}
	return checkCompiled(g, functions[0])
}

func TestKernelsPass(t *testing.T) {
	if p := problemsOf(t, amd64{}, "encrypt64AVX512.abi0", amd64Kernel); p != nil {
		t.Errorf("amd64: %q", p)
	}
	if p := problemsOf(t, arm64{}, "encrypt32NEON.abi0", arm64Kernel); p != nil {
		t.Errorf("arm64: %q", p)
	}
}

// Each of these, put into a kernel that passes, gives a secret away or much of the speed, and must be
// reported.
func TestPlantedFaultsAreFound(t *testing.T) {
	for _, test := range []struct {
		g            grammar
		name         string
		instructions []string
		fault        []string
	}{
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"movq   %rcx,%xmm15"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"vptest %ymm0,%ymm0", "jne    5d27b0 <x>"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"mov    (%rsi),%rcx", "mov    (%rdi,%rcx,8),%rdx"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"mov    (%rsi),%rcx", "mov    (%rcx),%rdx"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"vmovq  %xmm0,%rsi"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"mov    (%rsi),%ebx"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"add    %rcx,%rax"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"vpgatherdd (%rax,%zmm0,4),%zmm1{%k1}"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"call   5d2000 <" + pkg + "encryptBlock>"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"jmp    *%rcx"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"jmp    5d2000 <other>"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"xchg   %rsi,%rcx"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"mul    %rcx"}},
		{amd64{}, "encrypt64AVX512.abi0", amd64Kernel, []string{"rep movsb %ds:(%rsi),%es:(%rdi)"}},
		{amd64{}, "encrypt64AVX512.abi0", nil, []string{"dec    %rbx", "jne    5d2800 <x>"}},
		{amd64{}, "encryptBlock", nil, []string{"call   5d2000 <" + pkg + "speckey>"}},
		{amd64{}, "encryptBlock", nil, []string{"mov    (%rax),%ecx", "cmp    $0x8,%ecx", "jl     5d27b0 <x>"}},
		{amd64{}, "encryptBlock", nil, []string{"mov    (%rax),%ecx", "cmp    %edx,%ecx", "jl     5d27b0 <x>"}},
		{amd64{}, "encryptBlock", nil, []string{"mov    $0x8,%ecx", "add    %edx,%ecx", "mov    (%rax,%rcx,4),%edx"}},
		{amd64{}, "encryptBlock", nil, []string{"mov    $0x1,(%rax)", "and    %edx,%edx", "jne    5d27b0 <x>"}},
		{amd64{}, "encryptBlock", nil, []string{"mov    $0x8,%ecx", "dec    %ecx", "sbb    %edx,%edx", "jne    5d27b0 <x>"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"umov\tx4, v0.d[0]", "cbz\tx4, 5d27b0 <x>"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"ldr\tx4, [x2]", "ldr\tx5, [x1, x4]"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"ldr\tx4, [x2]", "ldr\tx5, [x4]"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"add\tx2, x2, x4"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"fmov\tx3, d0"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"bl\t5d2000 <x>"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"b\t5d2000 <x>"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"ldp\tx4, x2, [x0]"}},
		{arm64{}, "encrypt32NEON.abi0", arm64Kernel, []string{"ld1\t{v0.8h}, [x2], x4"}},
		{arm64{}, "encryptBlock", nil, []string{"ldr\tw4, [x0]", "cmp\tw4, #0x8", "b.lt\t5d27b0 <x>"}},
		{arm64{}, "encryptBlock", nil, []string{"ldr\tw4, [x0]", "ldr\tw5, [x0, w4, uxtw #2]"}},
	} {
		instructions := append(append([]string(nil), test.fault...), "ret")
		if test.instructions != nil {
			instructions = append(append([]string(nil), test.instructions[:7]...), test.fault...)
			instructions = append(instructions, test.instructions[7:]...)
		}
		if p := problemsOf(t, test.g, test.name, instructions); p == nil {
			t.Errorf("%s: %q was not reported", test.name, test.fault)
		}
	}
}
