import type { CommandOptions, Exec } from "#adapters/exec/index.ts";
import type { PackageCatalog, RequiringPackage } from "#domain/ports/package-catalog.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { askWhole, ManagerRefuses } from "../asking.ts";
import { type CatalogHost, createCatalog, type Described, type Lists, type Present } from "../catalog.ts";
import type { Argv, Asks } from "../ports.ts";
import { describedCount, describedOf, rpmFormat } from "./described.ts";
import { isPackageName } from "./names.ts";
import { createMarks, createRecordReader, parseRecords } from "./records.ts";
import { capabilitiesFormat, createRequiringReader, itemsOf, referencesFormat } from "./requiring.ts";

/** A key of rpm's is not a package. */
export const rpmNames: Pick<CatalogHost, "isPackageName" | "provided" | "isOf"> = {
  isPackageName: (name) => isPackageName(name) && name !== "gpg-pubkey",
  provided: (text) => text.split(" ", 1)[0] ?? "",
  isOf: (found, architecture) => found.architecture === architecture,
};

/** Asks rpm what it has of packages that are installed. */
function createPresent({ exec, rpm }: { readonly exec: Exec; readonly rpm: Argv }): Present {
  /** Runs `rpm --query`. @param what has a record for each package. */
  const askRpm = async (
    words: readonly string[],
    signal: AbortSignal,
    options: Pick<CommandOptions, "onOutput"> = {},
  ): Promise<string> => {
    const argv: Argv = [...rpm, "--query", ...words];
    const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "rpm" }, argv, signal, options);
    if (exitCode !== 0) throw new ManagerRefuses("rpm", stderr.trim() || stdout.trim().slice(0, 200));
    return stdout;
  };

  /** What rpm says of exactly one of the packages that are installed. */
  const described = async ({ name, version, architecture }: PackageVersion, signal: AbortSignal) => {
    const marks = createMarks();
    const text = await askRpm([`--queryformat=${rpmFormat(marks)}`, "--", name], signal);
    return parseRecords(text, marks, describedCount)
      .map(describedOf)
      .find((each) => each.version === version && each.architecture === architecture);
  };

  const capabilities = async ({ name, architecture }: PackageVersion, signal: AbortSignal) => {
    const marks = createMarks();
    const text = await askRpm([`--queryformat=${capabilitiesFormat(marks)}`, "--", name], signal);
    const records = parseRecords(text, marks, 4).filter((fields) => fields[0] === name && fields[1] === architecture);
    return {
      provides: records.flatMap((fields) => itemsOf(fields[2] ?? "", marks)),
      files: [...new Set(records.flatMap((fields) => itemsOf(fields[3] ?? "", marks)))],
    };
  };

  return {
    described,
    files: async (found, signal) => (await capabilities(found, signal)).files,

    /** Reports all of them. */
    async each(take: (found: Described) => void, signal: AbortSignal): Promise<void> {
      const marks = createMarks();
      const reader = createRecordReader(marks, describedCount, (fields) => take(describedOf(fields)));
      await askRpm(["--all", `--queryformat=${rpmFormat(marks)}`], signal, { onOutput: reader.take });
      reader.end();
    },

    async requiring(found: PackageVersion, signal: AbortSignal): Promise<readonly RequiringPackage[]> {
      const { provides, files } = await capabilities(found, signal);
      const marks = createMarks();
      const reader = createRequiringReader(found.name, new Set([found.name, ...provides, ...files]), marks);
      await askRpm(["--all", `--queryformat=${referencesFormat(marks)}`], signal, { onOutput: reader.take });
      return reader.end();
    },
  };
}

/** What is known of rpm's packages: rpm is asked of those that are installed, and the manager of the lists on the disk. */
export const createRpmCatalog = (host: {
  readonly exec: Exec;
  readonly rpm: Argv;
  readonly installed: Asks<readonly InstalledPackage[]>;
  readonly mark: () => Promise<string>;
  readonly lists: Lists;
  /** Names of packages that are never removed. */
  readonly protectedNames: () => Promise<ReadonlySet<string>>;
  readonly history: PackageCatalog["history"];
  readonly historyLog: string;
}): PackageCatalog =>
  createCatalog({
    ...host,
    ...rpmNames,
    present: createPresent(host),
    isProtected: async (name) => (await host.protectedNames()).has(name),
  });
