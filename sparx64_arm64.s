//go:build gc && !purego

#include "textflag.h"

// SPARX-64/128 on vectors of 16-bit words: word a of 8 blocks in the lanes of one register, and
// likewise b, c, d (word planes). All lanes do the same, so a round reads as in the paper, with
// registers for words. Four such sets of 8 blocks go side by side, so that while one waits for a
// result the others work.
//
// x gets its key when the round begins. y comes with its key added: each round adds that of the next
// one, and the last round of a step that of the next step. The last key lies in memory like the first
// keys of a ninth step, so all eight steps are alike.
//
// Vector instructions are macros that take the numbers of registers: Go's assembler knows neither MLA
// nor XAR, whose opcodes must be put together from these numbers. Operands are in the order of Go's
// assembler, the destination last. internal/tools/arm64/opcodes.sh compares the opcodes with an assembler's.
//
// 0 to 15    planes of set i: a = 4i, b = 4i+1, c = 4i+2, d = 4i+3
// 16 to 20   scratch
// R0         keys of the current step
// R1         output
// R2         input, or the first raw value
// R3         turns left; a turn is two steps, after which the planes are back in their registers
// R4 to R8   scratch
#define KX 21     // keys of x and y in the branch (a, b)
#define KY 22
#define LX 23     // and in the branch (c, d)
#define LY 24
#define FACTOR 25 // a power of two in each lane: to multiply by it is to shift left

#define STEP_BYTES 48

#define EOR(m, n, d)  WORD $(0x6e201c00 | m<<16 | n<<5 | d)        // eor   vd.16b, vn.16b, vm.16b
#define ADD8(m, n, d) WORD $(0x4e608400 | m<<16 | n<<5 | d)        // add   vd.8h, vn.8h, vm.8h
#define SUB8(m, n, d) WORD $(0x6e608400 | m<<16 | n<<5 | d)        // sub   vd.8h, vn.8h, vm.8h
#define MLA(m, n, d)  WORD $(0x4e609400 | m<<16 | n<<5 | d)        // mla   vd.8h, vn.8h, vm.8h
#define SHR(i, n, d)  WORD $(0x6f000400 | (32-i)<<16 | n<<5 | d)   // ushr  vd.8h, vn.8h, #i
#define SRA(i, n, d)  WORD $(0x6f001400 | (32-i)<<16 | n<<5 | d)   // usra  vd.8h, vn.8h, #i
#define SLI(i, n, d)  WORD $(0x6f005400 | (16+i)<<16 | n<<5 | d)   // sli   vd.8h, vn.8h, #i
#define REV(n, d)     WORD $(0x4e201800 | n<<5 | d)                // rev16 vd.16b, vn.16b
#define DUPR4(d)      WORD $(0x4e040c80 | d)                       // dup   vd.4s, w4
#define DUP8(r, d)    WORD $(0x4e020c00 | r<<5 | d)                // dup   vd.8h, wr
#define XAR(i, m, d)  WORD $(0x04203400 | (32-i)<<16 | m<<5 | d)   // xar   zd.h, zd.h, zm.h, #i

// KEY broadcasts key word i of the current step: those of round r are 2r, 2r+1 for (a, b) and 6+2r,
// 7+2r for (c, d); 12, 13 and 18, 19 open the next step. The way by a general register costs the
// vector pipes nothing.
#define KEY(i, d) \
	MOVWU (i*4)(R0), R4 \
	DUPR4(d)

// KEYROR is KEY rotated right by n, for what will be rotated left by n once the key is added. A word
// is there twice in its 32 bits, so they rotate like 16.
#define KEYROR(n, i, d) \
	MOVWU (i*4)(R0), R4 \
	RORW  $n, R4, R4    \
	DUPR4(d)

// ADDR4 adds R4 to one plane of each set, ADDKEY a key.
#define ADDR4(p0, p1, p2, p3) \
	DUPR4(KX)       \
	EOR(KX, p0, p0) \
	EOR(KX, p1, p1) \
	EOR(KX, p2, p2) \
	EOR(KX, p3, p3)

#define ADDKEY(i, p0, p1, p2, p3) \
	MOVWU (i*4)(R0), R4 \
	ADDR4(p0, p1, p2, p3)

