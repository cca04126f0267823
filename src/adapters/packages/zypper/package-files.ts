import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type InstalledPackage, type PackageFiles, UpdateRefused } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { PlainChange } from "../common/changes.ts";
import { createPackageFiles, type Missing } from "../common/package-files.ts";
import type { PackagePorts } from "../common/ports.ts";
import { nevraOf } from "../common/rpm/names.ts";
import { orWithoutLists } from "../common/rpm/offers.ts";
import { fileNameOf, isJust, rpmFiles } from "../common/rpm/package-files.ts";
import { asResult } from "../common/transactions.ts";
import { onlyFiles } from "./asking.ts";
import { toInstalled, type Zypper, type ZypperDatabase } from "./host.ts";
import { parseFound } from "./lists.ts";
import { reporter, scriptFailures } from "./output.ts";
import { simulate } from "./simulation.ts";
import { makeChanges, marksCommand, operandOf, type Source, wordsFor, writeMarks } from "./transaction.ts";

export function wordsToReturn({ install, remove }: Missing): readonly string[] {
  const words = wordsFor([]);
  const operands = [...install.map(({ path }) => path), ...remove.map((each) => `!${operandOf(each)}`)];
  return [...words.slice(0, -1), "--allow-unsigned-rpm", "--", ...operands];
}

export const isExact = (changes: readonly PlainChange[], missing: Missing): boolean =>
  isJust(
    changes.map(({ name, architecture, from, to }) => {
      return `${to === null ? "-" : "+"}${nevraOf({ name, architecture, version: to ?? from ?? "" })}`;
    }),
    missing,
  );

export function automaticAs(wanted: readonly InstalledPackage[], database: ZypperDatabase): ReadonlySet<string> {
  const given = new Map(wanted.map(({ name, isManual }) => [name, isManual]));
  const names = database.packages.map(({ name }) => name);
  return new Set(names.filter((name) => !(given.get(name) ?? !database.automatic.has(name))));
}

const hasSameNames = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((name) => other.has(name));

export function createZypperPackageFiles(zypper: Zypper, ports: PackagePorts): PackageFiles {
  const { database, places, transact } = zypper;
  const directory = join(zypper.directory, "files");

  return createPackageFiles({
    ...rpmFiles(ports, places.rpm),
    database,
    toInstalled,

    async cached(wanted) {
      const repositories = (await orUndefined(readdir(places.packages))) ?? [];
      const file = fileNameOf(wanted);
      return repositories.flatMap((name) =>
        [file, join(wanted.architecture, file)].map((path) => join(places.packages, name, path)),
      );
    },

    async offered(wanted, signal) {
      const words = ["search", "--details", "--match-exact", "--type", "package", "--"];
      const names = wanted.map(({ name }) => name);
      const result = await orWithoutLists(zypper.tryAsking([...words, ...names], signal), undefined);
      return parseFound(result?.stdout ?? "");
    },

    async download(wanted, own, signal) {
      const words = ["download", "--all-matches", "--", ...wanted.map(operandOf)];
      const result = await orWithoutLists(zypper.tryInto(own, words, signal), undefined);
      if (result?.exitCode !== 0) return [];
      const names = await readdir(own, { recursive: true });
      return names.filter((name) => name.endsWith(".rpm")).map((name) => join(own, name));
    },

    async change(unit, left, progress, signal) {
      const words = wordsToReturn(left);
      const ask: Source["ask"] = (given, asked) => zypper.tryFiles(directory, given, asked);
      try {
        const { changes } = await simulate(ask, words, signal);
        if (!isExact(changes, left)) return "zypper would not do just that";
        const wanted = {
          unit,
          changes,
          source: { ask, options: onlyFiles(directory), words },
          onLine: reporter(progress),
        };
        return (await asResult(() => makeChanges(zypper, wanted, signal), scriptFailures)).reason;
      } catch (error) {
        if (error instanceof UpdateRefused) return `zypper would not do just that: ${error.message}`;
        throw error;
      }
    },

    async mark(unit, wanted, signal) {
      const state = await database(signal);
      const names = automaticAs(wanted, state);
      const now = new Set(state.packages.map(({ name }) => name).filter((name) => state.automatic.has(name)));
      if (hasSameNames(names, now)) return;
      const path = join(zypper.directory, `${unit}.marks`);
      await writeMarks(path, names);
      const description = "Steward marks packages as in a snapshot";
      await transact({ unit, description, argv: marksCommand(path, places), locks: [places.lock] }, signal);
      await rm(path, { force: true });
    },
  });
}
