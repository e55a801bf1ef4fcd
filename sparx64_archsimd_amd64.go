//go:build archsimd && goexperiment.simd && gc && !purego

package randflake

// The cipher on simd/archsimd, an experiment of Go 1.27, for tests with the tag archsimd alone: it shows what the compiler
// makes of vectors, and is a witness whose kernels share no code with the others. Words lie in planes, as in
// sparx64_amd64.s. A vector has 512 bits, or 256 with the tag avx2 too; two sets go side by side.

const (
	setLength       = vectorBits / 16 // blocks of a set
	archSIMDWidth   = 2 * setLength
	backendArchSIMD = backendSVE2 + 1
)

func init() {
	for _, b := range supported() {
		if b == archSIMDNeeds {
			backendTable = append(backendTable, backendRow{"archsimd-" + b.String(), []int{archSIMDWidth}})
		}
	}
}

func witnessing() bool { return active == backendArchSIMD }

// witness is what kernel does with backendArchSIMD.
func (d direction) witness(keys *roundKeys, dst, src []uint64) {
	if out, in := (*[archSIMDWidth]uint64)(dst), (*[archSIMDWidth]uint64)(src); d == encrypting {
		encryptArchSIMD(keys, out, in)
	} else {
		decryptArchSIMD(keys, out, in)
	}
}

func encryptArchSIMD(keys *roundKeys, dst, src *[archSIMDWidth]uint64) {
	a, b, c, d := loadSet(src[:setLength])
	e, f, g, h := loadSet(src[setLength:])
	for s := 0; s < finalKeys; s += keysPerStep {
		for r := s; r < s+keysPerBranch; r += 2 {
			w, x, y, z := keysOf(keys, r)
			a, b = round(a.Xor(w), b.Xor(x))
			e, f = round(e.Xor(w), f.Xor(x))
			c, d = round(c.Xor(y), d.Xor(z))
			g, h = round(g.Xor(y), h.Xor(z))
		}
		t, u := rotate(a.Xor(b), 8), rotate(e.Xor(f), 8)
		a, b, c, d = c.Xor(a).Xor(t), d.Xor(b).Xor(t), a, b
		e, f, g, h = g.Xor(e).Xor(u), h.Xor(f).Xor(u), e, f
	}
	w, x, y, z := keysOf(keys, finalKeys)
	storeSet(dst[:setLength], a.Xor(w), b.Xor(x), c.Xor(y), d.Xor(z))
	storeSet(dst[setLength:], e.Xor(w), f.Xor(x), g.Xor(y), h.Xor(z))
}

func decryptArchSIMD(keys *roundKeys, dst, src *[archSIMDWidth]uint64) {
	a, b, c, d := loadSet(src[:setLength])
	e, f, g, h := loadSet(src[setLength:])
	w, x, y, z := keysOf(keys, finalKeys)
	a, b, c, d = a.Xor(w), b.Xor(x), c.Xor(y), d.Xor(z)
	e, f, g, h = e.Xor(w), f.Xor(x), g.Xor(y), h.Xor(z)
	for s := finalKeys - keysPerStep; s >= 0; s -= keysPerStep {
		t, u := rotate(c.Xor(d), 8), rotate(g.Xor(h), 8)
		a, b, c, d = c, d, a.Xor(c).Xor(t), b.Xor(d).Xor(t)
		e, f, g, h = g, h, e.Xor(g).Xor(u), f.Xor(h).Xor(u)
		for r := s + keysPerBranch - 2; r >= s; r -= 2 {
			w, x, y, z := keysOf(keys, r)
			a, b = unround(a, b, w, x)
			e, f = unround(e, f, w, x)
			c, d = unround(c, d, y, z)
			g, h = unround(g, h, y, z)
		}
	}
	storeSet(dst[:setLength], a, b, c, d)
	storeSet(dst[setLength:], e, f, g, h)
}

func keysOf(keys *roundKeys, r int) (w, x, y, z vector) {
	k := (*[keysPerBranch + 2]uint32)(keys[r:])
	return broadcast(k[0]).ReshapeToUint16s(), broadcast(k[1]).ReshapeToUint16s(),
		broadcast(k[keysPerBranch]).ReshapeToUint16s(), broadcast(k[keysPerBranch+1]).ReshapeToUint16s()
}

// round is arx in each lane.
func round(x, y vector) (vector, vector) {
	x = rotate(x, 9).Add(y)
	return x, rotate(y, 2).Xor(x)
}

func unround(x, y, kx, ky vector) (vector, vector) {
	y = rotate(y.Xor(x), 14)
	return rotate(x.Sub(y), 7).Xor(kx), y.Xor(ky)
}

func loadSet(s []uint64) (a, b, c, d vector) {
	at := func(i int) vector { return rotate(loadBlocks(s[i*setLength/4:]).ReshapeToUint16s(), 8) }
	return transposeSet(at(0), at(1), at(2), at(3))
}

func storeSet(s []uint64, a, b, c, d vector) {
	a, b, c, d = transposeSet(a, b, c, d)
	for i, x := range [4]vector{a, b, c, d} {
		rotate(x, 8).ReshapeToUint64s().Store(s[i*setLength/4:])
	}
}

// transposeSet is TRANSPOSE of sparx64_amd64.s.
func transposeSet(p, q, r, s vector) (vector, vector, vector, vector) {
	i, j := p.InterleaveLoGrouped(q).ReshapeToUint32s(), p.InterleaveHiGrouped(q).ReshapeToUint32s()
	k, l := r.InterleaveLoGrouped(s).ReshapeToUint32s(), r.InterleaveHiGrouped(s).ReshapeToUint32s()
	e, f := i.InterleaveLoGrouped(k).ReshapeToUint64s(), i.InterleaveHiGrouped(k).ReshapeToUint64s()
	g, h := j.InterleaveLoGrouped(l).ReshapeToUint64s(), j.InterleaveHiGrouped(l).ReshapeToUint64s()
	return e.InterleaveLoGrouped(g).ReshapeToUint16s(), e.InterleaveHiGrouped(g).ReshapeToUint16s(),
		f.InterleaveLoGrouped(h).ReshapeToUint16s(), f.InterleaveHiGrouped(h).ReshapeToUint16s()
}
