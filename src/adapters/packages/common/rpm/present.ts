import type { CommandOptions, Exec } from "#adapters/exec/index.ts";
import type { RequiringPackage } from "#domain/ports/package-catalog.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { askWhole, ManagerRefuses } from "../asking.ts";
import type { Argv } from "../ports.ts";
import { type DescribedRpm, describedCount, describedOf, rpmFormat } from "./described.ts";
import { createMarks, createRecordReader, parseRecords } from "./records.ts";
import { capabilitiesFormat, createRequiringReader, itemsOf, referencesFormat } from "./requiring.ts";

/** Asks rpm what it has of packages that are installed. */
export function createPresent({ exec, rpm }: { readonly exec: Exec; readonly rpm: Argv }) {
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
    capabilities,

    /** Tells of all of them. */
    async each(take: (found: DescribedRpm) => void, signal: AbortSignal): Promise<void> {
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
