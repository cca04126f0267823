import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createUnitMemories } from "#adapters/procfs/unit-memory.ts";
import type { UnitMemories } from "#domain/ports/unit-memory.ts";
import { createFakeUnitMemories, fakeUnitMemory } from "../fakes/unit-memories.ts";

const sysDir = mkdtempSync(join(tmpdir(), "steward-cgroup-"));
afterAll(() => rmSync(sysDir, { recursive: true }));

// As the kernel's description of cgroup v2 has these files.
const files: Readonly<Record<string, string>> = {
  "cgroup.controllers": "cpu io memory pids\n",
  "system.slice/memory.current": "9999999999\n",
  "system.slice/app.service/memory.current": "1000000000\n",
  "system.slice/app.service/memory.max": "1073741824\n",
  "system.slice/app.service/memory.events": "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n",
  "system.slice/app.service/memory.stat":
    "anon 600000000\nfile 400000000\ninactive_file 250000000\nactive_file 140000000\nslab_reclaimable 10000000\n",
  "user.slice/user-1000.slice/session-1.scope/memory.current": "5000\n",
  "user.slice/user-1000.slice/session-1.scope/memory.max": "max\n",
  "init.scope/cgroup.procs": "1\n",
};
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(sysDir, "fs/cgroup", path)), { recursive: true });
  writeFileSync(join(sysDir, "fs/cgroup", path), text);
}

const app = fakeUnitMemory({ usedBytes: 600_000_000, limitBytes: 1_073_741_824, oomKills: 2 });
const scope = fakeUnitMemory({ name: "session-1.scope", usedBytes: 5000, limitBytes: null });

describe.each([
  ["fake", createFakeUnitMemories([app, scope]), createFakeUnitMemories()],
  ["cgroup v2", createUnitMemories({ sysDir }), createUnitMemories({ sysDir: "/nonexistent" })],
] as const)("memory of units: %s", (_, present: UnitMemories, absent: UnitMemories) => {
  it("is that of services and scopes, without what can be freed at once", async () => {
    expect((await present.list())?.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([app, scope]);
  });

  it("is undefined where the kernel does not count it", async () => {
    expect(await absent.list()).toBeUndefined();
  });
});
