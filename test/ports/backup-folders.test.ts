import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createBackupFolders } from "#adapters/backup-folders/index.ts";
import type { BackupFolders } from "#domain/ports/backup-folders.ts";
import { createFakeBackupFolders } from "../fakes/backup-folders.ts";

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), "steward-backups-"));
afterAll(() => rmSync(dir, { recursive: true }));

const at = (hour: number): number => Date.UTC(2026, 0, 1, hour);
function write(path: string, hour: number, content = "backup"): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  utimesSync(path, at(hour) / 1000, at(hour) / 1000);
}

const folder = join(dir, "backups");
write(join(folder, "a.tar"), 1);
write(join(folder, "weekly/deep/b.tar"), 3);
write(join(folder, "empty.tar"), 5, "");
write(join(folder, "c.log"), 7);
write(join(dir, "outside/secret.tar"), 9);
symlinkSync(join(dir, "outside"), join(folder, "link"));
symlinkSync(join(dir, "outside/secret.tar"), join(folder, "link.tar"));
const empty = join(dir, "empty");
mkdirSync(empty);

const files = [
  { path: "a.tar", bytes: 6, modifiedAt: at(1) },
  { path: "weekly/deep/b.tar", bytes: 6, modifiedAt: at(3) },
  { path: "empty.tar", bytes: 0, modifiedAt: at(5) },
  { path: "c.log", bytes: 6, modifiedAt: at(7) },
];

describe.each<[string, BackupFolders]>([
  ["fake", createFakeBackupFolders({ [folder]: files, [empty]: [] })],
  ["directories", createBackupFolders()],
])("backup folders: %s", (_, folders) => {
  it("have a newest file among those that match, at any depth, without links and empty files", async () => {
    expect(await folders.newest(folder, (name) => name.endsWith(".tar"), at(24), signal)).toEqual({
      newest: { path: "weekly/deep/b.tar", bytes: 6, modifiedAt: at(3) },
      isComplete: true,
    });
    expect(await folders.newest(folder, () => true, at(24), signal)).toMatchObject({ newest: { path: "c.log" } });
  });

  it("leave out files from the future", async () => {
    expect(await folders.newest(folder, () => true, at(6), signal)).toMatchObject({
      newest: { path: "weekly/deep/b.tar" },
    });
  });

  it("have none where nothing matches, and are undefined where they are not there", async () => {
    expect(await folders.newest(empty, () => true, at(24), signal)).toEqual({ newest: undefined, isComplete: true });
    expect(await folders.newest(join(dir, "missing"), () => true, at(24), signal)).toBeUndefined();
  });
});

describe("backup folders: directories", () => {
  it("are read up to a number of entries, and say so", async () => {
    const folders = createBackupFolders({ mostEntries: 2 });
    expect(await folders.newest(folder, () => true, at(24), signal)).toMatchObject({ isComplete: false });
  });

  it("are not read further once nobody waits", async () => {
    await expect(createBackupFolders().newest(folder, () => true, at(24), AbortSignal.abort())).rejects.toThrow(
      "aborted",
    );
  });
});
