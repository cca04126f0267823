import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type InstalledPackage,
  type PackageFiles,
  type PackageVersion,
  type Progress,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { PlainChange } from "../common/changes.ts";
import { asResult } from "../common/transactions.ts";
import { nevraOf } from "../rpm/names.ts";
import { NoLists } from "../rpm/offers.ts";
import {
  createFetch,
  createPackageFile,
  createRestore,
  createRpmSettle,
  fileNameOf,
  keptNameOf,
  type Missing,
} from "../rpm/package-files.ts";
import { onlyFiles } from "./asking.ts";
import { toInstalled, type ZypperDatabase } from "./database.ts";
import { createParts, type ZypperPorts } from "./index.ts";
import { scriptFailures, telling } from "./output.ts";
import { simulate } from "./simulation.ts";
import { marksCommand, operandOf, type Source, wordsFor, writeMarks } from "./transaction.ts";

/** The words that install these files and remove these packages. Of files the hashes of the snapshot say that they are right. */
export function wordsToReturn({ install, remove }: Missing): readonly string[] {
  const words = wordsFor([]);
  const operands = [...install.map(({ path }) => path), ...remove.map((each) => `!${operandOf(each)}`)];
  return [...words.slice(0, -1), "--allow-unsigned-rpm", "--", ...operands];
}

export function isExact(changes: readonly PlainChange[], { install, remove }: Missing): boolean {
  const done = changes.map(({ name, architecture, from, to }) =>
    to === null
      ? `-${nevraOf({ name, architecture, version: from ?? "" })}`
      : `+${nevraOf({ name, architecture, version: to })}`,
  );
  const wanted = [...install.map((each) => `+${nevraOf(each)}`), ...remove.map((each) => `-${nevraOf(each)}`)];
  return done.sort().join() === wanted.sort().join();
}

/** Names that nobody asked for where the marks are as given; of others it stays as it is. */
export function automaticAs(wanted: readonly InstalledPackage[], database: ZypperDatabase): ReadonlySet<string> {
  const given = new Map(wanted.map(({ name, isManual }) => [name, isManual]));
  const names = database.packages.map(({ name }) => name);
  return new Set(names.filter((name) => !(given.get(name) ?? !database.automatic.has(name))));
}

const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((name) => other.has(name));

/** Package files of a host with zypper and rpm. A package cannot be put together again from what is installed. */
export function createZypperPackageFiles(ports: ZypperPorts): PackageFiles {
  const { exec, asking, database, transact, exact, places, unitPlaces } = createParts(ports);
  const { identify, isWhole } = createPackageFile({ exec });
  const folder = join(unitPlaces.output, "files");

  const cached = async (wanted: PackageVersion): Promise<readonly string[]> => {
    const repositories = (await orUndefined(readdir(places.packages))) ?? [];
    const file = fileNameOf(wanted);
    return repositories.flatMap((name) =>
      [file, join(wanted.architecture, file)].map((path) => join(places.packages, name, path)),
    );
  };

  const download = async (wanted: PackageVersion, own: string, signal: AbortSignal): Promise<string | undefined> => {
    const words = ["download", "--all-matches", "--", operandOf(wanted)];
    const result = await asking.tryInto(own, words, signal).catch((error: unknown) => {
      // Without them it is not known where it would be.
      if (error instanceof NoLists) return undefined;
      throw error;
    });
    if (result?.exitCode !== 0) return undefined;
    const names = await readdir(own, { recursive: true });
    const file = names.find((name) => name.endsWith(".rpm"));
    return file === undefined ? undefined : join(own, file);
  };

  const change = async (unit: string, left: Missing, progress: Progress, signal: AbortSignal): Promise<string> => {
    const words = wordsToReturn(left);
    const ask: Source["ask"] = (given, asked) => asking.tryFiles(folder, given, asked);
    let failures = "";
    try {
      const { changes } = await simulate(ask, words, signal);
      if (!isExact(changes, left)) return "zypper would not do just that";
      const source = { ask, options: onlyFiles(folder), words };
      const result = await asResult(async () => {
        failures = scriptFailures(await exact({ unit, changes, source, onLine: telling(progress) }, signal));
      });
      return result.isDone ? failures : result.reason;
    } catch (error) {
      if (error instanceof UpdateRefused) return `zypper would not do just that: ${error.message}`;
      throw error;
    }
  };

  const mark = async (unit: string, wanted: readonly InstalledPackage[], signal: AbortSignal): Promise<void> => {
    const state = await database(signal);
    const names = automaticAs(wanted, state);
    const now = new Set(state.packages.map(({ name }) => name).filter((name) => state.automatic.has(name)));
    if (isSame(names, now)) return;
    const path = join(unitPlaces.output, `${unit}.marks`);
    await writeMarks(path, names);
    const description = "Steward marks packages as in a snapshot";
    await transact({ unit, description, argv: marksCommand(path, places), locks: [places.lock] }, signal);
    await rm(path, { force: true });
  };

  return {
    present: async (signal) => toInstalled(await database(signal)).map((each) => ({ ...each, state: "installed" })),
    fileName: keptNameOf,
    identify,
    fetch: createFetch({ isWhole, cached, download }),
    restore: createRestore({
      settle: createRpmSettle({ exec, clock: ports.clock, places: unitPlaces }),
      identify,
      packages: async (signal) => (await database(signal)).packages,
      change,
      mark,
    }),
  };
}