// From 8 blocks in memory to planes, and back. The words are little-endian in memory.
#define LOAD(V0, V1, V2, V3, a, b, c, d) \
	VLD4.P 64(R2), [V0.H8, V1.H8, V2.H8, V3.H8] \
	REV(a, a)                                   \
	REV(b, b)                                   \
	REV(c, c)                                   \
	REV(d, d)

#define STORE(V0, V1, V2, V3, a, b, c, d) \
	REV(a, a) \
	REV(b, b) \
	REV(c, c) \
	REV(d, d) \
	VST4.P [V0.H8, V1.H8, V2.H8, V3.H8], 64(R1)

#define LOAD_SETS \
	LOAD(V0, V1, V2, V3, 0, 1, 2, 3)     \
	LOAD(V4, V5, V6, V7, 4, 5, 6, 7)     \
	LOAD(V8, V9, V10, V11, 8, 9, 10, 11) \
	LOAD(V12, V13, V14, V15, 12, 13, 14, 15)

#define STORE_SETS \
	STORE(V0, V1, V2, V3, 0, 1, 2, 3)     \
	STORE(V4, V5, V6, V7, 4, 5, 6, 7)     \
	STORE(V8, V9, V10, V11, 8, 9, 10, 11) \
	STORE(V12, V13, V14, V15, 12, 13, 14, 15)

// ascending is the lowest words of the raw values from 0 to 7.
DATA ascending<>+0x00(SB)/8, $0x0003000200010000
DATA ascending<>+0x08(SB)/8, $0x0007000600050004
GLOBL ascending<>(SB), RODATA|NOPTR, $16

// The planes of 8 consecutive raw values from R2 on. The upper three words, in R5 to R7, are the same
// in all; the lowest counts up. Register 16 is ascending.
#define COUNT(a, b, c, d) \
	DUP8(2, a)     \
	ADD8(16, a, a) \
	REV(a, a)      \
	DUP8(5, b)     \
	DUP8(6, c)     \
	DUP8(7, d)     \
	ADD $8, R2, R2

#define COUNT_SETS \
	MOVD  $ascending<>(SB), R8 \
	VLD1  (R8), [V16.B16]      \
	REV16 R2, R4               \
	LSR   $16, R4, R5          \
	LSR   $32, R4, R6          \
	LSR   $48, R4, R7          \
	COUNT(0, 1, 2, 3)          \
	COUNT(4, 5, 6, 7)          \
	COUNT(8, 9, 10, 11)        \
	COUNT(12, 13, 14, 15)

// ---- NEON ----
//
// No instruction rotates words of 16 bits. x ror 7 is added to y in two parts, x >> 7 by USRA and
// x << 9 by a multiplication, which other pipes do than those for shifts. y rol 2 is a shift and an
// insertion.

// x ^= k; x = (x ror 7) + y; y = (y rol 2) ^ x, and the next key of y, on both branches. The new x is
// left in y, the new y in x.
#define ROUND(a, b, c, d, t, u) \
	EOR(KX, a, a)     \
	EOR(LX, c, c)     \
	EOR(KY, b, t)     \
	EOR(LY, d, u)     \
	SRA(7, a, b)      \
	SRA(7, c, d)      \
	MLA(FACTOR, a, b) \
	MLA(FACTOR, c, d) \
	SHR(14, t, a)     \
	SHR(14, u, c)     \
	SLI(2, t, a)      \
	SLI(2, u, c)      \
	EOR(b, a, a)      \
	EOR(d, c, c)

// The linear layer, after x of the third round. b rol 2 is a ^ b as it will be, so that it is
// t = (a ^ b) rol 8 with its bytes swapped; then c ^= a ^ t and d ^= b ^ t, where b = (b rol 2) ^ a and
// d = (d rol 2) ^ c. It takes b rol 2 in r and d rol 2 in d, and leaves b in b.
//
// These two have the keys 19 and 13 added. Key 19, which is for b, goes on from r to d, and by t to c
// and d with its bytes swapped. LY of the third round makes up for it in d, the next KX in c.
#define LINEAR(a, r, b, c, d, t) \
	REV(r, t)    \
	EOR(a, c, c) \
	EOR(r, d, d) \
	EOR(r, a, b) \
	EOR(t, c, c) \
	EOR(c, d, d)

