import { describe, expect, it } from "vitest";
import { entriesOf } from "./journal-entries.ts";

function field(name: string, value: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(value.length));
  return Buffer.concat([Buffer.from(`${name}\n`), size, value, Buffer.from("\n")]);
}

const entries = [
  Buffer.from("__CURSOR=s=1\nMESSAGE=one\n\n"),
  Buffer.concat([
    Buffer.from("__CURSOR=s=2\n"),
    field("MESSAGE", Buffer.from("a\n\n__CURSOR=s=9\n\n")),
    Buffer.from("\n"),
  ]),
  Buffer.concat([Buffer.from("__CURSOR=s=3\n"), field("EMPTY", Buffer.alloc(0)), Buffer.from("\n")]),
  Buffer.from("__CURSOR=s=4\nMESSAGE=\n\n"),
];
const lines = [1, 2, 3].map((at) => Buffer.from(`{"__CURSOR":"s=${at}","MESSAGE":"é\\n"}\n`));

describe.each([
  ["journal", entries],
  ["json", lines],
] as const)("entries that have arrived of an export in %s", (format, all) => {
  const whole = Buffer.concat(all);
  const ends = all.map((_, at) => Buffer.concat(all.slice(0, at + 1)).length);

  it("are the complete ones, wherever the export was cut", () => {
    for (let length = 0; length <= whole.length; length += 1) {
      const count = ends.filter((end) => end <= length).length;
      expect([length, entriesOf[format](whole.subarray(0, length))]).toEqual([
        length,
        { end: ends[count - 1] ?? 0, count, cursor: count === 0 ? undefined : `s=${count}` },
      ]);
    }
  });
});
