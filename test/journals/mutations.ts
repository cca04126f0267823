import type { Random } from "../support/random.ts";
import { headerFields } from "./file-header.ts";

/** Damage to a file: what is written over it, and where it is cut off. */
export interface Mutation {
  /** What was done, for anyone who has to find out why it hurts. */
  readonly what: string;
  readonly patches: readonly { readonly offset: number; readonly bytes: Buffer }[];
  /** New size in bytes; undefined leaves it. */
  readonly truncateTo?: number;
}

/** Object types by systemd's "Journal File Format". */
const objectType = { data: 1, field: 2, entry: 3, dataHashTable: 4, fieldHashTable: 5, entryArray: 6 } as const;
type ObjectType = keyof typeof objectType;

interface JournalObject {
  readonly type: number;
  readonly offset: number;
  readonly size: number;
  readonly isCompressed: boolean;
}

/** Where everything is in a sound file. */
export interface Anatomy {
  readonly bytes: Buffer;
  readonly isCompact: boolean;
  readonly objects: readonly JournalObject[];
  /** First byte behind the last object. */
  readonly end: number;
}

const objectHeaderSize = 16;

/** @throws RangeError when the file is not sound. */
export function anatomyOf(bytes: Buffer): Anatomy {
  const read = (field: keyof typeof headerFields): number => Number(bytes.readBigUInt64LE(headerFields[field][0]));
  const objects: JournalObject[] = [];
  const tail = read("tailObjectOffset");
  let offset = read("headerSize");
  while (offset <= tail) {
    const size = Number(bytes.readBigUInt64LE(offset + 8));
    if (size < objectHeaderSize) throw new RangeError(`no object at ${offset}`);
    objects.push({ type: bytes.readUInt8(offset), offset, size, isCompressed: bytes.readUInt8(offset + 1) !== 0 });
    offset = Math.ceil((offset + size) / 8) * 8;
  }
  const isCompact = (bytes.readUInt32LE(headerFields.incompatibleFlags[0]) & 16) !== 0;
  return { bytes, isCompact, objects, end: offset };
}

/** Members that point to other objects, by type. Items of entries, arrays and tables come on top. */
const pointers: Readonly<Record<ObjectType, readonly number[]>> = {
  data: [24, 32, 40, 48],
  field: [24, 32],
  entry: [],
  dataHashTable: [],
  fieldHashTable: [],
  entryArray: [16],
};
const itemsAt: Readonly<Partial<Record<ObjectType, number>>> = {
  entry: 64,
  dataHashTable: 16,
  fieldHashTable: 16,
  entryArray: 24,
};

const word = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return bytes;
};

const objectTypes: readonly ObjectType[] = ["data", "field", "entry", "dataHashTable", "fieldHashTable", "entryArray"];

