import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { orElse, orUndefinedSync } from "#kernel/errors.ts";
import { isRunning, statOf } from "./process-stat.ts";

/** Processes that could not be killed, and the paths that they wait for. */
export interface LeftBehind {
  readonly add: (path: string, pid: number) => void;
  /** Of those that have not ended since. */
  readonly paths: () => readonly string[];
}

interface Left {
  readonly path: string;
  readonly pid: number;
  readonly startTicks: number;
}

/** Known to this process alone. */
function rememberLeftBehind(): LeftBehind {
  let all: readonly Left[] = [];
  return {
    add(path, pid) {
      const stat = statOf(pid);
      if (stat !== undefined) all = [...all, { path, pid, startTicks: stat.startTicks }];
    },
    paths() {
      all = all.filter(isRunning);
      return all.map(({ path }) => path);
    },
  };
}

/** Known to all processes that use the directory, one after the other. It is to be empty after a boot. */
export function openLeftBehind(directory: string): LeftBehind {
  const own = rememberLeftBehind();
  const names = (): readonly string[] => orUndefinedSync(() => readdirSync(directory)) ?? [];
  return {
    add(path, pid) {
      own.add(path, pid);
      // Where it cannot be written down this process still knows it.
      orElse(() => {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        writeFileSync(join(directory, `${pid}-${statOf(pid)?.startTicks}`), path, { mode: 0o600 });
      }, undefined);
    },
    paths() {
      const found = names().flatMap((name) => {
        const [pid = Number.NaN, startTicks = Number.NaN] = name.split("-").map(Number);
        const file = join(directory, name);
        if (isRunning({ pid, startTicks })) return orUndefinedSync(() => readFileSync(file, "utf8")) ?? [];
        rmSync(file, { force: true });
        return [];
      });
      return [...new Set([...found, ...own.paths()])];
    },
  };
}

/** Of processes of root, of which there is one for each request, known to all of them. Of the service there is one. */
export const leftBehind: LeftBehind =
  process.getuid?.() === 0 ? openLeftBehind("/run/steward-left-behind") : rememberLeftBehind();
