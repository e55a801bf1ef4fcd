//go:build unix

package main

import "syscall"

// descriptors returns how many files this process may have open. Go has already raised the soft limit to the hard one.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return manyDescriptors
	}
	return int(min(uint64(limit.Cur), manyDescriptors))
}
