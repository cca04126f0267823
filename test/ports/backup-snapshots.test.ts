import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createBackupSnapshots } from "#adapters/snapper/index.ts";
import type { BackupSnapshots } from "#domain/ports/backup-snapshots.ts";
import { createFakeBackupSnapshots } from "../fakes/backup-snapshots.ts";

const { signal } = new AbortController();
const at = (time: string): number => Date.parse(`2026-01-${time}Z`);
const dir = mkdtempSync(join(tmpdir(), "steward-snapper-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** What snapper 0.10 prints; the host tests ask the program itself. */
const listed = JSON.stringify({
  root: [
    { number: 0, date: "" },
    { number: 1, date: "2026-01-01 10:00:00" },
    { number: 7, date: "2026-01-02 09:30:00" },
    { number: 8, date: "2026-01-09 00:00:00" },
  ],
});
const script = `#!/bin/sh\nif [ "$5" = root ]; then echo '${listed}'; elif [ "$5" = none ]; then echo '{"none":[{"number":0,"date":""}]}'; else echo Unknown config. >&2; exit 1; fi\n`;
const program = join(dir, "snapper");
writeFileSync(program, script);
chmodSync(program, 0o755);

const suites: readonly (readonly [string, BackupSnapshots])[] = [
  [
    "the fake",
    createFakeBackupSnapshots({
      root: [
        { number: 1, createdAt: at("01T10:00:00") },
        { number: 7, createdAt: at("02T09:30:00") },
        { number: 8, createdAt: at("09T00:00:00") },
      ],
      none: [],
    }),
  ],
  ["snapper", createBackupSnapshots({ exec: ([, ...args], options) => exec([program, ...args], options) })],
];

describe.each(suites)("backup snapshots: %s", (_, snapshots) => {
  it("finds the newest, but none from the future", async () => {
    expect(await snapshots.newest("root", at("08T00:00:00"), signal)).toEqual({
      number: 7,
      createdAt: at("02T09:30:00"),
    });
  });

  it("returns undefined without a snapshot", async () => {
    expect(await snapshots.newest("none", at("08T00:00:00"), signal)).toBeUndefined();
  });

  it("says what snapper says of a configuration that is not there", async () => {
    await expect(snapshots.newest("other", at("08T00:00:00"), signal)).rejects.toThrow("snapper: Unknown config.");
  });
});

it("says that snapper is not installed", async () => {
  const missing = createBackupSnapshots({
    exec: ([, ...args], options) => exec([join(dir, "none"), ...args], options),
  });
  await expect(missing.newest("root", 0, signal)).rejects.toThrow("snapper is not installed");
});
