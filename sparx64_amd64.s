//go:build gc && !purego

#include "textflag.h"

// SPARX-64/128 on vectors of 16-bit words: word a of every block in the lanes of one register, and
// likewise b, c, d (word planes). All lanes do the same, so a round reads as in the paper, with
// registers for words. A set is as many blocks as a register has lanes. Several sets go side by
// side, so that while one waits for a result the others work.
//
// x and y always come with their keys added: each round adds those of the next one, and the last
// round of a step those of the next step, after the linear layer. The last key lies in memory like
// the first keys of a ninth step, so all eight steps are alike.
//
// AX  keys of the current step, each word twice in 32 bits, so that one operand broadcasts it
// BX  turns left; a turn is two steps, after which the branches are back in their registers
// DI  output, SI input, CX first raw value

// KEY(i) is key word i of the current step: those of round r are 2r, 2r+1 for (a, b) and 6+2r,
// 7+2r for (c, d); 12, 13 and 18, 19 open the next step.
#define KEY(i) (i*4)(AX)
#define STEP_BYTES 48

// swapBytes exchanges the bytes of each word: a rotation by 8, and the way from the little-endian
// words of memory to the cipher's.
DATA swapBytes<>+0x00(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x08(SB)/8, $0x0e0f0c0d0a0b0809
DATA swapBytes<>+0x10(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x18(SB)/8, $0x0e0f0c0d0a0b0809
DATA swapBytes<>+0x20(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x28(SB)/8, $0x0e0f0c0d0a0b0809
DATA swapBytes<>+0x30(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x38(SB)/8, $0x0e0f0c0d0a0b0809
GLOBL swapBytes<>(SB), RODATA|NOPTR, $64

// order512 and order256 hold, for each lane of the planes of consecutive raw values, how many values
// come before its own: the order that TRANSPOSE brings into memory. Four registers of 8 values make 32 lanes;
// a quarter of a register (128 bits) holds two values of each of the four.
DATA order512<>+0x00(SB)/8, $0x0018001000080000
DATA order512<>+0x08(SB)/8, $0x0019001100090001
DATA order512<>+0x10(SB)/8, $0x001a0012000a0002
DATA order512<>+0x18(SB)/8, $0x001b0013000b0003
DATA order512<>+0x20(SB)/8, $0x001c0014000c0004
DATA order512<>+0x28(SB)/8, $0x001d0015000d0005
DATA order512<>+0x30(SB)/8, $0x001e0016000e0006
DATA order512<>+0x38(SB)/8, $0x001f0017000f0007
GLOBL order512<>(SB), RODATA|NOPTR, $64

// Four registers of 4 values make 16 lanes.
DATA order256<>+0x00(SB)/8, $0x000c000800040000
DATA order256<>+0x08(SB)/8, $0x000d000900050001
DATA order256<>+0x10(SB)/8, $0x000e000a00060002
DATA order256<>+0x18(SB)/8, $0x000f000b00070003
GLOBL order256<>(SB), RODATA|NOPTR, $32

// TRANSPOSE exchanges rows and columns of the 4 x 4 words that lie, in each 64-bit lane, in p, q, r,
// s: from blocks to planes, and from planes to blocks. It leaves them in o0 to o3; p to s are spent.
#define TRANSPOSE(p, q, r, s, o0, o1, o2, o3) \
	VPUNPCKLWD  q, p, o0  \
	VPUNPCKHWD  q, p, o1  \
	VPUNPCKLWD  s, r, o2  \
	VPUNPCKHWD  s, r, o3  \
	VPUNPCKLDQ  o2, o0, p \
	VPUNPCKHDQ  o2, o0, q \
	VPUNPCKLDQ  o3, o1, r \
	VPUNPCKHDQ  o3, o1, s \
	VPUNPCKLQDQ r, p, o0  \
	VPUNPCKHQDQ r, p, o1  \
	VPUNPCKLQDQ s, q, o2  \
	VPUNPCKHQDQ s, q, o3

// ---- AVX-512: 32 lanes ----
//
// Rotations are one instruction (VPSHRDW, VPSHLDW of VBMI2 with both operands the same), and so is
// the exclusive or of three values (VPTERNLOGD $0x96), one of which may be a key in memory.
//
// A round on one set is a chain of four instructions, each of which waits for the one before. Four
// sets with two branches each (128 blocks) keep two 512-bit units busy meanwhile; two sets (64 blocks)
// serve what is less, and a shard's block, and lose nothing where such a unit is two of 256 bits.
//
// Planes of set i: a = Z(4i), b = Z(4i+1), c = Z(4i+2), d = Z(4i+3). Z16 to Z23 are scratch.
// Z31 is swapBytes.

// x = (x ror 7) + y; y = (y rol 2) ^ x; the keys of the next round.
#define ROUND512(x, y, kx, ky) \
	VPSHRDW         $7, x, x, x          \
	VPADDW          y, x, x              \
	VPSHLDW         $2, y, y, y          \
	VPTERNLOGD.BCST $0x96, KEY(ky), x, y \
	VPXORD.BCST     KEY(kx), x, x

// The third round of both branches, the linear layer, the keys of the next step. b rol 2 is a ^ b as
// it will be, so that b rol 10 is t = (a ^ b) rol 8; then c ^= a ^ t and d ^= b ^ t, where
// b = (b rol 2) ^ a and d = (d rol 2) ^ c. The new (a, b) are left in (c, d), and the other way round.
#define LINEAR512(a, b, c, d, t) \
	VPSHRDW         $7, a, a, a         \
	VPADDW          b, a, a             \
	VPSHRDW         $7, c, c, c         \
	VPADDW          d, c, c             \
	VPSHLDW         $10, b, b, t        \
	VPSHLDW         $2, b, b, b         \
	VPSHLDW         $2, d, d, d         \
	VPTERNLOGD      $0x96, c, b, d      \
	VPTERNLOGD      $0x96, a, t, d      \
	VPTERNLOGD      $0x96, a, t, c      \
	VPTERNLOGD.BCST $0x96, KEY(19), a, b \
	VPXORD.BCST     KEY(18), a, a       \
	VPXORD.BCST     KEY(12), c, c       \
	VPXORD.BCST     KEY(13), d, d

#define STEP512x2(a0, b0, c0, d0, a1, b1, c1, d1) \
	ROUND512(a0, b0, 2, 3)              \
	ROUND512(a1, b1, 2, 3)              \
	ROUND512(c0, d0, 8, 9)              \
	ROUND512(c1, d1, 8, 9)              \
	ROUND512(a0, b0, 4, 5)              \
	ROUND512(a1, b1, 4, 5)              \
	ROUND512(c0, d0, 10, 11)            \
	ROUND512(c1, d1, 10, 11)            \
	LINEAR512(a0, b0, c0, d0, Z16)      \
	LINEAR512(a1, b1, c1, d1, Z17)      \
	ADDQ $STEP_BYTES, AX

#define STEP512x4(a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3) \
	ROUND512(a0, b0, 2, 3)              \
	ROUND512(a1, b1, 2, 3)              \
	ROUND512(a2, b2, 2, 3)              \
	ROUND512(a3, b3, 2, 3)              \
	ROUND512(c0, d0, 8, 9)              \
	ROUND512(c1, d1, 8, 9)              \
	ROUND512(c2, d2, 8, 9)              \
	ROUND512(c3, d3, 8, 9)              \
	ROUND512(a0, b0, 4, 5)              \
	ROUND512(a1, b1, 4, 5)              \
	ROUND512(a2, b2, 4, 5)              \
	ROUND512(a3, b3, 4, 5)              \
	ROUND512(c0, d0, 10, 11)            \
	ROUND512(c1, d1, 10, 11)            \
	ROUND512(c2, d2, 10, 11)            \
	ROUND512(c3, d3, 10, 11)            \
	LINEAR512(a0, b0, c0, d0, Z16)      \
	LINEAR512(a1, b1, c1, d1, Z17)      \
	LINEAR512(a2, b2, c2, d2, Z18)      \
	LINEAR512(a3, b3, c3, d3, Z19)      \
	ADDQ $STEP_BYTES, AX

// The first keys of the step at AX.
#define WHITEN512(a, b, c, d) \
	VPXORD.BCST KEY(0), a, a \
	VPXORD.BCST KEY(1), b, b \
	VPXORD.BCST KEY(6), c, c \
	VPXORD.BCST KEY(7), d, d

// From 32 blocks in memory to planes, and back.
#define LOAD512(at, a, b, c, d) \
	VMOVDQU64 (at+0x00)(SI), Z20 \
	VMOVDQU64 (at+0x40)(SI), Z21 \
	VMOVDQU64 (at+0x80)(SI), Z22 \
	VMOVDQU64 (at+0xc0)(SI), Z23 \
	VPSHUFB   Z31, Z20, Z20      \
	VPSHUFB   Z31, Z21, Z21      \
	VPSHUFB   Z31, Z22, Z22      \
	VPSHUFB   Z31, Z23, Z23      \
	TRANSPOSE(Z20, Z21, Z22, Z23, a, b, c, d)

#define STORE512(at, a, b, c, d) \
	TRANSPOSE(a, b, c, d, Z20, Z21, Z22, Z23) \
	VPSHUFB   Z31, Z20, Z20      \
	VPSHUFB   Z31, Z21, Z21      \
	VPSHUFB   Z31, Z22, Z22      \
	VPSHUFB   Z31, Z23, Z23      \
	VMOVDQU64 Z20, (at+0x00)(DI) \
	VMOVDQU64 Z21, (at+0x40)(DI) \
	VMOVDQU64 Z22, (at+0x80)(DI) \
	VMOVDQU64 Z23, (at+0xc0)(DI)

// The planes of 32 consecutive raw values from CX on. The upper three words, in Z17 to Z19, are the
// same in all; the lowest counts up in the order that STORE512 undoes.
#define COUNT512(a, b, c, d) \
	VPBROADCASTW CX, a                \
	VPADDW       order512<>(SB), a, a \
	VPSHUFB      Z31, a, a            \
	VMOVDQA64    Z17, b               \
	VMOVDQA64    Z18, c               \
	VMOVDQA64    Z19, d               \
	ADDQ         $32, CX

// The upper three words of CX.
#define UPPERWORDS512 \
	MOVQ         CX, DX       \
	SHRQ         $16, DX      \
	VPBROADCASTW DX, Z17      \
	SHRQ         $16, DX      \
	VPBROADCASTW DX, Z18      \
	SHRQ         $16, DX      \
	VPBROADCASTW DX, Z19      \
	VPSHUFB      Z31, Z17, Z17 \
	VPSHUFB      Z31, Z18, Z18 \
	VPSHUFB      Z31, Z19, Z19

// The inverse of a round on (x, y), where y comes as y ^ x; so it leaves it for the next.
#define UNROUND512(x, y, kx, ky) \
	VPSHRDW         $2, y, y, y          \
	VPSUBW          y, x, x              \
	VPSHLDW         $7, x, x, x          \
	VPXORD.BCST     KEY(kx), x, x        \
	VPTERNLOGD.BCST $0x96, KEY(ky), x, y

// The inverse of a step's first round: no other round follows.
#define UNFIRST512(x, y, kx, ky) \
	VPSHRDW         $2, y, y, y          \
	VPSUBW          y, x, x              \
	VPSHLDW         $7, x, x, x          \
	VPXORD.BCST     KEY(kx), x, x        \
	VPXORD.BCST     KEY(ky), y, y

// The inverse of the linear layer: t = (c ^ d) rol 8; a ^= c ^ t; b ^= d ^ t. It leaves d ^ c and b ^ a,
// from which t drops out, in d and b; the branch that comes first is now (c, d).
#define UNLINEAR512(a, b, c, d, t) \
	VPXORD     c, d, d        \
	VPTERNLOGD $0x96, d, a, b \
	VPSHUFB    Z31, d, t      \
	VPTERNLOGD $0x96, c, t, a

#define UNSTEP512x2(a0, b0, c0, d0, a1, b1, c1, d1) \
	UNLINEAR512(a0, b0, c0, d0, Z16)    \
	UNLINEAR512(a1, b1, c1, d1, Z17)    \
	UNROUND512(c0, d0, 4, 5)            \
	UNROUND512(c1, d1, 4, 5)            \
	UNROUND512(a0, b0, 10, 11)          \
	UNROUND512(a1, b1, 10, 11)          \
	UNROUND512(c0, d0, 2, 3)            \
	UNROUND512(c1, d1, 2, 3)            \
	UNROUND512(a0, b0, 8, 9)            \
	UNROUND512(a1, b1, 8, 9)            \
	UNFIRST512(c0, d0, 0, 1)            \
	UNFIRST512(c1, d1, 0, 1)            \
	UNFIRST512(a0, b0, 6, 7)            \
	UNFIRST512(a1, b1, 6, 7)            \
	SUBQ $STEP_BYTES, AX

#define UNSTEP512x4(a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3) \
	UNLINEAR512(a0, b0, c0, d0, Z16)    \
	UNLINEAR512(a1, b1, c1, d1, Z17)    \
	UNLINEAR512(a2, b2, c2, d2, Z18)    \
	UNLINEAR512(a3, b3, c3, d3, Z19)    \
	UNROUND512(c0, d0, 4, 5)            \
	UNROUND512(c1, d1, 4, 5)            \
	UNROUND512(c2, d2, 4, 5)            \
	UNROUND512(c3, d3, 4, 5)            \
	UNROUND512(a0, b0, 10, 11)          \
	UNROUND512(a1, b1, 10, 11)          \
	UNROUND512(a2, b2, 10, 11)          \
	UNROUND512(a3, b3, 10, 11)          \
	UNROUND512(c0, d0, 2, 3)            \
	UNROUND512(c1, d1, 2, 3)            \
	UNROUND512(c2, d2, 2, 3)            \
	UNROUND512(c3, d3, 2, 3)            \
	UNROUND512(a0, b0, 8, 9)            \
	UNROUND512(a1, b1, 8, 9)            \
	UNROUND512(a2, b2, 8, 9)            \
	UNROUND512(a3, b3, 8, 9)            \
	UNFIRST512(c0, d0, 0, 1)            \
	UNFIRST512(c1, d1, 0, 1)            \
	UNFIRST512(c2, d2, 0, 1)            \
	UNFIRST512(c3, d3, 0, 1)            \
	UNFIRST512(a0, b0, 6, 7)            \
	UNFIRST512(a1, b1, 6, 7)            \
	UNFIRST512(a2, b2, 6, 7)            \
	UNFIRST512(a3, b3, 6, 7)            \
	SUBQ $STEP_BYTES, AX

// The last keys, for an AX at the last step.
#define UNWHITEN512(a, b, c, d) \
	VPXORD.BCST KEY(12), a, a \
	VPXORD.BCST KEY(13), b, b \
	VPXORD.BCST KEY(18), c, c \
	VPXORD.BCST KEY(19), d, d

// func encrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)
TEXT ·encrypt128AVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	VMOVDQU64 swapBytes<>(SB), Z31
	LOAD512(0x0, Z0, Z1, Z2, Z3)
	LOAD512(0x100, Z4, Z5, Z6, Z7)
	LOAD512(0x200, Z8, Z9, Z10, Z11)
	LOAD512(0x300, Z12, Z13, Z14, Z15)
	WHITEN512(Z0, Z1, Z2, Z3)
	WHITEN512(Z4, Z5, Z6, Z7)
	WHITEN512(Z8, Z9, Z10, Z11)
	WHITEN512(Z12, Z13, Z14, Z15)
	MOVQ $4, BX

turn:
	STEP512x4(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	STEP512x4(Z2, Z3, Z0, Z1, Z6, Z7, Z4, Z5, Z10, Z11, Z8, Z9, Z14, Z15, Z12, Z13)
	DECQ BX
	JNZ  turn

	STORE512(0x0, Z0, Z1, Z2, Z3)
	STORE512(0x100, Z4, Z5, Z6, Z7)
	STORE512(0x200, Z8, Z9, Z10, Z11)
	STORE512(0x300, Z12, Z13, Z14, Z15)
	VZEROUPPER
	RET

// func decrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)
TEXT ·decrypt128AVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	ADDQ $(7*STEP_BYTES), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	VMOVDQU64 swapBytes<>(SB), Z31
	LOAD512(0x0, Z0, Z1, Z2, Z3)
	LOAD512(0x100, Z4, Z5, Z6, Z7)
	LOAD512(0x200, Z8, Z9, Z10, Z11)
	LOAD512(0x300, Z12, Z13, Z14, Z15)
	UNWHITEN512(Z0, Z1, Z2, Z3)
	UNWHITEN512(Z4, Z5, Z6, Z7)
	UNWHITEN512(Z8, Z9, Z10, Z11)
	UNWHITEN512(Z12, Z13, Z14, Z15)
	MOVQ $4, BX

turn:
	UNSTEP512x4(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	UNSTEP512x4(Z2, Z3, Z0, Z1, Z6, Z7, Z4, Z5, Z10, Z11, Z8, Z9, Z14, Z15, Z12, Z13)
	DECQ BX
	JNZ  turn

	STORE512(0x0, Z0, Z1, Z2, Z3)
	STORE512(0x100, Z4, Z5, Z6, Z7)
	STORE512(0x200, Z8, Z9, Z10, Z11)
	STORE512(0x300, Z12, Z13, Z14, Z15)
	VZEROUPPER
	RET

// func run128AVX512(keys *roundKeys, dst *[128]uint64, first uint64)
TEXT ·run128AVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ first+16(FP), CX
	VMOVDQU64 swapBytes<>(SB), Z31
	UPPERWORDS512
	COUNT512(Z0, Z1, Z2, Z3)
	COUNT512(Z4, Z5, Z6, Z7)
	COUNT512(Z8, Z9, Z10, Z11)
	COUNT512(Z12, Z13, Z14, Z15)
	WHITEN512(Z0, Z1, Z2, Z3)
	WHITEN512(Z4, Z5, Z6, Z7)
	WHITEN512(Z8, Z9, Z10, Z11)
	WHITEN512(Z12, Z13, Z14, Z15)
	MOVQ $4, BX

turn:
	STEP512x4(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	STEP512x4(Z2, Z3, Z0, Z1, Z6, Z7, Z4, Z5, Z10, Z11, Z8, Z9, Z14, Z15, Z12, Z13)
	DECQ BX
	JNZ  turn

	STORE512(0x0, Z0, Z1, Z2, Z3)
	STORE512(0x100, Z4, Z5, Z6, Z7)
	STORE512(0x200, Z8, Z9, Z10, Z11)
	STORE512(0x300, Z12, Z13, Z14, Z15)
	VZEROUPPER
	RET

// func encrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)
TEXT ·encrypt64AVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	VMOVDQU64 swapBytes<>(SB), Z31
	LOAD512(0x0, Z0, Z1, Z2, Z3)
	LOAD512(0x100, Z4, Z5, Z6, Z7)
	WHITEN512(Z0, Z1, Z2, Z3)
	WHITEN512(Z4, Z5, Z6, Z7)
	MOVQ $4, BX

turn:
	STEP512x2(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	STEP512x2(Z2, Z3, Z0, Z1, Z6, Z7, Z4, Z5)
	DECQ BX
	JNZ  turn

	STORE512(0x0, Z0, Z1, Z2, Z3)
	STORE512(0x100, Z4, Z5, Z6, Z7)
	VZEROUPPER
	RET

// func decrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)
TEXT ·decrypt64AVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	ADDQ $(7*STEP_BYTES), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	VMOVDQU64 swapBytes<>(SB), Z31
	LOAD512(0x0, Z0, Z1, Z2, Z3)
	LOAD512(0x100, Z4, Z5, Z6, Z7)
	UNWHITEN512(Z0, Z1, Z2, Z3)
	UNWHITEN512(Z4, Z5, Z6, Z7)
	MOVQ $4, BX

turn:
	UNSTEP512x2(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	UNSTEP512x2(Z2, Z3, Z0, Z1, Z6, Z7, Z4, Z5)
	DECQ BX
	JNZ  turn

	STORE512(0x0, Z0, Z1, Z2, Z3)
	STORE512(0x100, Z4, Z5, Z6, Z7)
	VZEROUPPER
	RET

// func run64AVX512(keys *roundKeys, dst *[64]uint64, first uint64)
TEXT ·run64AVX512(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ first+16(FP), CX
	VMOVDQU64 swapBytes<>(SB), Z31
	UPPERWORDS512
	COUNT512(Z0, Z1, Z2, Z3)
	COUNT512(Z4, Z5, Z6, Z7)
	WHITEN512(Z0, Z1, Z2, Z3)
	WHITEN512(Z4, Z5, Z6, Z7)
	MOVQ $4, BX

turn:
	STEP512x2(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	STEP512x2(Z2, Z3, Z0, Z1, Z6, Z7, Z4, Z5)
	DECQ BX
	JNZ  turn

	STORE512(0x0, Z0, Z1, Z2, Z3)
	STORE512(0x100, Z4, Z5, Z6, Z7)
	VZEROUPPER
	RET

// ---- AVX2: 16 lanes ----
//
// A rotation takes two shifts and an or; rotating by 8 is swapBytes, in Y15. A key is broadcast once for
// all sets, into Y8 to Y11; Y12 and Y13 are scratch. Planes of set i: a = Y(4i), b = Y(4i+1),
// c = Y(4i+2), d = Y(4i+3).
// Two sets (32 blocks): a third one, for which there are registers, makes nothing faster.

#define ADDKEY256(i, x) \
	VPBROADCASTD KEY(i), Y14 \
	VPXOR        Y14, x, x

// x = (x ror 7) + y
#define RORADD256(x, y) \
	VPSRLW $7, x, Y12  \
	VPSLLW $9, x, x    \
	VPADDW y, Y12, Y12 \
	VPADDW Y12, x, x

// y = y rol 2
#define ROL2_256(y) \
	VPSRLW $14, y, Y13 \
	VPSLLW $2, y, y    \
	VPOR   Y13, y, y

#define ROUND256(x, y) \
	RORADD256(x, y)  \
	ROL2_256(y)      \
	VPXOR Y9, y, y   \
	VPXOR x, y, y    \
	VPXOR Y8, x, x

#define ROUND256x2(x0, y0, x1, y1, kx, ky) \
	VPBROADCASTD KEY(kx), Y8 \
	VPBROADCASTD KEY(ky), Y9 \
	ROUND256(x0, y0)         \
	ROUND256(x1, y1)

// See LINEAR512. The next step's keys are in Y8 to Y11.
#define LINEAR256(a, b, c, d) \
	RORADD256(a, b)     \
	RORADD256(c, d)     \
	ROL2_256(b)         \
	ROL2_256(d)         \
	VPSHUFB Y15, b, Y12 \
	VPXOR   a, b, b     \
	VPXOR   c, d, d     \
	VPXOR   a, Y12, Y13 \
	VPXOR   b, Y12, Y12 \
	VPXOR   Y13, c, c   \
	VPXOR   Y12, d, d   \
	VPXOR   Y8, a, a    \
	VPXOR   Y9, b, b    \
	VPXOR   Y10, c, c   \
	VPXOR   Y11, d, d

#define STEP256x2(a0, b0, c0, d0, a1, b1, c1, d1) \
	ROUND256x2(a0, b0, a1, b1, 2, 3)   \
	ROUND256x2(c0, d0, c1, d1, 8, 9)   \
	ROUND256x2(a0, b0, a1, b1, 4, 5)   \
	ROUND256x2(c0, d0, c1, d1, 10, 11) \
	VPBROADCASTD KEY(18), Y8           \
	VPBROADCASTD KEY(19), Y9           \
	VPBROADCASTD KEY(12), Y10          \
	VPBROADCASTD KEY(13), Y11          \
	LINEAR256(a0, b0, c0, d0)          \
	LINEAR256(a1, b1, c1, d1)          \
	ADDQ $STEP_BYTES, AX

#define WHITEN256(a, b, c, d) \
	ADDKEY256(0, a) \
	ADDKEY256(1, b) \
	ADDKEY256(6, c) \
	ADDKEY256(7, d)

#define UNWHITEN256(a, b, c, d) \
	ADDKEY256(12, a) \
	ADDKEY256(13, b) \
	ADDKEY256(18, c) \
	ADDKEY256(19, d)

// From 16 blocks in memory to planes, and back.
#define LOAD256(at, a, b, c, d) \
	VMOVDQU (at+0x00)(SI), Y12 \
	VMOVDQU (at+0x20)(SI), Y13 \
	VMOVDQU (at+0x40)(SI), Y14 \
	VMOVDQU (at+0x60)(SI), Y15 \
	VPSHUFB swapBytes<>(SB), Y12, Y12 \
	VPSHUFB swapBytes<>(SB), Y13, Y13 \
	VPSHUFB swapBytes<>(SB), Y14, Y14 \
	VPSHUFB swapBytes<>(SB), Y15, Y15 \
	TRANSPOSE(Y12, Y13, Y14, Y15, a, b, c, d)

#define STORE256(at, a, b, c, d) \
	TRANSPOSE(a, b, c, d, Y12, Y13, Y14, Y15) \
	VPSHUFB swapBytes<>(SB), Y12, Y12 \
	VPSHUFB swapBytes<>(SB), Y13, Y13 \
	VPSHUFB swapBytes<>(SB), Y14, Y14 \
	VPSHUFB swapBytes<>(SB), Y15, Y15 \
	VMOVDQU Y12, (at+0x00)(DI) \
	VMOVDQU Y13, (at+0x20)(DI) \
	VMOVDQU Y14, (at+0x40)(DI) \
	VMOVDQU Y15, (at+0x60)(DI)

// The word CX of the planes of 16 raw values: the same in all lanes.
#define UPPERWORD256(x) \
	SHRQ $16, CX        \
	VMOVQ CX, X15       \
	VPBROADCASTW X15, x \
	VPSHUFB swapBytes<>(SB), x, x

// The planes of 16 consecutive raw values from CX on; see COUNT512.
#define COUNT256(a, b, c, d) \
	VMOVQ        CX, X15              \
	VPBROADCASTW X15, a               \
	VPADDW       order256<>(SB), a, a \
	VPSHUFB      swapBytes<>(SB), a, a \
	MOVQ         CX, DX               \
	UPPERWORD256(b)                   \
	UPPERWORD256(c)                   \
	UPPERWORD256(d)                   \
	LEAQ         16(DX), CX

// See UNFIRST512.
#define UNFIRST256(x, y) \
	VPSLLW $14, y, Y13 \
	VPSRLW $2, y, y    \
	VPOR   Y13, y, y   \
	VPSUBW y, x, x     \
	VPSRLW $9, x, Y12  \
	VPSLLW $7, x, x    \
	VPOR   Y12, x, x   \
	VPXOR  Y8, x, x    \
	VPXOR  Y9, y, y

// See UNROUND512.
#define UNROUND256(x, y) \
	UNFIRST256(x, y) \
	VPXOR x, y, y

#define UNROUND256x2(x0, y0, x1, y1, kx, ky) \
	VPBROADCASTD KEY(kx), Y8 \
	VPBROADCASTD KEY(ky), Y9 \
	UNROUND256(x0, y0)       \
	UNROUND256(x1, y1)

#define UNFIRST256x2(x0, y0, x1, y1, kx, ky) \
	VPBROADCASTD KEY(kx), Y8 \
	VPBROADCASTD KEY(ky), Y9 \
	UNFIRST256(x0, y0)       \
	UNFIRST256(x1, y1)

#define UNLINEAR256(a, b, c, d) \
	VPXOR   c, d, d     \
	VPXOR   a, b, b     \
	VPXOR   d, b, b     \
	VPSHUFB Y15, d, Y12 \
	VPXOR   c, a, a     \
	VPXOR   Y12, a, a

#define UNSTEP256x2(a0, b0, c0, d0, a1, b1, c1, d1) \
	UNLINEAR256(a0, b0, c0, d0)          \
	UNLINEAR256(a1, b1, c1, d1)          \
	UNROUND256x2(c0, d0, c1, d1, 4, 5)   \
	UNROUND256x2(a0, b0, a1, b1, 10, 11) \
	UNROUND256x2(c0, d0, c1, d1, 2, 3)   \
	UNROUND256x2(a0, b0, a1, b1, 8, 9)   \
	UNFIRST256x2(c0, d0, c1, d1, 0, 1)   \
	UNFIRST256x2(a0, b0, a1, b1, 6, 7)   \
	SUBQ $STEP_BYTES, AX

// func encrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·encrypt32AVX2(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	LOAD256(0x0, Y0, Y1, Y2, Y3)
	LOAD256(0x80, Y4, Y5, Y6, Y7)
	WHITEN256(Y0, Y1, Y2, Y3)
	WHITEN256(Y4, Y5, Y6, Y7)
	VMOVDQU swapBytes<>(SB), Y15
	MOVQ $4, BX

turn:
	STEP256x2(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	STEP256x2(Y2, Y3, Y0, Y1, Y6, Y7, Y4, Y5)
	DECQ BX
	JNZ  turn

	STORE256(0x0, Y0, Y1, Y2, Y3)
	STORE256(0x80, Y4, Y5, Y6, Y7)
	VZEROUPPER
	RET

// func decrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·decrypt32AVX2(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	ADDQ $(7*STEP_BYTES), AX
	MOVQ dst+8(FP), DI
	MOVQ src+16(FP), SI
	LOAD256(0x0, Y0, Y1, Y2, Y3)
	LOAD256(0x80, Y4, Y5, Y6, Y7)
	UNWHITEN256(Y0, Y1, Y2, Y3)
	UNWHITEN256(Y4, Y5, Y6, Y7)
	VMOVDQU swapBytes<>(SB), Y15
	MOVQ $4, BX

turn:
	UNSTEP256x2(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	UNSTEP256x2(Y2, Y3, Y0, Y1, Y6, Y7, Y4, Y5)
	DECQ BX
	JNZ  turn

	STORE256(0x0, Y0, Y1, Y2, Y3)
	STORE256(0x80, Y4, Y5, Y6, Y7)
	VZEROUPPER
	RET

// func run32AVX2(keys *roundKeys, dst *[32]uint64, first uint64)
TEXT ·run32AVX2(SB), NOSPLIT, $0-24
	MOVQ keys+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ first+16(FP), CX
	COUNT256(Y0, Y1, Y2, Y3)
	COUNT256(Y4, Y5, Y6, Y7)
	WHITEN256(Y0, Y1, Y2, Y3)
	WHITEN256(Y4, Y5, Y6, Y7)
	VMOVDQU swapBytes<>(SB), Y15
	MOVQ $4, BX

turn:
	STEP256x2(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	STEP256x2(Y2, Y3, Y0, Y1, Y6, Y7, Y4, Y5)
	DECQ BX
	JNZ  turn

	STORE256(0x0, Y0, Y1, Y2, Y3)
	STORE256(0x80, Y4, Y5, Y6, Y7)
	VZEROUPPER
	RET

