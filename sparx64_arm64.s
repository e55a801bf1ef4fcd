//go:build gc && !purego

#include "textflag.h"

// SPARX-64/128 on vectors of 16-bit words: word a of 8 blocks in the lanes of one register, and likewise b, c, d
// (word planes). All lanes do the same, so a macro reads as the paper does, with registers for words. XROUND is the
// plainest:
//
//	the paper                                sparx64.go          NEON                        SVE2
//	A, the round, here on both branches      arx                 ROUND, ROUNDSWAPPED         XROUND
//	lambda_2, with round 2                   linearLayer, arx    LASTROUND, LINEAR           XLASTROUND, LINEAR
//	a step                                   in encryptBlock     STEP                        XSTEP
//	the inverses of these                    inverseARX, ...     UNROUND, UNLINEAR, UNSTEP   XUNROUND, UNLINEAR, XUNSTEP
//	the first key; the last one, to undo it  addLast             OPEN; CLOSE, UNCLOSE        the same
//
// Four sets of 8 blocks go side by side, so that the others work while one waits for a result. Macros for a set take
// its planes a, b, c, d, and two scratch registers. SETS is a macro that does another one for each set.
// Macros of a step take such a macro as EACH, or for two sets at a time as PAIRWISE.
//
// A step has rounds 0 to 2. x gets its key when the round begins. y comes with its key in it, by exclusive or: each
// round adds that of the next one, and round 2 that of the next step. The last key lies in memory like the
// first keys of a ninth step, so all eight steps are alike.
//
// Vector instructions are macros that take the numbers of registers: Go's assembler has no MLA and nothing of SVE, so
// their words must be put together from these numbers. Operands are in the order of Go's assembler, the destination last.
// go generate has asm2plan9s compare each macro with the instruction beside it.
//
//	0 to 15     planes of set i: a = 4i, b = 4i+1, c = 4i+2, d = 4i+3
//	16 to 19    scratch
//	20 to 25    see below
//	R0          keys of the current step
//	R1          output
//	R2          input, or the first raw value
//	R3          turns left; a turn is two steps, after which the planes are back in their registers
//	R4 to R8    scratch

#define KEYED 20  // a third scratch register, for LASTROUND
#define KX 21     // keys of x and y in the branch (a, b)
#define KY 22
#define LX 23     // and in the branch (c, d)
#define LY 24
#define FACTOR 25 // a power of two in each lane: to multiply by it is to shift left

#define STEP_BYTES 48

#define SETS(DO) \
	DO(0, 1, 2, 3, 16, 17)   \
	DO(4, 5, 6, 7, 18, 19)   \
	DO(8, 9, 10, 11, 16, 17) \
	DO(12, 13, 14, 15, 18, 19)

// The same, where (a, b) and (c, d) have changed places.
#define SWAPPED(DO) \
	DO(2, 3, 0, 1, 16, 17)   \
	DO(6, 7, 4, 5, 18, 19)   \
	DO(10, 11, 8, 9, 16, 17) \
	DO(14, 15, 12, 13, 18, 19)

// The same, in the order d, c, b, a.
#define REVERSED(DO) \
	DO(3, 2, 1, 0, 16, 17)   \
	DO(7, 6, 5, 4, 18, 19)   \
	DO(11, 10, 9, 8, 16, 17) \
	DO(15, 14, 13, 12, 18, 19)

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

// KEY broadcasts key word i of the current step: those of round r are 2r, 2r+1 for (a, b) and 6+2r, 7+2r for (c, d);
// 12, 13 and 18, 19 open the next step. By way of a general register, this does not use the vector pipes.
#define KEY(i, d) \
	MOVWU (i*4)(R0), R4 \
	DUPR4(d)

// KEYROR is KEY rotated right by n, for a word that will be rotated left by n after the key is in it. Both halves of
// the 32 bits are the same word, so they rotate like 16 bits.
#define KEYROR(n, i, d) \
	MOVWU (i*4)(R0), R4 \
	RORW  $n, R4, R4    \
	DUPR4(d)

