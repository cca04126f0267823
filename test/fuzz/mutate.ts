import type { Random } from "../support/random.ts";

/** What mutations take from besides chance. */
export interface Material {
  readonly words: readonly Buffer[];
  /** Another input to take a part of. */
  readonly other: Buffer;
  readonly maxBytes: number;
}

type Mutation = (input: Buffer, random: Random, material: Material) => Buffer;

const interesting8 = [0, 1, 0x0a, 0x20, 0x22, 0x7f, 0x80, 0xff];
const interesting32 = [0, 1, 7, 8, 16, 63, 64, 127, 128, 255, 256, 4095, 4096, 65_535, 65_536, 0x7fffffff, 0x80000000];
const interestingNumbers = "0 -1 1 255 256 65536 2147483648 4294967296 9007199254740993 1e999".split(" ");

const splice = (input: Buffer, from: number, to: number, middle: Buffer): Buffer =>
  Buffer.concat([input.subarray(0, from), middle, input.subarray(to)]);

/** A range of the input, mostly a short one. */
function rangeOf(input: Buffer, random: Random): readonly [from: number, to: number] {
  const from = random.integer(input.length + 1);
  const most = random.chance(0.7) ? 16 : input.length;
  return [from, Math.min(input.length, from + random.integer(most + 1))];
}

const patched = (input: Buffer, change: (copy: Buffer) => void): Buffer => {
  const copy = Buffer.from(input);
  change(copy);
  return copy;
};

/** With one byte changed. */
const withByte = (input: Buffer, random: Random, change: (byte: number) => number): Buffer =>
  input.length === 0
    ? random.bytes(1)
    : patched(input, (copy) => {
        const at = random.integer(copy.length);
        copy[at] = change(copy[at] ?? 0);
      });

/** With a part put in somewhere, or put over what is there. */
function withPart(input: Buffer, random: Random, part: Buffer): Buffer {
  const at = random.integer(input.length + 1);
  return splice(input, at, random.chance(0.5) ? at : Math.min(input.length, at + part.length), part);
}

/** With something else in the place of one of the parts that a pattern finds. */
function withFound(input: Buffer, random: Random, pattern: RegExp, instead: () => Buffer): Buffer {
  const found = [...input.toString("latin1").matchAll(pattern)];
  if (found.length === 0) return input;
  const { index, 0: text } = random.pick(found);
  return splice(input, index, index + text.length, instead());
}

const mutations: readonly Mutation[] = [
  // One bit.
  (input, random) => withByte(input, random, (byte) => byte ^ (1 << random.integer(8))),
  // One byte.
  (input, random) =>
    withByte(input, random, () => (random.chance(0.5) ? random.integer(256) : random.pick(interesting8))),
  // A little more or less.
  (input, random) => withByte(input, random, (byte) => byte + random.integer(17) - 8),
  // A number of two, four or eight bytes.
  (input, random) => {
    const size = random.pick([2, 4, 8]);
    if (input.length < size) return input;
    return patched(input, (copy) => {
      const at = random.chance(0.5)
        ? random.integer(copy.length - size + 1)
        : Math.floor(random.integer(copy.length - size + 1) / size) * size;
      const value = random.chance(0.6) ? random.pick(interesting32) : random.integer(copy.length + 1);
      const bytes = Buffer.alloc(8);
      if (random.chance(0.8)) bytes.writeBigUInt64LE(BigInt(value));
      else bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value) << BigInt(64 - 8 * size)));
      bytes.copy(copy, at, 0, size);
    });
  },
  // Without a part.
  (input, random) => splice(input, ...rangeOf(input, random), Buffer.alloc(0)),
  // A part twice, or many times.
  (input, random, { maxBytes }) => {
    const [from, to] = rangeOf(input, random);
    if (to === from) return input;
    const times = random.chance(0.8) ? 2 : Math.min(2 ** random.integer(14), Math.floor(maxBytes / (to - from)) + 1);
    return splice(input, from, to, Buffer.concat(Array.from({ length: times }, () => input.subarray(from, to))));
  },
  // A part from elsewhere in the same input, put in or put over.
  (input, random) => withPart(input, random, input.subarray(...rangeOf(input, random))),
  // Random bytes put in.
  (input, random) => {
    const at = random.integer(input.length + 1);
    return splice(input, at, at, random.bytes(1 + random.integer(8)));
  },
  // A word put in, or put over.
  (input, random, { words }) => (words.length === 0 ? input : withPart(input, random, random.pick(words))),
  // A word in the place of what stands between two delimiters.
  (input, random, { words }) =>
    words.length === 0 ? input : withFound(input, random, /[\w.:/-]+/g, () => random.pick(words)),
  // A decimal number in the place of one.
  (input, random) => withFound(input, random, /-?\d+/g, () => Buffer.from(random.pick(interestingNumbers))),
  // A line taken out, moved or doubled.
  (input, random) => {
    const lines = input.toString("latin1").split("\n");
    if (lines.length < 2) return input;
    const [line = ""] = lines.splice(random.integer(lines.length), random.chance(0.7) ? 1 : 0);
    if (random.chance(0.6)) lines.splice(random.integer(lines.length + 1), 0, line);
    return Buffer.from(lines.join("\n"), "latin1");
  },
  // The start of one and the end of another.
  (input, random, { other }) =>
    Buffer.concat([
      input.subarray(0, random.integer(input.length + 1)),
      other.subarray(random.integer(other.length + 1)),
    ]),
  // A part of another.
  (input, random, { other }) => withPart(input, random, other.subarray(...rangeOf(other, random))),
  // Cut off.
  (input, random) => input.subarray(0, random.integer(input.length + 1)),
];

/** A few mutations one after the other, mostly one or two. */
export function mutate(input: Buffer, random: Random, material: Material): Buffer {
  let mutated = input;
  const rounds = random.chance(0.5) ? 1 : 2 ** random.integer(4);
  for (let round = 0; round < rounds; round += 1) mutated = random.pick(mutations)(mutated, random, material);
  return mutated.subarray(0, material.maxBytes);
}
