//go:build (!amd64 && !arm64) || !gc || purego

package randflake

// Without assembly the generic backend is the only one. It has no kernels to call.

const hasAssembly = false

func supported() []backend { return []backend{backendGeneric} }

func callKernel(direction, *roundKeys, []uint64, []uint64) { panic("randflake: no kernel") }

func callRunKernel(*roundKeys, []uint64, uint64) { panic("randflake: no kernel") }
