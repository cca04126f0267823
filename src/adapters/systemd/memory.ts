import { readFileSync } from "node:fs";
import type { Clock } from "#kernel/clock.ts";
import type { Mirror } from "./mirror.ts";
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

/** Memory of the control groups is read at most this often. */
const maxAgeMs = 5_000;

export function createMemoryRefresh(mirror: Pick<Mirror, "units" | "replace">, clock: Pick<Clock, "monotonicMs">) {
  let readAtMs = 0;
  return (): void => {
    const now = clock.monotonicMs();
    if (now - readAtMs < maxAgeMs) return;
    readAtMs = now;
    for (const unit of mirror.units().values()) {
      const memoryBytes = readMemory(unit);
      if (memoryBytes !== unit.memoryBytes) mirror.replace({ ...unit, memoryBytes });
    }
  };
}