/** Makes one damage after the other, each from its own random numbers. */
export function createMutator(anatomy: Anatomy): (random: Random) => Mutation {
  const { bytes, isCompact, objects, end } = anatomy;
  const byType = new Map(objectTypes.map((type) => [type, objects.filter((each) => each.type === objectType[type])]));
  const someOf = (random: Random, type: ObjectType): JournalObject => random.pick(byType.get(type) ?? []);
  const anyObject = (random: Random): { readonly type: ObjectType; readonly object: JournalObject } => {
    const type = random.pick(objectTypes);
    return { type, object: someOf(random, type) };
  };
  const flip = (random: Random, offset: number, what: string): Mutation => {
    const bit = random.integer(8);
    const changed = Buffer.from([bytes.readUInt8(offset) ^ (1 << bit)]);
    return { what: `${what}: bit ${bit} of byte ${offset}`, patches: [{ offset, bytes: changed }] };
  };
  const absurd = (random: Random): bigint =>
    random.pick([
      0n,
      1n,
      7n,
      8n,
      15n,
      16n,
      17n,
      0x7fffffffn,
      0xffffffffn,
      0x100000000n,
      1n << 52n,
      1n << 53n,
      1n << 63n,
      -1n,
      -8n,
      BigInt(end),
      BigInt(bytes.length),
      BigInt(bytes.length) - 8n,
    ]);
  /** An offset to somewhere: mostly to an object, which makes loops and wrong types, else to nothing good. */
  const target = (random: Random, from: JournalObject, type: ObjectType): bigint => {
    if (random.chance(0.25)) return BigInt(from.offset);
    if (random.chance(0.35)) return BigInt(someOf(random, type).offset);
    if (random.chance(0.3)) return BigInt(random.pick(objects).offset);
    if (random.chance(0.3)) return BigInt(random.integer(bytes.length));
    return absurd(random);
  };
  const itemSize = (type: ObjectType): number =>
    type === "entry" ? (isCompact ? 4 : 16) : isCompact && type === "entryArray" ? 4 : 8;
  const put = (offset: number, value: bigint, size: number, what: string): Mutation => ({
    what: `${what} at ${offset} := ${value}`,
    patches: [{ offset, bytes: word(value).subarray(0, size) }],
  });

  const pointer = (random: Random): Mutation => {
    const { type, object } = anyObject(random);
    const members = pointers[type];
    const start = itemsAt[type];
    if (start === undefined || (members.length > 0 && random.chance(0.5))) {
      return put(object.offset + random.pick(members), target(random, object, type), 8, `pointer of ${type}`);
    }
    const size = itemSize(type);
    const count = Math.floor((object.size - start) / size);
    // Buckets are mostly empty and the ends of arrays too; what is used is worth hitting.
    for (let attempt = 0; attempt < 200; attempt++) {
      const offset = object.offset + start + random.integer(count) * size;
      if (bytes.readUInt32LE(offset) === 0 && attempt < 199) continue;
      const aim = random.pick(objectTypes);
      return put(offset, target(random, object, aim), Math.min(size, 8), `item of ${type}`);
    }
    throw new RangeError("no item was tried");
  };

  const kinds: readonly ((random: Random) => Mutation)[] = [
    (random) => flip(random, random.integer(272), "header"),
    (random) => {
      const [name, [offset, size]] = random.pick(Object.entries(headerFields));
      return put(
        offset,
        random.chance(0.5) ? absurd(random) : target(random, random.pick(objects), random.pick(objectTypes)),
        size,
        `header ${name}`,
      );
    },
    (random) => {
      const { type, object } = anyObject(random);
      return flip(random, object.offset + random.integer(objectHeaderSize), `object header of ${type}`);
    },
    (random) => {
      const { type, object } = anyObject(random);
      return flip(random, object.offset + random.integer(Math.min(object.size, 200)), `body of ${type}`);
    },
    (random) => put(anyObject(random).object.offset + 8, absurd(random), 8, "object size"),
    (random) => put(someOf(random, "data").offset + 56, absurd(random), 8, "number of entries of data"),
    pointer,
    pointer,
    pointer,
    (random) => {
      const object = someOf(random, "entryArray");
      return put(object.offset + 16, BigInt(someOf(random, "entryArray").offset), 8, "next entry array");
    },
    (random) => {
      const object = someOf(random, "data");
      return put(
        object.offset + 24,
        BigInt(random.chance(0.5) ? object.offset : someOf(random, "data").offset),
        8,
        "next of hash chain",
      );
    },
    (random) => {
      const compressed = objects.filter((each) => each.isCompressed);
      if (compressed.length === 0) return flip(random, random.integer(end), "anywhere");
      const object = random.pick(compressed);
      const from = isCompact ? 72 : 64;
      return flip(
        random,
        object.offset + from + random.integer(Math.min(object.size - from, 24)),
        "compressed payload",
      );
    },
    (random) => flip(random, random.integer(end), "anywhere"),
    (random) => {
      const truncateTo = random.chance(0.2) ? random.integer(300) : random.integer(end);
      return { what: `cut off at ${truncateTo}`, patches: [], truncateTo };
    },
    (random) => {
      const offset = Math.floor(random.integer(end) / 4096) * 4096;
      const filling = random.chance(0.7) ? Buffer.alloc(4096) : random.bytes(4096);
      return {
        what: `page at ${offset} ${filling.every((byte) => byte === 0) ? "zeroed" : "filled"}`,
        patches: [{ offset, bytes: filling }],
      };
    },
    (random) => {
      // The tables at the start are large and mostly empty; this hits the objects behind them.
      const first = objects.find((each) => each.type === objectType.data)?.offset ?? 0;
      const offset = Math.floor((first + random.integer(end - first)) / 4096) * 4096;
      return { what: `page at ${offset} zeroed`, patches: [{ offset, bytes: Buffer.alloc(4096) }] };
    },
  ];

  return (random) => {
    const first = random.pick(kinds)(random);
    if (random.chance(0.75)) return first;
    const others = Array.from({ length: 1 + random.integer(4) }, () => random.pick(kinds)(random));
    const all = [first, ...others];
    const cuts = all.flatMap(({ truncateTo }) => (truncateTo === undefined ? [] : [truncateTo]));
    return {
      what: all.map(({ what }) => what).join("; "),
      patches: all.flatMap(({ patches }) => patches),
      ...(cuts.length === 0 ? {} : { truncateTo: Math.min(...cuts) }),
    };
  };
}
