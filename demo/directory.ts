import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "#kernel/values.ts";
import { isAlive, ownProcess, type ProcessId } from "../test/host/processes.ts";

const parent = "/run";
const nameOf = (number: number): string => (number === 0 ? "steward-demo" : `steward-demo${number}`);

/** The directory of this machine with what belongs to one demo: its key, its certificate, its commands. */
export interface DemoDirectory {
  readonly path: string;
  readonly write: (name: string, content: string, mode: number) => string;
  readonly remove: () => void;
}

function readOwner(path: string): ProcessId | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(path, "owner.json"), "utf8"));
    if (!isRecord(value) || !("pid" in value) || !("startTime" in value)) return undefined;
    const { pid, startTime } = value;
    return typeof pid === "number" && typeof startTime === "string" ? { pid, startTime } : undefined;
  } catch {
    // The process that made it was killed before it said so.
    return undefined;
  }
}

/** Takes the directory of this number. @returns undefined where another demo has it. */
export function claimDirectory(number: number): DemoDirectory | undefined {
  const path = join(parent, nameOf(number));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return undefined;
    throw error;
  }
  const write = (name: string, content: string, mode: number): string => {
    const file = join(path, name);
    writeFileSync(file, content, { mode });
    return file;
  };
  write("owner.json", JSON.stringify(ownProcess()), 0o600);
  return { path, write, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Removes the directories of demos whose process is gone. @returns their paths. */
export function sweepDirectories(): readonly string[] {
  const left = readdirSync(parent)
    .filter((name) => /^steward-demo\d*$/.test(name))
    .map((name) => join(parent, name))
    .filter((path) => {
      const owner = readOwner(path);
      return owner === undefined ? existsSync(path) : !isAlive(owner);
    });
  for (const path of left) rmSync(path, { recursive: true, force: true });
  return left;
}
