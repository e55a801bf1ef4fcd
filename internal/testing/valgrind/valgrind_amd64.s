//go:build valgrind && linux

#include "textflag.h"

// func request(args *[6]uintptr) uintptr
//
// Valgrind takes the rotations, which change nothing, and the exchange for a request of the program.
TEXT ·request(SB), NOSPLIT, $0-16
	MOVQ  args+0(FP), AX
	XORL  DX, DX
	ROLQ  $3, DI
	ROLQ  $13, DI
	ROLQ  $61, DI
	ROLQ  $51, DI
	XCHGQ BX, BX
	MOVQ  DX, ret+8(FP)
	RET

// func stack() (low, high uintptr)
//
// R14 points to the goroutine, whose second word is where its stack ends.
TEXT ·stack(SB), NOSPLIT, $0-16
	MOVQ SP, low+0(FP)
	MOVQ 8(R14), AX
	MOVQ AX, high+8(FP)
	RET
