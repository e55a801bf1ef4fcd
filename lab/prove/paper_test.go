package prove

// The paper's SPARX-64/128 on words, as plainly as it can be said: Dinu and others, "Design Strategies for ARX with
// Provable Bounds: SPARX and LAX", ASIACRYPT 2016. The kernels are compared with nothing else.

const (
	steps         = 8
	branches      = 2
	roundsPerStep = 3
	keyWords      = branches*steps*2*roundsPerStep + 4
)

// keys are the words of the round keys: two for each round, by step, branch and round; then those of the last layer.
type keys [keyWords]word

// A block is the words that the paper calls x0, y0, x1, y1.
type block [4]word

// arx is A, the round of SPECK-32 without its key.
func (t *terms) arx(x, y word) (word, word) {
	x = t.add(t.rol(x, -7), y)
	y = t.xor(t.rol(y, 2), x)
	return x, y
}

func (t *terms) arxInverse(x, y word) (word, word) {
	y = t.rol(t.xor(y, x), -2)
	x = t.rol(t.sub(x, y), 7)
	return x, y
}

// feistel is L, the function of the linear layer.
func (t *terms) feistel(x, y word) (word, word) {
	l := t.rol(t.xor(x, y), 8)
	return t.xor(x, l), t.xor(y, l)
}

// encrypt calls done after each step, by the paper's number from 1 on.
func (t *terms) encrypt(k *keys, b block, done func(step int)) block {
	for s := range steps {
		for i := range branches {
			for r := range roundsPerStep {
				at := 2 * (roundsPerStep*(branches*s+i) + r)
				b[2*i], b[2*i+1] = t.arx(t.xor(b[2*i], k[at]), t.xor(b[2*i+1], k[at+1]))
			}
		}
		x, y := t.feistel(b[0], b[1])
		b = block{t.xor(b[2], x), t.xor(b[3], y), b[0], b[1]}
		done(s + 1)
	}
	return t.lastKeys(k, b)
}

func (t *terms) lastKeys(k *keys, b block) block {
	for i := range b {
		b[i] = t.xor(b[i], k[keyWords-4+i])
	}
	return b
}

// decrypt is the inverse of encrypt: from the last step to the first.
func (t *terms) decrypt(k *keys, b block, done func(step int)) block {
	b = t.lastKeys(k, b)
	for s := steps - 1; s >= 0; s-- {
		x, y := t.feistel(b[2], b[3])
		b = block{b[2], b[3], t.xor(b[0], x), t.xor(b[1], y)}
		for i := range branches {
			for r := roundsPerStep - 1; r >= 0; r-- {
				at := 2 * (roundsPerStep*(branches*s+i) + r)
				b[2*i], b[2*i+1] = t.arxInverse(b[2*i], b[2*i+1])
				b[2*i], b[2*i+1] = t.xor(b[2*i], k[at]), t.xor(b[2*i+1], k[at+1])
			}
		}
		done(s + 1)
	}
	return b
}

// schedule is the key schedule: K4 of the paper, 16 times. It calls done after each of these, from 1 on.
func (t *terms) schedule(key [8]word, done func(step int)) *keys {
	k := new(keys)
	for i := range branches * steps {
		copy(k[6*i:], key[:6])
		key[0], key[1] = t.arx(key[0], key[1])
		key[2], key[3] = t.add(key[2], key[0]), t.add(key[3], key[1])
		key[7] = t.add(key[7], word(i+1))
		key = [8]word{key[6], key[7], key[0], key[1], key[2], key[3], key[4], key[5]}
		done(i + 1)
	}
	copy(k[keyWords-4:], key[:4])
	return k
}
