import { readFileSync } from "node:fs";
import type { MirroredUnit } from "./parse.ts";

/** Where a control group's memory is to be read, in cgroup v2 and in v1. */
const files = (controlGroup: string): readonly string[] => [
  `/sys/fs/cgroup${controlGroup}/memory.current`,
  `/sys/fs/cgroup/memory${controlGroup}/memory.usage_in_bytes`,
];

/**
 * Memory of a unit's control group in bytes, read from the kernel: systemd sends no signal when it changes.
 * @returns null where it is not accounted for this unit.
 */
export function readMemory(unit: MirroredUnit): number | null {
  if (unit.controlGroup === "" || unit.activeState === "inactive") return null;
  for (const file of files(unit.controlGroup)) {
    try {
      const bytes = Number(readFileSync(file, "utf8"));
      return Number.isSafeInteger(bytes) ? bytes : null;
    } catch {
      // Not accounted in this hierarchy, or the group ended just now.
    }
  }
  return null;
}