// ADDR4 exclusive-ors R4 into one plane of each set, ADDKEY a key. Both overwrite KX, and ADDKEY R4.
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
#define LOAD(a, b, c, d, t, u) \
	VLD4.P 64(R2), [V(a).H8, V(b).H8, V(c).H8, V(d).H8] \
	REV(a, a)                                           \
	REV(b, b)                                           \
	REV(c, c)                                           \
	REV(d, d)

#define STORE(a, b, c, d, t, u) \
	REV(a, a) \
	REV(b, b) \
	REV(c, c) \
	REV(d, d) \
	VST4.P [V(a).H8, V(b).H8, V(c).H8, V(d).H8], 64(R1)

// ascending is the lowest words of the raw values from 0 to 7.
DATA ascending<>+0x00(SB)/8, $0x0003000200010000
DATA ascending<>+0x08(SB)/8, $0x0007000600050004
GLOBL ascending<>(SB), RODATA|NOPTR, $16

// The planes of 8 consecutive raw values from R2 on. The upper three words, in R5 to R7, are the same in all; the
// lowest counts up. Register 16 is ascending.
#define COUNT(a, b, c, d, t, u) \
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
	SETS(COUNT)

// ---- NEON ----
//
// No instruction rotates words of 16 bits. x ror 7 is added to y in two parts, x >> 7 by USRA and x << 9 by MLA: a
// multiplication does not use the pipes for shifts. y rol 2 is a shift and an insertion.

// The round on both branches: x ^= k; x = (x ror 7) + y; y = (y rol 2) ^ x, and the next key of y. The new x is left
// in the register of y, the new y in that of x.
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

#define ROUNDSWAPPED(a, b, c, d, t, u) ROUND(b, a, d, c, t, u)

// The linear layer, within round 2, whose y is still to come: r is the old b rol 2, and d the old d rol 2. The
// round would end with b = r ^ a and d ^= c. So the layer's t = (a ^ b) rol 8 is r with its bytes swapped. Then
// c ^= a ^ t and d ^= b ^ t. For the keys in r and d see KEYS2.
#define LINEAR(a, r, b, c, d, t) \
	REV(r, t)    \
	EOR(a, c, c) \
	EOR(r, d, d) \
	EOR(r, a, b) \
	EOR(t, c, c) \
	EOR(c, d, d)

// Round 2 and the linear layer. The new a, b, c, d are left in the registers d, c, b, a. KEYED is b with its
// key, and t that rotated, since here b is needed for the new a at once.
#define LASTROUND(a, b, c, d, t, u) \
	EOR(KX, a, a)     \
	EOR(LX, c, c)     \
	EOR(KY, b, KEYED) \
	EOR(LY, d, u)     \
	SHR(14, KEYED, t) \
	SLI(2, KEYED, t)  \
	SRA(7, a, b)      \
	SRA(7, c, d)      \
	MLA(FACTOR, a, b) \
	MLA(FACTOR, c, d) \
	SHR(14, u, c)     \
	SLI(2, u, c)      \
	LINEAR(b, t, a, d, c, u)

// KEYS0 and KEYS1 load the keys of rounds 0 and 1, those of y being the next ones.
#define KEYS0 \
	FIRSTKEY         \
	DUPR4(KX)        \
	KEYROR(2, 3, KY) \
	KEY(6, LX)       \
	KEYROR(2, 9, LY)

#define KEYS1 \
	KEY(2, KX)       \
	KEYROR(2, 5, KY) \
	KEY(8, LX)       \
	KEYROR(2, 11, LY)

