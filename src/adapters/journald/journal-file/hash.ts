/**
 * The two hashes of journal files: SipHash-2-4 (Aumasson, Bernstein 2012) keyed with the file's id where the file says so,
 * else Jenkins' lookup3 (hashlittle2). Both give 64 bits, here as two halves.
 */
export interface Hash64 {
  readonly high: number;
  readonly low: number;
}

export function remainder({ high, low }: Hash64, divisor: number): number {
  return Number(((BigInt(high) << 32n) | BigInt(low)) % BigInt(divisor));
}

const mask = 0xffff_ffff_ffff_ffffn;
const rotate = (value: bigint, bits: bigint): bigint => ((value << bits) | (value >> (64n - bits))) & mask;
const halves = (value: bigint): Hash64 => ({ high: Number(value >> 32n), low: Number(value & 0xffff_ffffn) });

/** SipHash-2-4 of the bytes with a key of 16 bytes. */
export function sipHash24(bytes: Buffer, key: Buffer): Hash64 {
  const k0 = key.readBigUInt64LE(0);
  const k1 = key.readBigUInt64LE(8);
  let v0 = k0 ^ 0x736f_6d65_7073_6575n;
  let v1 = k1 ^ 0x646f_7261_6e64_6f6dn;
  let v2 = k0 ^ 0x6c79_6765_6e65_7261n;
  let v3 = k1 ^ 0x7465_6462_7974_6573n;
  const round = (): void => {
    v0 = (v0 + v1) & mask;
    v1 = rotate(v1, 13n) ^ v0;
    v0 = rotate(v0, 32n);
    v2 = (v2 + v3) & mask;
    v3 = rotate(v3, 16n) ^ v2;
    v0 = (v0 + v3) & mask;
    v3 = rotate(v3, 21n) ^ v0;
    v2 = (v2 + v1) & mask;
    v1 = rotate(v1, 17n) ^ v2;
    v2 = rotate(v2, 32n);
  };
  const absorb = (word: bigint): void => {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  };
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) absorb(bytes.readBigUInt64LE(at));
  let last = BigInt(bytes.length & 0xff) << 56n;
  for (let at = whole; at < bytes.length; at += 1) last |= BigInt(bytes[at] ?? 0) << BigInt(8 * (at - whole));
  absorb(last);
  v2 ^= 0xffn;
  for (let count = 0; count < 4; count += 1) round();
  return halves((v0 ^ v1 ^ v2 ^ v3) & mask);
}

const turn = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

/** Jenkins' lookup3 with both seeds zero; the first result is the high half, as systemd puts them together. */
export function jenkinsHash(bytes: Buffer): Hash64 {
  let a = (0xdead_beef + bytes.length) | 0;
  let b = a;
  let c = a;
  let at = 0;
  let left = bytes.length;
  while (left > 12) {
    a = (a + bytes.readInt32LE(at)) | 0;
    b = (b + bytes.readInt32LE(at + 4)) | 0;
    c = (c + bytes.readInt32LE(at + 8)) | 0;
    a = (a - c) ^ turn(c, 4);
    c = (c + b) | 0;
    b = (b - a) ^ turn(a, 6);
    a = (a + c) | 0;
    c = (c - b) ^ turn(b, 8);
    b = (b + a) | 0;
    a = (a - c) ^ turn(c, 16);
    c = (c + b) | 0;
    b = (b - a) ^ turn(a, 19);
    a = (a + c) | 0;
    c = (c - b) ^ turn(b, 4);
    b = (b + a) | 0;
    at += 12;
    left -= 12;
  }
  if (left > 0) {
    const rest = Buffer.alloc(12);
    bytes.copy(rest, 0, at);
    a = (a + rest.readInt32LE(0)) | 0;
    b = (b + rest.readInt32LE(4)) | 0;
    c = (c + rest.readInt32LE(8)) | 0;
    c = ((c ^ b) - turn(b, 14)) | 0;
    a = ((a ^ c) - turn(c, 11)) | 0;
    b = ((b ^ a) - turn(a, 25)) | 0;
    c = ((c ^ b) - turn(b, 16)) | 0;
    a = ((a ^ c) - turn(c, 4)) | 0;
    b = ((b ^ a) - turn(a, 14)) | 0;
    c = ((c ^ b) - turn(b, 24)) | 0;
  }
  return { high: c >>> 0, low: b >>> 0 };
}
