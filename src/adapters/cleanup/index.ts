import { basename, dirname } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { TakeLook } from "#adapters/exec/look.ts";
import { isExecutable } from "#adapters/files/index.ts";
import type { CleanupCandidate, DiskCleanup } from "#domain/ports/storage.ts";
import { lazy } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { namesInUse } from "./in-use.ts";
import { candidatesOf, removeOld } from "./old-files.ts";
import { type PackageCache, packageCaches, removePackages } from "./package-cache.ts";
import { removableFiles, writtenCache, writtenRule } from "./removable.ts";
import { rules as hostRules, type Rule } from "./rules.ts";

export function createDiskCleanup(ports: {
  exec: Exec;
  look: TakeLook;
  clock: Pick<Clock, "now">;
  rules?: readonly Rule[];
  caches?: readonly PackageCache[];
  kernel?: { readonly procDir: string; readonly sysDir: string };
  owner?: number;
}): DiskCleanup {
  const { exec, look, clock, rules = hostRules, caches = packageCaches } = ports;
  const { kernel = { procDir: "/proc", sysDir: "/sys" }, owner = 0 } = ports;

  return {
    async find(signal) {
      const nowMs = clock.now();
      const managed = caches.filter(({ program }) => isExecutable(program));
      const wanted = { rules: rules.map(writtenRule), caches: managed.map(writtenCache), owner, nowMs };
      const { answers, silent, isWhole } = await look(removableFiles, wanted, signal);
      const sizesIn = (directory: string): ReadonlyMap<string, number> =>
        new Map(
          [...answers].flatMap(([path, answer]) =>
            typeof answer === "number" && dirname(path) === directory ? [[basename(path), answer] as const] : [],
          ),
        );
      const candidates: CleanupCandidate[] = managed.flatMap(({ directory }) => {
        const answer = answers.get(directory) ?? null;
        if (answer === null || typeof answer === "number" || "fault" in answer || answer.files.length === 0) return [];
        return { kind: "packages", directory, ...answer };
      });
      const inUse = lazy(() => namesInUse(kernel, signal));
      for (const rule of rules) candidates.push(...(await candidatesOf(rule, sizesIn(rule.directory), inUse)));
      const faults = [...answers].flatMap(([path, answer]) =>
        answer !== null && typeof answer === "object" && "fault" in answer
          ? [`${path} cannot be read: ${answer.fault}`]
          : [],
      );
      const late = isWhole ? [] : ["some files were not inspected, since others give no answer"];
      return { candidates, unread: [...[...silent].map((path) => `${path} gives no answer`), ...faults, ...late] };
    },

    async remove(candidate, signal) {
      const { kind, directory } = candidate;
      const cache = caches.find((each) => each.directory === directory);
      if (kind === "packages" && cache !== undefined) return removePackages(cache, exec, signal);
      const rule = rules.find((each) => each.kind === kind && each.directory === directory);
      if (rule === undefined) throw new Error(`nothing may be removed from ${directory}`);
      const inUse = await namesInUse(kernel, signal);
      return removeOld(candidate, rule, { nowMs: clock.now(), owner, inUse, signal });
    },
  };
}
