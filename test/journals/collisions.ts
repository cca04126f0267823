import { type Hash64, jenkinsHash } from "#adapters/journald/journal-file/hash.ts";
import type { Random } from "../support/random.ts";
import { type Clock, timed } from "./entries.ts";
import type { Field, NewEntry } from "./export-format.ts";

const turn = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
const blockSize = 12;

type State = readonly [a: number, b: number, c: number];

/** What lookup3 holds after whole blocks of a text of a known length, none of which is the last. */
function stateAfter(bytes: Buffer, length: number): State {
  let a = (0xdead_beef + length) | 0;
  let [b, c] = [a, a];
  for (let at = 0; at < bytes.length; at += blockSize) {
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
  }
  return [a, b, c];
}

/** What lookup3 has to hold before its last steps for a hash to come out. The third number that comes out is nobody's. */
function stateBefore({ high, low }: Hash64, third: number): State {
  let [a, b, c] = [third, low, high];
  c = (c + turn(b, 24)) ^ b;
  b = (b + turn(a, 14)) ^ a;
  a = (a + turn(c, 4)) ^ c;
  c = (c + turn(b, 16)) ^ b;
  b = (b + turn(a, 25)) ^ a;
  a = (a + turn(c, 11)) ^ c;
  c = (c + turn(b, 14)) ^ b;
  return [a, b, c];
}

const isPrintable = (byte: number): boolean => byte > 0x20 && byte < 0x7f;

/**
 * A text with the hash of another one, as anybody can make it for files without keyed hashes: it begins as is wanted, and ends in
 * twelve characters that bring the hash about.
 */
function collidingWith(target: string, prefix: string): string {
  const hash = jenkinsHash(Buffer.from(target));
  const start = Buffer.from(prefix.padEnd(Math.ceil(prefix.length / blockSize) * blockSize, "-"));
  const bytes = Buffer.concat([start, Buffer.alloc(blockSize)]);
  const [a, b, c] = stateAfter(start, bytes.length);
  for (let third = 0; third < 2 ** 31; third += 1) {
    const [wantedA, wantedB, wantedC] = stateBefore(hash, third);
    bytes.writeInt32LE((wantedA - a) | 0, start.length);
    bytes.writeInt32LE((wantedB - b) | 0, start.length + 4);
    bytes.writeInt32LE((wantedC - c) | 0, start.length + 8);
    if (!bytes.subarray(start.length).every(isPrintable)) continue;
    const made = jenkinsHash(bytes);
    if (made.high !== hash.high || made.low !== hash.low) throw new Error(`the hash of ${bytes.toString()} is another`);
    return bytes.toString("latin1");
  }
  throw new Error(`no text that begins with ${prefix} has the hash of ${target}`);
}

/** Has the hash of `_SYSTEMD_UNIT`. Names are made of so few characters that it took 10^10 tries. */
export const collidingName = "CLAIM_XQHNB8L3FTU8PT7RGGGNGC_7GH5BS1";

/** `_SYSTEMD_UNIT=` with one has the hash of that with the other. */
const collidingUnits = ["app-hys3d1gbzy40ezt97z.service", "app-3gck4v0hj_xzqdoeca.service"] as const;

const fieldOf = (payload: string): Field => {
  const at = payload.indexOf("=");
  return [payload.slice(0, at), payload.slice(at + 1)];
};

/**
 * Values whose hashes are those of other values that filters look for: half of them stand before those in the chains of the hash
 * tables and half behind, or the honest ones stand first.
 */
export function collidingEntries(random: Random, clock: Clock, first: "forged" | "honest"): readonly NewEntry[] {
  const targets = [
    "_SYSTEMD_UNIT=a.service",
    "UNIT=a.service",
    "PRIORITY=3",
    "SYSLOG_IDENTIFIER=cron",
    "_PID=1",
    "_UID=0",
    "MESSAGE=request 7 took 7 ms",
    `_BOOT_ID=${clock.bootId}`,
  ];
  const prefixes = ["MESSAGE=forged 1 ", "MESSAGE=forged 2 ", "SYSLOG_IDENTIFIER=su "];
  const forged = targets.flatMap((target) => prefixes.map((prefix) => collidingWith(target, prefix)));
  const claims: readonly Field[] = [
    [collidingName, "a.service"],
    [collidingName, "claimed.service"],
  ];
  const of = (payload: string, position: number): readonly Field[] => [
    fieldOf(payload),
    ["PRIORITY", String(position % 8)],
    ["_SYSTEMD_UNIT", collidingUnits[position % 5] ?? "a.service"],
    ...claims.slice(position % 3),
  ];
  const honest: readonly (readonly Field[])[] = [
    [fieldOf("_SYSTEMD_UNIT=a.service"), fieldOf("MESSAGE=request 7 took 7 ms"), fieldOf("PRIORITY=3")],
    [fieldOf("UNIT=a.service"), fieldOf("_PID=1"), fieldOf("MESSAGE=Started a."), fieldOf("_SYSTEMD_UNIT=init.scope")],
    [fieldOf("SYSLOG_IDENTIFIER=cron"), fieldOf("_UID=0"), fieldOf("MESSAGE=request 8 took 9 ms")],
    ...claims.map((claim): readonly Field[] => [claim, fieldOf("MESSAGE=claimed")]),
  ];
  const [half, rest] = [forged.filter((_, at) => at % 2 === 0), forged.filter((_, at) => at % 2 === 1)];
  const before = first === "forged" ? half.map(of) : [];
  return timed(random, clock, [...before, ...honest, ...rest.map(of), ...honest, ...forged.map(of)]);
}
