import type { Exec } from "#adapters/exec/index.ts";
import type { CleanupCandidate, DiskCleanup } from "#domain/ports/storage.ts";
import { lazy } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { namesInUse } from "./in-use.ts";
import { findOld, removeOld } from "./old-files.ts";
import { findPackages, type PackageCache, packageCaches, removePackages } from "./package-cache.ts";
import { rules as hostRules, type Rule } from "./rules.ts";

export function createDiskCleanup(ports: {
  exec: Exec;
  clock: Pick<Clock, "now">;
  rules?: readonly Rule[];
  caches?: readonly PackageCache[];
  kernel?: { readonly procDir: string; readonly sysDir: string };
  owner?: number;
}): DiskCleanup {
  const { exec, clock, rules = hostRules, caches = packageCaches } = ports;
  const { kernel = { procDir: "/proc", sysDir: "/sys" }, owner = 0 } = ports;

  return {
    async find(signal) {
      const found: (CleanupCandidate | undefined)[] = [];
      for (const cache of caches) found.push(await findPackages(cache));
      const inUse = lazy(() => namesInUse(kernel, signal));
      for (const rule of rules) found.push(await findOld(rule, { nowMs: clock.now(), owner, inUse, signal }));
      return found.filter((each) => each !== undefined);
    },

    async remove(candidate, signal) {
      const { kind, folder } = candidate;
      const cache = caches.find((each) => each.folder === folder);
      if (kind === "packages" && cache !== undefined) return removePackages(cache, exec, signal);
      const rule = rules.find((each) => each.kind === kind && each.folder === folder);
      if (rule === undefined) throw new Error(`nothing may be removed from ${folder}`);
      const inUse = await namesInUse(kernel, signal);
      return removeOld(candidate, rule, { nowMs: clock.now(), owner, inUse, signal });
    },
  };
}
