import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRequesters, type LoggedItem, millisecondsOf, packagesOf } from "./logged.ts";

const item = (action: LoggedItem["action"], name: string, version: string, isAutomatic = false): LoggedItem => ({
  action,
  name,
  version,
  architecture: "noarch",
  isAutomatic,
});

it("reports an upgrade with both versions, and a package that another one obsoletes as removed", () => {
  const reported = packagesOf([
    item("upgrade", "app", "2-1", true),
    item("replaced", "app", "1-1"),
    item("downgrade", "lib", "1-1"),
    { ...item("replaced", "lib", "2-1"), architecture: "x86_64" },
    item("reinstall", "lost", "1-1"),
    item("install", "new", "1-1", true),
    item("replaced", "old", "1-1"),
    item("remove", "gone", "1-1", true),
    item("other", "marked", "1-1"),
  ]).map(({ name, action, from, to, isAutomatic }) => [action, name, from, to, isAutomatic]);
  expect(reported).toEqual([
    ["upgrade", "app", "1-1", "2-1", false],
    ["downgrade", "lib", "2-1", "1-1", false],
    ["reinstall", "lost", undefined, "1-1", false],
    ["install", "new", undefined, "1-1", true],
    ["remove", "gone", "1-1", undefined, true],
    ["remove", "old", "1-1", undefined, true],
  ]);
});

it("requesting users are named where they are known, and root and nobody are not", async () => {
  const directory = mkdtempSync(join(tmpdir(), "steward-users-"));
  try {
    const passwd = join(directory, "passwd");
    writeFileSync(passwd, "root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/sh\n");
    const requester = await createRequesters(passwd);
    expect([1000, 1001, 0, -1, 4_294_967_295, null, "1000", 1.5].map(requester)).toEqual([
      "alice (1000)",
      "1001",
      ...Array.from({ length: 6 }, () => undefined),
    ]);
    expect((await createRequesters(join(directory, "none")))(1000)).toBe("1000");
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it("times are seconds, where there is one", () => {
  expect([1_795_705_102, 0, -1, null, "1", 1e15].map(millisecondsOf)).toEqual([
    1_795_705_102_000,
    ...Array.from({ length: 5 }, () => undefined),
  ]);
});
