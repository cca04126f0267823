import { readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";

/** Files that the writer of this host cannot make: see README.md for how they were made. */
export const fixtures = ["lz4", "lz4-compact", "xz", "xz-compact"] as const;

/** Journals of several hosts as systemd 257 writes them, in every kind of file: `make-fixtures.ts` has made them. */
export const hostFixtures = ["LZ4", "XZ", "ZSTD"].flatMap((compression, host) =>
  [true, false].flatMap((compact) =>
    [true, false].map((keyedHash) => ({
      name: `hosts-${compression.toLowerCase()}-${compact ? "compact" : "regular"}-${keyedHash ? "keyed" : "jenkins"}`,
      compression,
      compact,
      keyedHash,
      host: `host-${host}`,
      machine: String(host + 7).repeat(32),
    })),
  ),
);

export const fixturesDirectory = join(import.meta.dirname, "fixtures");

export const readFixture = (name: string): Buffer =>
  zstdDecompressSync(readFileSync(join(fixturesDirectory, `${name}.journal.zst`)));
