//go:build gc && !purego

#include "textflag.h"

// SPARX-64/128 on vectors of 16-bit words: word a of every block in the lanes of one register, and likewise b, c, d
// (word planes). All lanes do the same, so a macro reads as the paper does, with registers for words:
//
//	the paper                          sparx64.go          AVX-512                       AVX2
//	A, the round on a branch (x, y)    arx                 ROUND512                      ROUND256
//	lambda_2, with round 2             linearLayer, arx    LINEAR512                     LINEAR256
//	a step                             in encryptBlock     STEP512                       STEP256
//	the inverses of these              inverseARX, ...     UNROUND512, UNLINEAR512, ...  UNROUND256, ...
//	the first key; to undo the last    addLast             WHITEN512; UNWHITEN512        WHITEN256; UNWHITEN256
//
// A step has rounds 0 to 2. x and y always come with their keys added: each round adds those of the next one, and the
// linear layer those of the next step. The last key lies in memory like the first keys of a ninth step, so all eight
// steps are alike.
//
// As many blocks as a register has lanes are a set. Several sets go side by side, so that the others work while one
// waits for a result. Macros for a set take its number i and its planes a, b, c, d. SETS is a macro that does another
// one for each set.
//
//	registers                      AVX-512             AVX2
//	planes a, b, c, d of set i     Z(4i) to Z(4i+3)    Y(4i) to Y(4i+3)
//	key words                      from memory         Y8 to Y11; Y14 to whiten
//	scratch                        Z16, Z20 to Z23     Y12, Y13; outside of the turns Y14, Y15, too
//	upper words of a raw value     Z17 to Z19          planes b to d, before the first round
//	swapBytes; fours               Z31                 Y15; Y14
//
//	AX    keys of the current step, each word twice in 32 bits, so that one operand broadcasts it
//	BX    turns left; a turn is two steps, after which the branches are back in their registers
//	DI    output
//	SI    input
//	CX    first raw value
//	DX    scratch

// KEY(i) is key word i of the current step: those of round r are 2r, 2r+1 for (a, b) and 6+2r,
// 7+2r for (c, d); 12, 13 and 18, 19 open the next step.
#define KEY(i) (i*4)(AX)
#define STEP_BYTES 48

// The arguments of kernels that have a source, and of those that count.
#define ARGUMENTS \
	MOVQ keys+0(FP), AX \
	MOVQ dst+8(FP), DI  \
	MOVQ src+16(FP), SI

#define RUN_ARGUMENTS \
	MOVQ keys+0(FP), AX \
	MOVQ dst+8(FP), DI  \
	MOVQ first+16(FP), CX

#define LAST_STEP ADDQ $(7*STEP_BYTES), AX

