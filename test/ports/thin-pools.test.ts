import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createThinPools } from "#adapters/lvm/index.ts";
import type { ThinPools } from "#domain/ports/thin-pools.ts";
import { createFakeThinPools, fakeThinPool } from "../fakes/thin-pools.ts";
import { thinPoolReport } from "../host/support/recorded.ts";

const { signal } = new AbortController();
const dir = mkdtempSync(join(tmpdir(), "steward-sys-"));
afterAll(() => rmSync(dir, { recursive: true }));

const sysWith = (uuid: string): string => {
  const sysDir = join(dir, uuid);
  mkdirSync(join(sysDir, "block/dm-3/dm"), { recursive: true });
  writeFileSync(join(sysDir, "block/dm-3/dm/uuid"), `${uuid}\n`);
  return sysDir;
};
const answering =
  (stdout: string): Exec =>
  () =>
    Promise.resolve({ exitCode: 0, stdout, stderr: "", truncated: false });

const pool = fakeThinPool({ dataPercent: 81.25, metadataPercent: 14.16 });
const report = thinPoolReport({ data: "81.25", metadata: "14.16" });

describe.each([
  ["fake", createFakeThinPools([pool]), createFakeThinPools([])],
  [
    "lvm",
    createThinPools({ exec: answering(report), sysDir: sysWith("LVM-kbDXqmHXtKVm-tpool") }),
    createThinPools({ exec: answering('{"report": [{"lv": []}]}'), sysDir: sysWith("LVM-kbDXqmHXtKVm") }),
  ],
] as const)("thin pools: %s", (_, present: ThinPools, absent: ThinPools) => {
  it("are those that LVM has", async () => {
    expect(await present.arePresent()).toBe(true);
    expect(await present.list(signal)).toEqual([pool]);
  });

  it("are none where there is no LVM, or none of this kind", async () => {
    expect(await absent.arePresent()).toBe(false);
    expect(await absent.list(signal)).toEqual([]);
  });
});

describe("thin pools: lvm", () => {
  it("are undefined without its programs", async () => {
    const missing: Exec = (_, options) => exec(["/nonexistent/lvs"], options);
    expect(await createThinPools({ exec: missing }).list(signal)).toBeUndefined();
  });

  it("throw what lvs says where it fails", async () => {
    const refusing: Exec = () =>
      Promise.resolve({ exitCode: 5, stdout: "", stderr: "No permission\n", truncated: false });
    await expect(createThinPools({ exec: refusing }).list(signal)).rejects.toThrow("cannot ask lvs: No permission");
  });
});