// The third round and the linear layer. The new planes a, b, c, d are left in d, c, b, a.
#define LASTROUND(a, b, c, d, t, u) \
	EOR(KX, a, a)     \
	EOR(LX, c, c)     \
	EOR(KY, b, 20)    \
	EOR(LY, d, u)     \
	SHR(14, 20, t)    \
	SLI(2, 20, t)     \
	SRA(7, a, b)      \
	SRA(7, c, d)      \
	MLA(FACTOR, a, b) \
	MLA(FACTOR, c, d) \
	SHR(14, u, c)     \
	SLI(2, u, c)      \
	LINEAR(b, t, a, d, c, u)

// KEYS1, KEYS2 and KEYS3 load the keys of a step's rounds, those of y being the next ones.
#define KEYS1 \
	FIRSTKEY         \
	DUPR4(KX)        \
	KEYROR(2, 3, KY) \
	KEY(6, LX)       \
	KEYROR(2, 9, LY)

#define KEYS2 \
	KEY(2, KX)       \
	KEYROR(2, 5, KY) \
	KEY(8, LX)       \
	KEYROR(2, 11, LY)

#define KEYS3 \
	KEY(4, KX)            \
	KEYROR(2, 19, KY)     \
	KEY(10, LX)           \
	MOVWU  (13*4)(R0), R4 \
	MOVWU  (19*4)(R0), R5 \
	EORW   R5, R4, R4     \
	REV16W R5, R5         \
	EORW   R5, R4, R4     \
	RORW   $2, R4, R4     \
	DUPR4(LY)

// FIRSTKEY leaves in R4 the key of a for the first round, with what LINEAR has added to it; key 7 of
// this step is key 19 of the last one.
#define FIRSTKEY \
	LINEARKEY           \
	MOVWU (0*4)(R0), R5 \
	EORW  R5, R4, R4

#define LINEARKEY \
	MOVWU  (7*4)(R0), R4 \
	REV16W R4, R4

#define STEP(a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3) \
	KEYS1                             \
	ROUND(a0, b0, c0, d0, 16, 17)     \
	ROUND(a1, b1, c1, d1, 18, 19)     \
	ROUND(a2, b2, c2, d2, 16, 17)     \
	ROUND(a3, b3, c3, d3, 18, 19)     \
	KEYS2                             \
	ROUND(b0, a0, d0, c0, 16, 17)     \
	ROUND(b1, a1, d1, c1, 18, 19)     \
	ROUND(b2, a2, d2, c2, 16, 17)     \
	ROUND(b3, a3, d3, c3, 18, 19)     \
	KEYS3                             \
	LASTROUND(a0, b0, c0, d0, 16, 17) \
	LASTROUND(a1, b1, c1, d1, 18, 19) \
	LASTROUND(a2, b2, c2, d2, 16, 17) \
	LASTROUND(a3, b3, c3, d3, 18, 19) \
	ADD $STEP_BYTES, R0

// The inverse of a round on both branches: y = (x ^ y) ror 2; x = (x - y) rol 7, and both keys.
#define UNROUND(a, b, c, d, t, u) \
	EOR(a, b, t)      \
	EOR(c, d, u)      \
	SHR(2, t, b)      \
	SHR(2, u, d)      \
	SLI(14, t, b)     \
	SLI(14, u, d)     \
	SUB8(b, a, t)     \
	SUB8(d, c, u)     \
	EOR(KX, t, t)     \
	EOR(LX, u, u)     \
	SHR(9, t, a)      \
	SHR(9, u, c)      \
	MLA(FACTOR, t, a) \
	MLA(FACTOR, u, c) \
	EOR(KY, b, b)     \
	EOR(LY, d, d)

// The inverse of the linear layer: t = (c ^ d) rol 8; a ^= c ^ t; b ^= d ^ t. The branch that comes
// first is now (c, d).
#define UNLINEAR(a, b, c, d, t) \
	EOR(c, d, t) \
	REV(t, t)    \
	EOR(c, a, a) \
	EOR(d, b, b) \
	EOR(t, a, a) \
	EOR(t, b, b)

// UNKEYS loads the keys of round r.
#define UNKEYS(r) \
	KEYROR(7, (2*r), KX)   \
	KEY((2*r+1), KY)       \
	KEYROR(7, (2*r+6), LX) \
	KEY((2*r+7), LY)

