// Runs single instructions, as arm64.s does.

	.set FLAGS, 32*8
	.set STUB, 33*8
	.set V, 34*8
	.set MEMORY, V + 32*64
	.set SIZE, MEMORY + 4096

	.data
	.balign 64
record:
	.skip SIZE
states:
	.skip 8
target: # the stub
	.skip 8
	.skip 4096
stack:

	.macro generals do:vararg
	.set at, record
	.irp register, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	\do \register
	.set at, at + 8
	.endr
	.endm
	.macro load register
	mov at, %\register
	.endm
	.macro save register
	mov %\register, at
	.endm

	.text
	.global _start
_start:
	mov $2, %eax # open
	mov 16(%rsp), %rdi
	xor %esi, %esi
	syscall
	mov %rax, states
next:
	xor %eax, %eax # read
	mov states, %rdi
	mov $record, %esi
	mov $SIZE, %edx
	syscall
	cmp $SIZE, %rax
	jne done
	imul $32, record + STUB, %rax # the bytes of a stub
	add $stubs, %rax
	mov %rax, target
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.ifdef AVX512
	vmovdqu64 record + V + 64*\n, %zmm\n
	.else
	vmovdqu record + V + 64*\n, %ymm\n
	.endif
	.endr
	.ifdef AVX512
	.irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqu64 record + V + 64*\n, %zmm\n
	.endr
	.endif
	mov $stack, %rsp
	pushq record + FLAGS
	popfq
	generals load
	jmp *target
done:
	mov $60, %eax # exit
	xor %edi, %edi
	syscall

fell:
	movq $0, record + STUB
branched:
	generals save
	mov $stack, %rsp
	pushfq
	pop %rax
	and $0x8c1, %eax # carry, zero, sign, overflow
	mov %rax, record + FLAGS
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.ifdef AVX512
	vmovdqu64 %zmm\n, record + V + 64*\n
	.else
	vmovdqu %ymm\n, record + V + 64*\n
	.endif
	.endr
	.ifdef AVX512
	.irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovdqu64 %zmm\n, record + V + 64*\n
	.endr
	.endif
	mov $1, %eax # write
	mov $1, %edi
	mov $record, %esi
	mov $SIZE, %edx
	syscall
	jmp next

	.macro stub instruction, displacement
	.balign 32
	\instruction
	\displacement
	jmp fell
	.endm

	.balign 32
stubs: # counted from 1
	.skip 32