// KEYS2 loads the keys of round 2. Call key 19, which is in KY, k; with its bytes swapped k'; and what is in LY
// q. LINEAR gets r with k in it, and d with q. It leaves
//
//	t            with k', as t is r with its bytes swapped
//	b = r ^ a    with k, as b should be
//	c ^= a ^ t   with k', which FIRSTKEY takes out again
//	d ^= r ^ c   with q ^ k ^ k', which should be key 13: so q is key 13 ^ k ^ k'
#define KEYS2 \
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

// LINEARKEY leaves k' in R4: key 19 is key 7 of the new step. FIRSTKEY exclusive-ors that with the key of a, which was c, for the
// first round.
#define LINEARKEY \
	MOVWU  (7*4)(R0), R4 \
	REV16W R4, R4

#define FIRSTKEY \
	LINEARKEY           \
	MOVWU (0*4)(R0), R5 \
	EORW  R5, R4, R4

#define STEP(EACH) \
	KEYS0              \
	EACH(ROUND)        \
	KEYS1              \
	EACH(ROUNDSWAPPED) \
	KEYS2              \
	EACH(LASTROUND)    \
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

// The inverse of the linear layer. With planes named for what they are after it, it is the layer itself:
// t = (a ^ b) rol 8; c ^= a ^ t; d ^= b ^ t.
#define UNLINEAR(a, b, c, d, t, u) \
	EOR(a, b, t) \
	REV(t, t)    \
	EOR(a, c, c) \
	EOR(b, d, d) \
	EOR(t, c, c) \
	EOR(t, d, d)

// UNKEYS loads the keys of round r.
#define UNKEYS(r) \
	KEYROR(7, (2*r), KX)   \
	KEY((2*r+1), KY)       \
	KEYROR(7, (2*r+6), LX) \
	KEY((2*r+7), LY)

#define UNSTEP(EACH) \
	EACH(UNLINEAR) \
	UNKEYS(2)      \
	EACH(UNROUND)  \
	UNKEYS(1)      \
	EACH(UNROUND)  \
	UNKEYS(0)      \
	EACH(UNROUND)  \
	SUB $STEP_BYTES, R0

// The arguments, the last of which is a source or a first raw value. FACTOR is 1 << 9 to encrypt, 1 << 7 to decrypt.
#define ARGUMENTS \
	MOVD keys+0(FP), R0 \
	MOVD dst+8(FP), R1  \
	MOVD src+16(FP), R2

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

// Planes in, blocks in memory out.
#define ENCRYPT(STEP1, STEP2) \
	OPEN            \
turn:            \
	STEP1           \
	STEP2           \
	SUB  $1, R3, R3 \
	CBNZ R3, turn   \
	CLOSE           \
	SETS(STORE)     \
	RET

#define DECRYPT(STEP1, STEP2) \
	UNCLOSE         \
turn:            \
	STEP1           \
	STEP2           \
	SUB  $1, R3, R3 \
	CBNZ R3, turn   \
	SETS(STORE)     \
	RET

// func encrypt32NEON(keys *roundKeys, dst, src *[32]uint64)
TEXT ·encrypt32NEON(SB), NOSPLIT, $0-24
	ARGUMENTS
	SETUP($0x02000200)
	SETS(LOAD)
	ENCRYPT(STEP(SETS), STEP(REVERSED))

// func run32NEON(keys *roundKeys, dst *[32]uint64, first uint64)
TEXT ·run32NEON(SB), NOSPLIT, $0-24
	ARGUMENTS
	SETUP($0x02000200)
	COUNT_SETS
	ENCRYPT(STEP(SETS), STEP(REVERSED))

// func decrypt32NEON(keys *roundKeys, dst, src *[32]uint64)
TEXT ·decrypt32NEON(SB), NOSPLIT, $0-24
	ARGUMENTS
	ADD $(7*STEP_BYTES), R0
	SETUP($0x00800080)
	SETS(LOAD)
	DECRYPT(UNSTEP(SWAPPED), UNSTEP(SETS))