// The inverse of a step whose planes come as c, d, a, b and are left as a, b, c, d.
#define UNSTEP(a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3) \
	UNLINEAR(c0, d0, a0, b0, 16)    \
	UNLINEAR(c1, d1, a1, b1, 17)    \
	UNLINEAR(c2, d2, a2, b2, 18)    \
	UNLINEAR(c3, d3, a3, b3, 19)    \
	UNKEYS(2)                       \
	UNROUND(a0, b0, c0, d0, 16, 17) \
	UNROUND(a1, b1, c1, d1, 18, 19) \
	UNROUND(a2, b2, c2, d2, 16, 17) \
	UNROUND(a3, b3, c3, d3, 18, 19) \
	UNKEYS(1)                       \
	UNROUND(a0, b0, c0, d0, 16, 17) \
	UNROUND(a1, b1, c1, d1, 18, 19) \
	UNROUND(a2, b2, c2, d2, 16, 17) \
	UNROUND(a3, b3, c3, d3, 18, 19) \
	UNKEYS(0)                       \
	UNROUND(a0, b0, c0, d0, 16, 17) \
	UNROUND(a1, b1, c1, d1, 18, 19) \
	UNROUND(a2, b2, c2, d2, 16, 17) \
	UNROUND(a3, b3, c3, d3, 18, 19) \
	SUB $STEP_BYTES, R0

// FACTOR is 1 << 9 to encrypt, 1 << 7 to decrypt.
#define SETUP(factor) \
	MOVD factor, R4 \
	DUPR4(FACTOR)   \
	MOVD $4, R3

// What the first step expects of the planes, and what remains to be done after the last.
#define OPEN \
	LINEARKEY              \
	ADDR4(0, 4, 8, 12)     \
	ADDKEY(1, 1, 5, 9, 13) \
	ADDKEY(7, 3, 7, 11, 15)

#define CLOSE \
	FIRSTKEY           \
	ADDR4(0, 4, 8, 12) \
	ADDKEY(6, 2, 6, 10, 14)

// The last keys, for an R0 at the last step.
#define UNCLOSE \
	ADDKEY(12, 0, 4, 8, 12)  \
	ADDKEY(13, 1, 5, 9, 13)  \
	ADDKEY(18, 2, 6, 10, 14) \
	ADDKEY(19, 3, 7, 11, 15)

// func encrypt32NEON(keys *roundKeys, dst, src *[32]uint64)
TEXT ·encrypt32NEON(SB), NOSPLIT, $0-24
	MOVD keys+0(FP), R0
	MOVD dst+8(FP), R1
	MOVD src+16(FP), R2
	SETUP($0x02000200)
	LOAD_SETS
	OPEN

