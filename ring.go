package randflake

import "math/bits"

// A ring is the keys of a secret that has several. The second in an ID says which key encrypts it.
//
// Each key permutes all 64-bit values, so two keys would make equal IDs now and then. A generator therefore leaves out
// every raw value whose ID opens under an earlier key to a second of that key's period. So no ID of a key equals one of
// an earlier key, and the first key, in their order, under which an ID opens to a second of that key's period is the
// one that made it. Neither depends on what was really made: a later key never changes what is left out, and no bit of
// the ID has to name its key. The share of raw values left out is that of the earlier periods in the format's 34 years.
type ring []period

// A period is when a key makes IDs: from its first raw value to before that of the next period.
type period struct {
	keys  *roundKeys
	first uint64
}

// unopened is the raw value of IDs that no key of a ring has made: the last one of the format, in the year 2058.
const unopened = ^uint64(0)

// newRing returns the ring of a secret with several keys.
func newRing(secret Secret) ring {
	var r ring
	for _, key := range secret.Keys() {
		p := period{keys: expandKey(key.Secret.bytes())}
		if len(r) > 0 {
			p.first = pack(key.From.Unix(), 0, 0)
		}
		r = append(r, p)
	}
	return r
}

// at returns the index of the period of a raw value.
func (r ring) at(raw uint64) int {
	i := len(r) - 1
	for raw < r[i].first {
		i--
	}
	return i
}

func (r ring) encrypt(raw uint64) uint64 { return encryptBlock(r[r.at(raw)].keys, raw) }

func (r ring) decrypt(id uint64) uint64 {
	for i, p := range r {
		if raw := decryptBlock(p.keys, id); r.at(raw) == i {
			return raw
		}
	}
	return unopened
}

// encryptSlice is encrypt for each value of src.
func (r ring) encryptSlice(dst, src []uint64) {
	for len(src) > 0 {
		i, n := r.at(src[0]), 1
		for n < len(src) && r.at(src[n]) == i {
			n++
		}
		encryptBlocks(r[i].keys, dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
}

// decryptSlice is decrypt for each value of src.
func (r ring) decryptSlice(dst, src []uint64) {
	var ids, raws [batchSize]uint64
	for len(src) > 0 {
		n := copy(ids[:], src)
		for j := range n {
			dst[j] = unopened
		}
		for i := len(r) - 1; i >= 0; i-- { // so that the oldest key has the last word
			decryptBlocks(r[i].keys, raws[:n], ids[:n])
			for j, raw := range raws[:n] {
				if r.at(raw) == i {
					dst[j] = raw
				}
			}
		}
		dst, src = dst[n:], src[n:]
	}
}

// runSize is how many raw values encryptBatch takes at most: the kernels are faster with many.
const runSize = 256

// encryptBatch encrypts the raw values from first on, all of one second and at most runSize, into dst. It returns how
// many it kept, in dst[:kept]; before dst[i] it left out skipped[i]. It takes as many bytes of skipped as dst has values.
func (r ring) encryptBatch(dst []uint64, first uint64, skipped []uint8) (kept int) {
	var raws [runSize]uint64
	opened := raws[:len(dst)]
	skipped = skipped[:len(opened)]
	clear(skipped) // at first: 1 where dst has an ID that is to be left out
	made := r.at(first)
	encryptRun(r[made].keys, dst, first)
	for i, p := range r[:made] {
		decryptBlocks(p.keys, opened, dst)
		length := r[i+1].first - p.first
		for j, raw := range opened {
			_, within := bits.Sub64(raw-p.first, length, 0)
			skipped[j] |= uint8(within)
		}
	}
	for j, drop := range skipped {
		dst[kept], skipped[kept] = dst[j], uint8(j-kept)
		kept += 1 - int(drop)
	}
	return kept
}

// encryptRun is encryptBatch for any number of values.
func (r ring) encryptRun(dst []uint64, first uint64) (kept int) {
	var skipped [runSize]uint8
	for done := 0; done < len(dst); done += runSize {
		n := min(runSize, len(dst)-done)
		kept += r.encryptBatch(dst[kept:kept+n], first+uint64(done), skipped[:])
	}
	return kept
}
