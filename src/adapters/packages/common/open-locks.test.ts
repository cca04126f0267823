import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOpenLocks, isLeftOver } from "./locks.ts";

describe("a lock that counts by being there", () => {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "steward-lock-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("is held by who has it open, and else left over", async () => {
    const path = join(folder, "db.lck");
    const locks = createOpenLocks();
    expect(await locks.holder(path)).toBeUndefined();
    expect(await isLeftOver(path, locks)).toBe(false);
    const file = await open(path, "wx");
    try {
      expect(await locks.holder(path)).toMatchObject({ pid: process.pid });
      expect(await isLeftOver(path, locks)).toBe(false);
    } finally {
      await file.close();
    }
    expect(await locks.holder(path)).toBeUndefined();
    expect(await isLeftOver(path, locks)).toBe(true);
  });

  it("is not left over when it goes while it is inspected", async () => {
    const path = join(folder, "db.lck");
    await writeFile(path, "");
    const holder = () => rm(path).then(() => undefined);
    expect(await isLeftOver(path, { holder })).toBe(false);
  });
});
