// Runs single instructions: reads a state of the machine from the file that is its argument, runs one of the stubs at
// the end on it, and writes the state after it, until the file ends.

	.arch armv8-a+sve2
	.set SP, 31*8
	.set NZCV, 32*8
	.set STUB, 33*8   // the number of the stub; afterwards, whether its instruction branched
	.set Z, 34*8      // 64 bytes for each register, of which the vector length says how many count
	.set MEMORY, Z + 32*64
	.set SIZE, MEMORY + 4096

	.macro numbers do, last
	.set i, 0
	.rept \last + 1
	\do %i
	.set i, i + 1
	.endr
	.endm

	.data
	.balign 16
record:
	.skip SIZE
states: // the file
	.skip 8

	.text
	.altmacro
	.global _start
_start:
	mov x0, #-100 // as seen from the working directory
	ldr x1, [sp, #16]
	mov x2, #0
	mov x8, #56 // openat
	svc #0
	adr x1, states
	str x0, [x1]
next:
	ldr x0, states
	adr x1, record
	mov x2, #SIZE
	mov x8, #63 // read
	svc #0
	cmp x0, x2
	b.ne done
	adr x1, stubs
	ldr x0, record + STUB
	add x1, x1, x0, lsl #4 // a stub has 32 bytes
	add x1, x1, x0, lsl #4
	br x1
done:
	mov x8, #93 // exit, with status 0 if the input has ended
	svc #0

// load loads all registers but x30, through which it returns.
	.macro loadz n
	ldr z&n, [x0]
	add x0, x0, #64
	.endm
	.macro loadx n
	ldr x&n, record + 8*&n
	.endm
load:
	ldr x0, record + SP
	mov sp, x0
	ldr x0, record + NZCV
	msr nzcv, x0
	adr x0, record + Z
	numbers loadz, 31
	numbers loadx, 29
	ret

// save is where stubs go. It saves all registers, with the help of one that is for the program's threads.
	.macro savez n
	str z&n, [x0]
	add x0, x0, #64
	.endm
	.macro savex n
	str x&n, [x30, #8*&n]
	.endm
branched:
	msr tpidr_el0, x30
	adr x30, record
	b save
fell:
	msr tpidr_el0, x30
	adr x30, record
	str xzr, [x30, #STUB]
save:
	numbers savex, 29
	mrs x0, tpidr_el0
	str x0, [x30, #8*30]
	mov x0, sp
	str x0, [x30, #SP]
	mrs x0, nzcv
	str x0, [x30, #NZCV]
	add x0, x30, #Z
	numbers savez, 31
	mov x0, #1
	mov x1, x30
	mov x2, #SIZE
	mov x8, #64 // write
	svc #0
	b next

	.macro stub word
	.balign 32
	bl load
	ldr x30, record + 8*30
	.word \word // if it is a branch, it goes to the second of these
	b fell
	b branched
	.endm

	.balign 32
stubs: // counted from 1
	.skip 32
