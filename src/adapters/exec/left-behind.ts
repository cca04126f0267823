import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { orElse, orUndefinedSync } from "#kernel/errors.ts";
import { isRunning, statOf } from "./proc.ts";

/** Processes that could not be killed, by the name of their work, and the paths that they wait for. */
export interface LeftBehind {
  readonly add: (name: string, path: string, pid: number) => void;
  /** Of those that have not ended since. */
  readonly paths: (name: string) => readonly string[];
}

interface Left {
  readonly name: string;
  readonly path: string;
  readonly pid: number;
  readonly startTicks: number;
}

/** Known to this process alone. */
function rememberLeftBehind(): LeftBehind {
  let all: readonly Left[] = [];
  return {
    add(name, path, pid) {
      const stat = statOf(pid);
      if (stat !== undefined) all = [...all, { name, path, pid, startTicks: stat.startTicks }];
    },
    paths(name) {
      all = all.filter(isRunning);
      return all.filter((each) => each.name === name).map(({ path }) => path);
    },
  };
}

/** Known to all processes that use the directory, one after the other. It is to be empty after a boot. */
export function openLeftBehind(directory: string): LeftBehind {
  const own = rememberLeftBehind();
  const entries = (): readonly string[] => orUndefinedSync(() => readdirSync(directory)) ?? [];
  return {
    add(name, path, pid) {
      own.add(name, path, pid);
      // Where it cannot be written down this process still knows it.
      orElse(() => {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        writeFileSync(join(directory, `${pid}-${statOf(pid)?.startTicks}-${name}`), path, { mode: 0o600 });
      }, undefined);
    },
    paths(name) {
      const found = entries().flatMap((entry) => {
        const [pid, startTicks, of] = entry.split("-");
        const file = join(directory, entry);
        if (!isRunning({ pid: Number(pid), startTicks: Number(startTicks) })) rmSync(file, { force: true });
        else if (of === name) return orUndefinedSync(() => readFileSync(file, "utf8")) ?? [];
        return [];
      });
      return [...new Set([...found, ...own.paths(name)])];
    },
  };
}

/** Of processes of root, of which there is one for each request, known to all of them. Of the service there is one. */
export const leftBehind: LeftBehind =
  process.getuid?.() === 0 ? openLeftBehind("/run/steward-left-behind") : rememberLeftBehind();