// swapBytes exchanges the bytes of each word. That is a rotation by 8, and it turns the big-endian words of memory
// into numbers.
DATA swapBytes<>+0x00(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x08(SB)/8, $0x0e0f0c0d0a0b0809
DATA swapBytes<>+0x10(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x18(SB)/8, $0x0e0f0c0d0a0b0809
DATA swapBytes<>+0x20(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x28(SB)/8, $0x0e0f0c0d0a0b0809
DATA swapBytes<>+0x30(SB)/8, $0x0607040502030001
DATA swapBytes<>+0x38(SB)/8, $0x0e0f0c0d0a0b0809
GLOBL swapBytes<>(SB), RODATA|NOPTR, $64

// order512 and order256 hold, for each lane of the planes of consecutive raw values, how many values come before its
// own in memory, where TRANSPOSE puts them: four registers of 8 values make 32 lanes, and a quarter of a register
// (128 bits) holds two values of each of the four.
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

// A word times 4, of 32 bits: the upper half is the word shifted right by 14.
DATA fours<>+0x00(SB)/8, $0x0004000400040004
DATA fours<>+0x08(SB)/8, $0x0004000400040004
DATA fours<>+0x10(SB)/8, $0x0004000400040004
DATA fours<>+0x18(SB)/8, $0x0004000400040004
GLOBL fours<>(SB), RODATA|NOPTR, $32

// TRANSPOSE exchanges rows and columns of the 4 x 4 words that lie, in each 64-bit lane, in p, q, r, s: from blocks
// to planes, and from planes to blocks. It leaves them in o0 to o3, and garbage in p to s.
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
// A rotation is one instruction (VPSHRDW, VPSHLDW of VBMI2, with both operands the same), and so is the exclusive or
// of three values (VPTERNLOGD $0x96), one of which may be a key in memory.
//
// A round on one set is a chain of four instructions, each of which waits for the one before. Four sets with two
// branches each (128 blocks) keep two 512-bit units busy meanwhile. Two sets (64 blocks) are for fewer blocks, and
// for those of a shard; where a 512-bit unit is two of 256 bits they are as fast as four.

#define SETS512x4(DO) \
	DO(0, Z0, Z1, Z2, Z3)   \
	DO(1, Z4, Z5, Z6, Z7)   \
	DO(2, Z8, Z9, Z10, Z11) \
	DO(3, Z12, Z13, Z14, Z15)

#define SETS512x2(DO) \
	DO(0, Z0, Z1, Z2, Z3) \
	DO(1, Z4, Z5, Z6, Z7)

// The same, where (a, b) and (c, d) have changed places.
#define SWAPPED512x4(DO) \
	DO(0, Z2, Z3, Z0, Z1)   \
	DO(1, Z6, Z7, Z4, Z5)   \
	DO(2, Z10, Z11, Z8, Z9) \
	DO(3, Z14, Z15, Z12, Z13)

#define SWAPPED512x2(DO) \
	DO(0, Z2, Z3, Z0, Z1) \
	DO(1, Z6, Z7, Z4, Z5)

// The round: x = (x ror 7) + y; y = (y rol 2) ^ x. Then the keys of the next round.
#define ROUND512(x, y, kx, ky) \
	VPSHRDW         $7, x, x, x          \
	VPADDW          y, x, x              \
	VPSHLDW         $2, y, y, y          \
	VPTERNLOGD.BCST $0x96, KEY(ky), x, y \
	VPXORD.BCST     KEY(kx), x, x

// Rounds 0 and 1. The last two are the keys of the next round.
#define ROUND0AB(i, a, b, c, d) ROUND512(a, b, 2, 3)
#define ROUND0CD(i, a, b, c, d) ROUND512(c, d, 8, 9)
#define ROUND1AB(i, a, b, c, d) ROUND512(a, b, 4, 5)
#define ROUND1CD(i, a, b, c, d) ROUND512(c, d, 10, 11)

// Round 2 of both branches, the linear layer, and the keys of the next step.
//
// The round ends with b = (b rol 2) ^ a and d = (d rol 2) ^ c. So the layer's t = (a ^ b) rol 8 is the old b rol 10;
// it is in Z16. Then c ^= a ^ t, and with this c, d ^= b ^ t is the old (d rol 2) ^ (b rol 2) ^ c.
//
// The branches do not move: the next step takes the registers c, d for its (a, b).
#define LINEAR512(i, a, b, c, d) \
	VPSHRDW         $7, a, a, a          \
	VPADDW          b, a, a              \
	VPSHRDW         $7, c, c, c          \
	VPADDW          d, c, c              \
	VPSHLDW         $10, b, b, Z16       \
	VPSHLDW         $2, b, b, b          \
	VPSHLDW         $2, d, d, d          \
	VPTERNLOGD      $0x96, a, Z16, c     \
	VPTERNLOGD.BCST $0x96, KEY(13), b, d \
	VPTERNLOGD.BCST $0x96, KEY(19), a, b \
	VPXORD          c, d, d              \
	VPXORD.BCST     KEY(18), a, a        \
	VPXORD.BCST     KEY(12), c, c

#define STEP512(SETS) \
	SETS(ROUND0AB)  \
	SETS(ROUND0CD)  \
	SETS(ROUND1AB)  \
	SETS(ROUND1CD)  \
	SETS(LINEAR512) \
	ADDQ $STEP_BYTES, AX

// The first keys of the step at AX.
#define WHITEN512(i, a, b, c, d) \
	VPXORD.BCST KEY(0), a, a \
	VPXORD.BCST KEY(1), b, b \
	VPXORD.BCST KEY(6), c, c \
	VPXORD.BCST KEY(7), d, d

// From 32 blocks in memory to planes, and back.
#define LOAD512(i, a, b, c, d) \
	VMOVDQU64 (i*0x100+0x00)(SI), Z20 \
	VMOVDQU64 (i*0x100+0x40)(SI), Z21 \
	VMOVDQU64 (i*0x100+0x80)(SI), Z22 \
	VMOVDQU64 (i*0x100+0xc0)(SI), Z23 \
	VPSHUFB   Z31, Z20, Z20      \
	VPSHUFB   Z31, Z21, Z21      \
	VPSHUFB   Z31, Z22, Z22      \
	VPSHUFB   Z31, Z23, Z23      \
	TRANSPOSE(Z20, Z21, Z22, Z23, a, b, c, d)

#define STORE512(i, a, b, c, d) \
	TRANSPOSE(a, b, c, d, Z20, Z21, Z22, Z23) \
	VPSHUFB   Z31, Z20, Z20      \
	VPSHUFB   Z31, Z21, Z21      \
	VPSHUFB   Z31, Z22, Z22      \
	VPSHUFB   Z31, Z23, Z23      \
	VMOVDQU64 Z20, (i*0x100+0x00)(DI) \
	VMOVDQU64 Z21, (i*0x100+0x40)(DI) \
	VMOVDQU64 Z22, (i*0x100+0x80)(DI) \
	VMOVDQU64 Z23, (i*0x100+0xc0)(DI)

// The planes of 32 consecutive raw values from CX on. The upper three words, in Z17 to Z19, are the same in all; the
// lowest counts up in the order that STORE512 undoes.
#define COUNT512(i, a, b, c, d) \
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

// The inverse of a round on (x, y). y comes as y ^ x, and is left so for the next one.
#define UNROUND512(x, y, kx, ky) \
	VPSHRDW         $2, y, y, y          \
	VPSUBW          y, x, x              \
	VPSHLDW         $7, x, x, x          \
	VPXORD.BCST     KEY(kx), x, x        \
	VPTERNLOGD.BCST $0x96, KEY(ky), x, y

// The inverse of round 0: no other round follows.
#define UNFIRST512(x, y, kx, ky) \
	VPSHRDW         $2, y, y, y          \
	VPSUBW          y, x, x              \
	VPSHLDW         $7, x, x, x          \
	VPXORD.BCST     KEY(kx), x, x        \
	VPXORD.BCST     KEY(ky), y, y

// The inverse of the linear layer: t = (c ^ d) rol 8; a ^= c ^ t; b ^= d ^ t. As UNROUND512 takes them, it leaves
// c ^ d in d, and the new a ^ b in b: that is a ^ b ^ c ^ d, since t drops out.
//
// The step's own (a, b) are in the registers c, d. AB and CD in the names below are the step's branches, so that a
// macro with AB takes the registers c, d.
#define UNLINEAR512(i, a, b, c, d) \
	VPXORD     c, d, d          \
	VPTERNLOGD $0x96, d, a, b   \
	VPSHUFB    Z31, d, Z16      \
	VPTERNLOGD $0x96, c, Z16, a

#define UNROUND2AB(i, a, b, c, d) UNROUND512(c, d, 4, 5)
#define UNROUND2CD(i, a, b, c, d) UNROUND512(a, b, 10, 11)
#define UNROUND1AB(i, a, b, c, d) UNROUND512(c, d, 2, 3)
#define UNROUND1CD(i, a, b, c, d) UNROUND512(a, b, 8, 9)
#define UNROUND0AB(i, a, b, c, d) UNFIRST512(c, d, 0, 1)
#define UNROUND0CD(i, a, b, c, d) UNFIRST512(a, b, 6, 7)

#define UNSTEP512(SETS) \
	SETS(UNLINEAR512) \
	SETS(UNROUND2AB)  \
	SETS(UNROUND2CD)  \
	SETS(UNROUND1AB)  \
	SETS(UNROUND1CD)  \
	SETS(UNROUND0AB)  \
	SETS(UNROUND0CD)  \
	SUBQ $STEP_BYTES, AX

// The last keys, for an AX at the last step.
#define UNWHITEN512(i, a, b, c, d) \
	VPXORD.BCST KEY(12), a, a \
	VPXORD.BCST KEY(13), b, b \
	VPXORD.BCST KEY(18), c, c \
	VPXORD.BCST KEY(19), d, d

// Planes in, blocks in memory out.
#define ENCRYPT512(SETS, SWAPPED) \
	SETS(WHITEN512)   \
	MOVQ $4, BX       \
turn:                 \
	STEP512(SETS)     \
	STEP512(SWAPPED)  \
	DECQ BX           \
	JNZ  turn         \
	SETS(STORE512)    \
	VZEROUPPER        \
	RET

#define DECRYPT512(SETS, SWAPPED) \
	SETS(UNWHITEN512)  \
	MOVQ $4, BX        \
turn:                  \
	UNSTEP512(SETS)    \
	UNSTEP512(SWAPPED) \
	DECQ BX            \
	JNZ  turn          \
	SETS(STORE512)     \
	VZEROUPPER         \
	RET

#define SWAPBYTES512 VMOVDQU64 swapBytes<>(SB), Z31

// func encrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)
TEXT ·encrypt128AVX512(SB), NOSPLIT, $0-24
	ARGUMENTS
	SWAPBYTES512
	SETS512x4(LOAD512)
	ENCRYPT512(SETS512x4, SWAPPED512x4)

// func decrypt128AVX512(keys *roundKeys, dst, src *[128]uint64)
TEXT ·decrypt128AVX512(SB), NOSPLIT, $0-24
	ARGUMENTS
	LAST_STEP
	SWAPBYTES512
	SETS512x4(LOAD512)
	DECRYPT512(SETS512x4, SWAPPED512x4)

// func run128AVX512(keys *roundKeys, dst *[128]uint64, first uint64)
TEXT ·run128AVX512(SB), NOSPLIT, $0-24
	RUN_ARGUMENTS
	SWAPBYTES512
	UPPERWORDS512
	SETS512x4(COUNT512)
	ENCRYPT512(SETS512x4, SWAPPED512x4)

// func encrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)
TEXT ·encrypt64AVX512(SB), NOSPLIT, $0-24
	ARGUMENTS
	SWAPBYTES512
	SETS512x2(LOAD512)
	ENCRYPT512(SETS512x2, SWAPPED512x2)

// func decrypt64AVX512(keys *roundKeys, dst, src *[64]uint64)
TEXT ·decrypt64AVX512(SB), NOSPLIT, $0-24
	ARGUMENTS
	LAST_STEP
	SWAPBYTES512
	SETS512x2(LOAD512)
	DECRYPT512(SETS512x2, SWAPPED512x2)

// func run64AVX512(keys *roundKeys, dst *[64]uint64, first uint64)
TEXT ·run64AVX512(SB), NOSPLIT, $0-24
	RUN_ARGUMENTS
	SWAPBYTES512
	UPPERWORDS512
	SETS512x2(COUNT512)
	ENCRYPT512(SETS512x2, SWAPPED512x2)

// ---- AVX2: 16 lanes ----
//
// A rotation takes two shifts and an or; rotating by 8 is swapBytes. A key of a step is broadcast once for all sets,
// and one of the whitening for each set. There are two sets (32 blocks): a third one, for which there are registers, is
// no faster.
//
// Shifts run on two ports of three or four, and would wait for them. So where the result is not needed at once, a shift
// right is a multiplication, which AMD's cores do on the other ports, by fours.

#define SETS256(DO) \
	DO(0, Y0, Y1, Y2, Y3) \
	DO(1, Y4, Y5, Y6, Y7)

#define SWAPPED256(DO) \
	DO(0, Y2, Y3, Y0, Y1) \
	DO(1, Y6, Y7, Y4, Y5)

#define ADDKEY256(k, x) \
	VPBROADCASTD KEY(k), Y14 \
	VPXOR        Y14, x, x

// x = (x ror 7) + y
#define RORADD256(x, y) \
	VPSRLW $7, x, Y12  \
	VPSLLW $9, x, x    \
	VPADDW y, Y12, Y12 \
	VPADDW Y12, x, x

// y = y rol 2
#define ROL2_256(y) \
	VPMULHUW Y14, y, Y13 \
	VPSLLW   $2, y, y    \
	VPOR     Y13, y, y

// The keys of one round on one branch, for all sets.
#define KEYS256(kx, ky) \
	VPBROADCASTD KEY(kx), Y8 \
	VPBROADCASTD KEY(ky), Y9

// See ROUND512.
#define ROUND256(x, y) \
	RORADD256(x, y) \
	ROL2_256(y)     \
	VPXOR Y9, y, y  \
	VPXOR x, y, y   \
	VPXOR Y8, x, x

#define ROUND256AB(i, a, b, c, d) ROUND256(a, b)
#define ROUND256CD(i, a, b, c, d) ROUND256(c, d)

// See LINEAR512. The next step's keys are in Y8 to Y11.
#define LINEAR256(i, a, b, c, d) \
	RORADD256(a, b)        \
	RORADD256(c, d)        \
	VPSRLW   $14, b, Y13   \
	VPSLLW   $2, b, b      \
	VPOR     Y13, b, b     \
	VPSHUFB  Y15, b, Y12   \
	VPMULHUW Y14, d, Y13   \
	VPSLLW   $2, d, d      \
	VPXOR    Y11, Y13, Y13 \
	VPXOR    b, d, d       \
	VPXOR    a, Y12, Y12   \
	VPXOR    Y13, d, d     \
	VPXOR    Y12, c, c     \
	VPXOR    a, b, b       \
	VPXOR    c, d, d       \
	VPXOR    Y8, a, a      \
	VPXOR    Y9, b, b      \
	VPXOR    Y10, c, c

#define STEP256(SETS) \
	KEYS256(2, 3)            \
	SETS(ROUND256AB)         \
	KEYS256(8, 9)            \
	SETS(ROUND256CD)         \
	KEYS256(4, 5)            \
	SETS(ROUND256AB)         \
	KEYS256(10, 11)          \
	SETS(ROUND256CD)         \
	KEYS256(18, 19)          \
	VPBROADCASTD KEY(12), Y10 \
	VPBROADCASTD KEY(13), Y11 \
	SETS(LINEAR256)          \
	ADDQ $STEP_BYTES, AX

#define WHITEN256(i, a, b, c, d) \
	ADDKEY256(0, a) \
	ADDKEY256(1, b) \
	ADDKEY256(6, c) \
	ADDKEY256(7, d)

#define UNWHITEN256(i, a, b, c, d) \
	ADDKEY256(12, a) \
	ADDKEY256(13, b) \
	ADDKEY256(18, c) \
	ADDKEY256(19, d)

// From 16 blocks in memory to planes, and back.
#define LOAD256(i, a, b, c, d) \
	VMOVDQU (i*0x80+0x00)(SI), Y12 \
	VMOVDQU (i*0x80+0x20)(SI), Y13 \
	VMOVDQU (i*0x80+0x40)(SI), Y14 \
	VMOVDQU (i*0x80+0x60)(SI), Y15 \
	VPSHUFB swapBytes<>(SB), Y12, Y12 \
	VPSHUFB swapBytes<>(SB), Y13, Y13 \
	VPSHUFB swapBytes<>(SB), Y14, Y14 \
	VPSHUFB swapBytes<>(SB), Y15, Y15 \
	TRANSPOSE(Y12, Y13, Y14, Y15, a, b, c, d)

#define STORE256(i, a, b, c, d) \
	TRANSPOSE(a, b, c, d, Y12, Y13, Y14, Y15) \
	VPSHUFB swapBytes<>(SB), Y12, Y12 \
	VPSHUFB swapBytes<>(SB), Y13, Y13 \
	VPSHUFB swapBytes<>(SB), Y14, Y14 \
	VPSHUFB swapBytes<>(SB), Y15, Y15 \
	VMOVDQU Y12, (i*0x80+0x00)(DI) \
	VMOVDQU Y13, (i*0x80+0x20)(DI) \
	VMOVDQU Y14, (i*0x80+0x40)(DI) \
	VMOVDQU Y15, (i*0x80+0x60)(DI)

// Shifts CX right by a word, and puts what is then its lowest word into all lanes of x.
#define UPPERWORD256(x) \
	SHRQ $16, CX        \
	VMOVQ CX, X15       \
	VPBROADCASTW X15, x \
	VPSHUFB swapBytes<>(SB), x, x

// The planes of 16 consecutive raw values from CX on; see COUNT512.
#define COUNT256(i, a, b, c, d) \
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

#define UNROUND256AB(i, a, b, c, d) UNROUND256(c, d)
#define UNROUND256CD(i, a, b, c, d) UNROUND256(a, b)
#define UNFIRST256AB(i, a, b, c, d) UNFIRST256(c, d)
#define UNFIRST256CD(i, a, b, c, d) UNFIRST256(a, b)

#define UNLINEAR256(i, a, b, c, d) \
	VPXOR   c, d, d     \
	VPXOR   a, b, b     \
	VPXOR   d, b, b     \
	VPSHUFB Y15, d, Y12 \
	VPXOR   c, a, a     \
	VPXOR   Y12, a, a

#define UNSTEP256(SETS) \
	SETS(UNLINEAR256)  \
	KEYS256(4, 5)      \
	SETS(UNROUND256AB) \
	KEYS256(10, 11)    \
	SETS(UNROUND256CD) \
	KEYS256(2, 3)      \
	SETS(UNROUND256AB) \
	KEYS256(8, 9)      \
	SETS(UNROUND256CD) \
	KEYS256(0, 1)      \
	SETS(UNFIRST256AB) \
	KEYS256(6, 7)      \
	SETS(UNFIRST256CD) \
	SUBQ $STEP_BYTES, AX

// Planes in, blocks in memory out.
#define ENCRYPT256 \
	SETS256(WHITEN256)           \
	VMOVDQU fours<>(SB), Y14     \
	VMOVDQU swapBytes<>(SB), Y15 \
	MOVQ $4, BX                  \
turn:                            \
	STEP256(SETS256)             \
	STEP256(SWAPPED256)          \
	DECQ BX                      \
	JNZ  turn                    \
	SETS256(STORE256)            \
	VZEROUPPER                   \
	RET

#define DECRYPT256 \
	SETS256(UNWHITEN256)         \
	VMOVDQU swapBytes<>(SB), Y15 \
	MOVQ $4, BX                  \
turn:                            \
	UNSTEP256(SETS256)           \
	UNSTEP256(SWAPPED256)        \
	DECQ BX                      \
	JNZ  turn                    \
	SETS256(STORE256)            \
	VZEROUPPER                   \
	RET

// func encrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·encrypt32AVX2(SB), NOSPLIT, $0-24
	ARGUMENTS
	SETS256(LOAD256)
	ENCRYPT256

// func decrypt32AVX2(keys *roundKeys, dst, src *[32]uint64)
TEXT ·decrypt32AVX2(SB), NOSPLIT, $0-24
	ARGUMENTS
	LAST_STEP
	SETS256(LOAD256)
	DECRYPT256

// func run32AVX2(keys *roundKeys, dst *[32]uint64, first uint64)
TEXT ·run32AVX2(SB), NOSPLIT, $0-24
	RUN_ARGUMENTS
	SETS256(COUNT256)
	ENCRYPT256
