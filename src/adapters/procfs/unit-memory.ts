import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { UnitMemories, UnitMemory } from "#domain/ports/kernel.ts";
import { isDeviceGone, orUndefinedSync } from "#kernel/errors.ts";
import { parseFlatKey } from "./parse.ts";

const mostUnits = 2000;
/** What the kernel can free at once when a limit is reached, in the kernel's Documentation/admin-guide/cgroup-v2.rst. */
const reclaimable = ["active_file", "inactive_file", "slab_reclaimable"];

function readUnit(dir: string, name: string): UnitMemory | undefined {
  const read = (file: string): string | undefined =>
    orUndefinedSync(() => readFileSync(join(dir, file), "latin1"), isDeviceGone);
  const current = read("memory.current");
  if (current === undefined) return undefined;
  const stat = read("memory.stat") ?? "";
  const limit = (read("memory.max") ?? "max").trim();
  const free = reclaimable.reduce((sum, key) => sum + (parseFlatKey(stat, key) ?? 0), 0);
  return {
    name,
    usedBytes: Math.max(0, Number(current) - free),
    limitBytes: limit === "max" ? null : Number(limit),
    oomKills: parseFlatKey(read("memory.events") ?? "", "oom_kill") ?? 0,
  };
}

/** Below slices are services and scopes; what is below these is their own. */
function unitDirs(dir: string): readonly (readonly [dir: string, name: string])[] {
  const entries = orUndefinedSync(() => readdirSync(dir, { withFileTypes: true }), isDeviceGone) ?? [];
  return entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      if (/\.(service|scope)$/.test(name)) return [[join(dir, name), name] as const];
      return name.endsWith(".slice") ? unitDirs(join(dir, name)) : [];
    });
}

export function createUnitMemories(ports: { sysDir?: string } = {}): UnitMemories {
  const root = join(ports.sysDir ?? "/sys", "fs/cgroup");
  return {
    async list() {
      if (!existsSync(join(root, "cgroup.controllers"))) return undefined;
      const found: UnitMemory[] = [];
      for (const [dir, name] of unitDirs(root).slice(0, mostUnits)) {
        const unit = readUnit(dir, name);
        if (unit !== undefined) found.push(unit);
        if (found.length % 32 === 31) await nextTurn();
      }
      return found.length === 0 ? undefined : found;
    },
  };
}
