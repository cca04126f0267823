import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseWtmp, type WtmpLayout, wtmpLayout } from "./wtmp.ts";

const t = 1_700_000_000;

function layoutOf(architecture: string): WtmpLayout {
  const layout = wtmpLayout(architecture);
  if (layout === undefined) throw new Error(`the records of ${architecture} are not known`);
  return layout;
}

function recordOf(
  architecture: string,
  type: number,
  line: string,
  user: string,
  host: string,
  seconds: number,
): Buffer {
  const { recordBytes, isWide } = layoutOf(architecture);
  const record = Buffer.alloc(recordBytes);
  record.writeInt16LE(type, 0);
  record.write(line, 8, 32, "utf8");
  record.write(user, 44, 32, "utf8");
  record.write(host, 76, 256, "utf8");
  if (isWide) record.writeBigInt64LE(BigInt(seconds), 344);
  else record.writeUInt32LE(seconds, 340);
  return record;
}

describe.each(["x64", "arm64"])("wtmp of %s", (architecture) => {
  const layout = layoutOf(architecture);
  const row = (type: number, line: string, user: string, host: string, seconds: number) =>
    recordOf(architecture, type, line, user, host, seconds);
  const read = (records: readonly Buffer[], limit = 10) => parseWtmp(Buffer.concat(records), layout, limit);

  it("has the end of each login, newest first", () => {
    const records = [
      row(2, "~", "reboot", "6.1.0", t),
      row(7, "tty1", "root", "", t + 1),
      row(7, "pts/0", "eve", "192.0.2.7", t + 2),
      row(8, "pts/0", "", "", t + 3),
      row(1, "~", "shutdown", "6.1.0", t + 4),
      row(2, "~", "reboot", "6.1.0", t + 5),
      row(7, "pts/1", "mal", "2001:db8::1", t + 6),
      row(2, "~", "reboot", "6.1.0", t + 7),
      row(7, "pts/0", "old", "", t + 8),
      row(7, "pts/0", "eve", "", t + 8),
    ];
    const ms = (seconds: number): number => (t + seconds) * 1000;
    expect(read(records)).toEqual([
      { user: "eve", tty: "pts/0", remoteHost: "", startedAt: ms(8), endedAt: null, end: "none" },
      { user: "old", tty: "pts/0", remoteHost: "", startedAt: ms(8), endedAt: null, end: "unknown" },
      { user: "mal", tty: "pts/1", remoteHost: "2001:db8::1", startedAt: ms(6), endedAt: ms(7), end: "crash" },
      { user: "eve", tty: "pts/0", remoteHost: "192.0.2.7", startedAt: ms(2), endedAt: ms(3), end: "logout" },
      { user: "root", tty: "tty1", remoteHost: "", startedAt: ms(1), endedAt: ms(4), end: "shutdown" },
    ]);
    expect(read(records, 1).map(({ user }) => user)).toEqual(["eve"]);
  });

  it("has no login of an impossible time", () => {
    if (layout.isWide) expect(read([row(7, "tty1", "root", "", 300_000_000_000)])).toEqual([]);
    expect(read([row(7, "tty1", "root", "", 0)])).toEqual([]);
  });

  it("is read whatever it holds, without control characters", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1300 }), (bytes) => {
        for (const { user, startedAt } of parseWtmp(Buffer.from(bytes), layout, 10)) {
          expect(user).not.toMatch(/\p{Cc}/u);
          expect(new Date(startedAt).toISOString()).toMatch(/^\d{4}-/);
        }
      }),
    );
  });
});
