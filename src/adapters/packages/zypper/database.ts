import { readFile } from "node:fs/promises";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { contentMark, databaseFiles, marksOf } from "../common/marks.ts";
import { nevraOf } from "../rpm/names.ts";
import { byName } from "../rpm/offers.ts";
import type { Asking, ZypperPlaces } from "./asking.ts";
import { installedFormat, parseAutoInstalled, parseHeld, parseInstalled } from "./lists.ts";
import { failureReason } from "./output.ts";

export interface ZypperDatabase {
  readonly packages: readonly PackageVersion[];
  readonly isHeld: (found: PackageVersion) => boolean;
  readonly automatic: ReadonlySet<string>;
  readonly mark: string;
}

/** Reads what is installed, and what has not changed only once. */
export function createDatabase(ports: {
  readonly exec: Exec;
  readonly asking: Pick<Asking, "tryInstalled">;
  readonly places: ZypperPlaces;
}): (signal: AbortSignal) => Promise<ZypperDatabase> {
  const { exec, asking, places } = ports;
  let last: ZypperDatabase | undefined;

  const queryAll = async (signal: AbortSignal): Promise<readonly PackageVersion[]> => {
    const words = ["--query", "--all", "--nosignature", `--queryformat=${installedFormat}`];
    const options = { signal, timeoutMs: 120_000, maxOutputBytes: 64 * 1024 * 1024 };
    const { exitCode, stdout, stderr, truncated } = await exec([...places.rpm, ...words], options);
    if (exitCode !== 0 || truncated) throw new CommandFailed(`cannot ask rpm: ${stderr.trim()}`);
    return parseInstalled(stdout).toSorted(byName);
  };

  /** Locks are patterns that only zypper itself can read for sure. */
  const heldBy = async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const text = (await orUndefined(readFile(places.packageLocks, "utf8"))) ?? "";
    if (text.trim() === "") return new Set();
    const { exitCode, stdout, stderr } = await asking.tryInstalled(["locks", "--solvables"], signal);
    if (exitCode !== 0)
      throw new CommandFailed(`cannot ask zypper: ${failureReason(`${stdout}\n${stderr}`, exitCode)}`);
    return parseHeld(stdout);
  };

  return async (signal) => {
    const files = await databaseFiles(places.databases);
    const contents = await Promise.all([...files, places.autoInstalled].map(contentMark));
    const mark = `${contents.join("\n")}\n${await marksOf([places.packageLocks])}`;
    if (last?.mark === mark) return last;
    const packages = await queryAll(signal);
    const held = await heldBy(signal);
    const automatic = (await orUndefined(readFile(places.autoInstalled, "utf8"))) ?? "";
    const isHeld = (found: PackageVersion): boolean => held.has(nevraOf(found));
    last = { packages, isHeld, automatic: parseAutoInstalled(automatic), mark };
    return last;
  };
}

export const toInstalled = ({ packages, isHeld, automatic }: ZypperDatabase): readonly InstalledPackage[] =>
  packages.map((each) => ({
    name: each.name,
    architecture: each.architecture,
    version: each.version,
    isManual: !automatic.has(each.name),
    isHeld: isHeld(each),
  }));