turn:
	STEP(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	STEP(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)
	SUB  $1, R3, R3
	CBNZ R3, turn

	CLOSE
	STORE_SETS
	RET

// func run32NEON(keys *roundKeys, dst *[32]uint64, first uint64)
TEXT ·run32NEON(SB), NOSPLIT, $0-24
	MOVD keys+0(FP), R0
	MOVD dst+8(FP), R1
	MOVD first+16(FP), R2
	SETUP($0x02000200)
	COUNT_SETS
	OPEN

turn:
	STEP(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	STEP(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12)
	SUB  $1, R3, R3
	CBNZ R3, turn

	CLOSE
	STORE_SETS
	RET

// func decrypt32NEON(keys *roundKeys, dst, src *[32]uint64)
TEXT ·decrypt32NEON(SB), NOSPLIT, $0-24
	MOVD keys+0(FP), R0
	ADD  $(7*STEP_BYTES), R0
	MOVD dst+8(FP), R1
	MOVD src+16(FP), R2
	SETUP($0x00800080)
	LOAD_SETS
	UNCLOSE

turn:
	UNSTEP(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
	UNSTEP(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	SUB  $1, R3, R3
	CBNZ R3, turn

	STORE_SETS
	RET

// ---- SVE2 ----
//
// XAR exclusive-ors and rotates in one. It works on the whole of a register, however long, of which
// all else uses the low 128 bits: the kernels are the same for every vector length. Since cores have
// XAR on one of their vector pipes only, be there two or four, set 0 is encrypted without it, by the
// other pipes; docs/arm64.md has the figures.

// See ROUND; x and y stay in their registers.
#define XROUND(a, b, c, d) \
	XAR(7, KX, a)  \
	XAR(7, LX, c)  \
	ADD8(b, a, a)  \
	ADD8(d, c, c)  \
	XAR(14, KY, b) \
	XAR(14, LY, d) \
	EOR(a, b, b)   \
	EOR(c, d, d)

// The new planes a, b, c, d are left in c, d, a, b.
#define XLASTROUND(a, b, c, d, t) \
	XAR(7, KX, a)  \
	XAR(7, LX, c)  \
	ADD8(b, a, a)  \
	ADD8(d, c, c)  \
	XAR(14, KY, b) \
	XAR(14, LY, d) \
	LINEAR(a, b, b, c, d, t)

#define XSTEP(a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3) \
	KEYS1                             \
	ROUND(a0, b0, c0, d0, 16, 17)     \
	XROUND(a1, b1, c1, d1)            \
	XROUND(a2, b2, c2, d2)            \
	XROUND(a3, b3, c3, d3)            \
	KEYS2                             \
	ROUND(b0, a0, d0, c0, 16, 17)     \
	XROUND(a1, b1, c1, d1)            \
	XROUND(a2, b2, c2, d2)            \
	XROUND(a3, b3, c3, d3)            \
	KEYS3                             \
	LASTROUND(a0, b0, c0, d0, 16, 17) \
	XLASTROUND(a1, b1, c1, d1, 18)    \
	XLASTROUND(a2, b2, c2, d2, 19)    \
	XLASTROUND(a3, b3, c3, d3, 20)    \
	ADD $STEP_BYTES, R0

// See UNROUND, here for two sets; with one alone, more of EOR falls to the pipe that XAR needs.
#define XUNROUND(a, b, c, d, e, f, g, h) \
	XAR(2, a, b)  \
	XAR(2, c, d)  \
	XAR(2, e, f)  \
	XAR(2, g, h)  \
	SUB8(b, a, a) \
	SUB8(d, c, c) \
	SUB8(f, e, e) \
	SUB8(h, g, g) \
	XAR(9, KX, a) \
	XAR(9, LX, c) \
	XAR(9, KX, e) \
	XAR(9, LX, g) \
	EOR(KY, b, b) \
	EOR(LY, d, d) \
	EOR(KY, f, f) \
	EOR(LY, h, h)

#define XUNSTEP(a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3) \
	UNLINEAR(c0, d0, a0, b0, 16)             \
	UNLINEAR(c1, d1, a1, b1, 17)             \
	UNLINEAR(c2, d2, a2, b2, 18)             \
	UNLINEAR(c3, d3, a3, b3, 19)             \
	UNKEYS(2)                                \
	XUNROUND(a0, b0, c0, d0, a1, b1, c1, d1) \
	XUNROUND(a2, b2, c2, d2, a3, b3, c3, d3) \
	UNKEYS(1)                                \
	XUNROUND(a0, b0, c0, d0, a1, b1, c1, d1) \
	XUNROUND(a2, b2, c2, d2, a3, b3, c3, d3) \
	UNKEYS(0)                                \
	XUNROUND(a0, b0, c0, d0, a1, b1, c1, d1) \
	XUNROUND(a2, b2, c2, d2, a3, b3, c3, d3) \
	SUB $STEP_BYTES, R0

// func encrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·encrypt32SVE2(SB), NOSPLIT, $0-24
	MOVD keys+0(FP), R0
	MOVD dst+8(FP), R1
	MOVD src+16(FP), R2
	SETUP($0x02000200)
	LOAD_SETS
	OPEN

turn:
	XSTEP(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	XSTEP(3, 2, 1, 0, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
	SUB  $1, R3, R3
	CBNZ R3, turn

	CLOSE
	STORE_SETS
	RET

// func run32SVE2(keys *roundKeys, dst *[32]uint64, first uint64)
TEXT ·run32SVE2(SB), NOSPLIT, $0-24
	MOVD keys+0(FP), R0
	MOVD dst+8(FP), R1
	MOVD first+16(FP), R2
	SETUP($0x02000200)
	COUNT_SETS
	OPEN

turn:
	XSTEP(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	XSTEP(3, 2, 1, 0, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
	SUB  $1, R3, R3
	CBNZ R3, turn

	CLOSE
	STORE_SETS
	RET

// func decrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·decrypt32SVE2(SB), NOSPLIT, $0-24
	MOVD keys+0(FP), R0
	ADD  $(7*STEP_BYTES), R0
	MOVD dst+8(FP), R1
	MOVD src+16(FP), R2
	SETUP($0x00800080)
	LOAD_SETS
	UNCLOSE

turn:
	XUNSTEP(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
	XUNSTEP(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	SUB  $1, R3, R3
	CBNZ R3, turn

	STORE_SETS
	RET
