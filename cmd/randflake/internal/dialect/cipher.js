// randflake returns the masked form of an ID, or the inverse: decimal numbers with a sign, as text.
function randflake(id, secret, masking) {
  if (id === null) return null;
  const rol = (v, n) => (v << n | v >>> 16 - n) & 65535;
  const expand = secret => {
    if (!/^[0-9a-f]{32}$/i.test(secret)) throw new Error('no randflake secret: want 32 hexadecimal digits');
    let w = secret.match(/.{4}/g).map(word => parseInt(word, 16)), keys = [];
    for (let i = 1; i <= 16; i++) {
      keys.push(...w.slice(0, 6));
      const a = rol(w[0], 9) + w[1] & 65535, b = rol(w[1], 2) ^ a;
      w = [w[6], w[7] + i & 65535, a, b, w[2] + a & 65535, w[3] + b & 65535, w[4], w[5]];
    }
    return [...keys, ...w.slice(0, 4)];
  };
  const known = globalThis.randflakeKeys ??= new Map();
  if (!known.has(secret)) known.set(secret, expand(secret));
  const k = known.get(secret);

  const n = BigInt(id), halves = [Number(n & 0xffffffffn), Number(n >> 32n & 0xffffffffn)];
  let [a, b, c, d] = halves.flatMap(half => [rol(half & 65535, 8), rol(half >>> 16, 8)]);
  const round = (x, y, i) => (x = rol(x ^ k[i], 9) + (y ^ k[i + 1]) & 65535, [x, rol(y ^ k[i + 1], 2) ^ x]);
  const unround = (x, y, i) => (y = rol(x ^ y, 14), [rol(x - y & 65535, 7) ^ k[i], y ^ k[i + 1]]);
  if (masking) {
    for (let s = 0; s < 96; s += 12) {
      for (let i = s; i < s + 6; i += 2) [a, b] = round(a, b, i);
      for (let i = s + 6; i < s + 12; i += 2) [c, d] = round(c, d, i);
      const t = rol(a ^ b, 8);
      [a, b, c, d] = [c ^ a ^ t, d ^ b ^ t, a, b];
    }
    [a, b, c, d] = [a ^ k[96], b ^ k[97], c ^ k[98], d ^ k[99]];
  } else {
    [a, b, c, d] = [a ^ k[96], b ^ k[97], c ^ k[98], d ^ k[99]];
    for (let s = 84; s >= 0; s -= 12) {
      const t = rol(c ^ d, 8);
      [a, b, c, d] = [c, d, a ^ c ^ t, b ^ d ^ t];
      for (let i = s + 4; i >= s; i -= 2) [a, b] = unround(a, b, i);
      for (let i = s + 10; i >= s + 6; i -= 2) [c, d] = unround(c, d, i);
    }
  }
  const [low, high] = [[a, b], [c, d]].map(([x, y]) => BigInt((rol(x, 8) | rol(y, 8) << 16) >>> 0));
  return BigInt.asIntN(64, high << 32n | low).toString();
}
