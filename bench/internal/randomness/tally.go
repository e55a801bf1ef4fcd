package randomness

// A tally counts, for each of the 64 bits of a word, in how many words it was set. The counts lie
// across: word i has bit i of each of them, so that adding is a binary addition of 64 counts at
// once, over after a few words on average.
type tally [48]uint64

func (t *tally) add(word uint64) {
	for i := 0; word != 0; i++ {
		t[i], word = t[i]^word, t[i]&word
	}
}

func (t *tally) counts() (counts [64]int64) {
	for i, plane := range t {
		for bit := range counts {
			counts[bit] += int64(plane>>bit&1) << i
		}
	}
	return counts
}
