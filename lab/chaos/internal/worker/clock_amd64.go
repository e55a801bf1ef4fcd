package worker

import "encoding/binary"

// codeOf returns what takes the place of __vdso_clock_gettime(clock, *timespec): it asks the kernel, and adds
// the seconds at the address offset to the time of day, CLOCK_REALTIME (0) or CLOCK_REALTIME_COARSE (5).
func codeOf(offset uint64) []byte {
	code := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x74, 0x05, // jz add
		0x83, 0xff, 0x05, // cmp edi, 5
		0x75, 0x10, // jne return
		0x48, 0xb9, // add: mov rcx, offset
	}
	code = binary.LittleEndian.AppendUint64(code, offset)
	return append(code,
		0x48, 0x8b, 0x09, // mov rcx, [rcx]
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3, // return: ret
	)
}

// jump returns the eight bytes that lead from one address to another one, at most 2 GB away.
func jump(from, to uint64) uint64 {
	code := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-from-5))
	return binary.LittleEndian.Uint64(append(code, 0xcc, 0xcc, 0xcc))
}
