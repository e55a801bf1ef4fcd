package main

import "runtime"

// spare is how much garbage there may be beside what Go allows for, which is little where little is in use, as here: a
// collection for each 4 MiB would take a quarter of the processor's time.
const spare = 16 << 20

// keepSpare returns what is to be kept as long as the service runs. It counts as heap that is in use, and so delays
// collections, but takes no memory, as nobody ever writes to it.
func keepSpare() (release func()) {
	unused := make([]byte, spare)
	return func() { runtime.KeepAlive(unused) }
}
