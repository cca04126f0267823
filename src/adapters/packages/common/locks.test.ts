import fc from "fast-check";
import { expect, it } from "vitest";
import { parseLocks } from "./locks.ts";

it("finds the processes that hold a lock for writing", () => {
  const text = `1: POSIX  ADVISORY  WRITE 513 00:27:6765 0 EOF
1: -> POSIX  ADVISORY  WRITE 514 00:27:6765 0 EOF
2: OFDLCK ADVISORY  WRITE -1 fe:00:1564682 0 EOF
3: FLOCK  ADVISORY  WRITE 33 00:2e:99 0 EOF
4: POSIX  ADVISORY  READ  44 00:27:6770 0 EOF
5: POSIX  ADVISORY  WRITE 0 00:27:6771 0 EOF
6: POSIX  MANDATORY WRITE 7 103:0a:123456789012 1073741824 1073742335
`;
  expect(parseLocks(text)).toEqual([
    { pid: 513, inode: 6765 },
    { pid: 7, inode: 123456789012 },
  ]);
});

it("takes any text", () => {
  fc.assert(fc.property(fc.string(), (any) => void parseLocks(any)));
});