// ---- SVE2 ----
//
// XAR exclusive-ors and rotates in one. It works on the whole of a register, however long; everything else uses the
// low 128 bits, so the kernels are the same for every vector length. Cores have XAR on one vector pipe only, of two or
// four. So set 0 is encrypted without it, by the other pipes: by llvm-mca, XAR in all four is slower than NEON on V2.

// MIXED does one macro for set 0 and another for the other three, as SETS does; MIXED2 as REVERSED does with set 0
// and SWAPPED with the others.
#define MIXED(DO, XDO) \
	DO(0, 1, 2, 3, 16, 17)    \
	XDO(4, 5, 6, 7, 18, 19)   \
	XDO(8, 9, 10, 11, 16, 17) \
	XDO(12, 13, 14, 15, 18, 19)

#define MIXED2(DO, XDO) \
	DO(3, 2, 1, 0, 16, 17)    \
	XDO(6, 7, 4, 5, 18, 19)   \
	XDO(10, 11, 8, 9, 16, 17) \
	XDO(14, 15, 12, 13, 18, 19)

// The round on both branches, as ROUND does it, but that x and y stay in their registers.
#define XROUND(a, b, c, d, t, u) \
	XAR(7, KX, a)  \
	XAR(7, LX, c)  \
	ADD8(b, a, a)  \
	ADD8(d, c, c)  \
	XAR(14, KY, b) \
	XAR(14, LY, d) \
	EOR(a, b, b)   \
	EOR(c, d, d)

// Round 2 and the linear layer. The new a, b, c, d are left in the registers c, d, a, b.
#define XLASTROUND(a, b, c, d, t, u) \
	XAR(7, KX, a)  \
	XAR(7, LX, c)  \
	ADD8(b, a, a)  \
	ADD8(d, c, c)  \
	XAR(14, KY, b) \
	XAR(14, LY, d) \
	LINEAR(a, b, b, c, d, t)

#define XSTEP(EACH) \
	KEYS0                       \
	EACH(ROUND, XROUND)         \
	KEYS1                       \
	EACH(ROUNDSWAPPED, XROUND)  \
	KEYS2                       \
	EACH(LASTROUND, XLASTROUND) \
	ADD $STEP_BYTES, R0

// UNROUND for two sets at a time. With one at a time, more of EOR would go to the pipe that XAR needs.
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

#define PAIRS(DO) \
	DO(0, 1, 2, 3, 4, 5, 6, 7) \
	DO(8, 9, 10, 11, 12, 13, 14, 15)

#define SWAPPED_PAIRS(DO) \
	DO(2, 3, 0, 1, 6, 7, 4, 5) \
	DO(10, 11, 8, 9, 14, 15, 12, 13)

#define XUNSTEP(EACH, PAIRWISE) \
	EACH(UNLINEAR)     \
	UNKEYS(2)          \
	PAIRWISE(XUNROUND) \
	UNKEYS(1)          \
	PAIRWISE(XUNROUND) \
	UNKEYS(0)          \
	PAIRWISE(XUNROUND) \
	SUB $STEP_BYTES, R0

// func encrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·encrypt32SVE2(SB), NOSPLIT, $0-24
	ARGUMENTS
	SETUP($0x02000200)
	SETS(LOAD)
	ENCRYPT(XSTEP(MIXED), XSTEP(MIXED2))

// func run32SVE2(keys *roundKeys, dst *[32]uint64, first uint64)
TEXT ·run32SVE2(SB), NOSPLIT, $0-24
	ARGUMENTS
	SETUP($0x02000200)
	COUNT_SETS
	ENCRYPT(XSTEP(MIXED), XSTEP(MIXED2))

// func decrypt32SVE2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·decrypt32SVE2(SB), NOSPLIT, $0-24
	ARGUMENTS
	ADD $(7*STEP_BYTES), R0
	SETUP($0x00800080)
	SETS(LOAD)
	DECRYPT(XUNSTEP(SWAPPED, SWAPPED_PAIRS), XUNSTEP(SETS, PAIRS))
