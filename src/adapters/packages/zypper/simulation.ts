import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { noChanges, UpdateRefused } from "#domain/ports/packages.ts";
import type { PlainChange } from "../common/changes.ts";
import { withoutZeroEpoch } from "../common/rpm/names.ts";
import { failureReason, parseElements, type XmlElement } from "./output.ts";

export interface Simulation {
  readonly changes: readonly PlainChange[];
  readonly downloadBytes: number;
  readonly diskBytes: number;
}

/** Success: the host should be rebooted (102), zypper has updated itself (103). */
const doneCodes: ReadonlySet<number> = new Set([102, 103]);

/** A package of the summary; one whose architecture changes goes, and another one comes. */
function changesOf({ parent, attributes }: XmlElement): readonly PlainChange[] {
  const { name, edition, arch, "edition-old": old, "arch-old": oldArch = arch } = attributes;
  if (name === undefined || edition === undefined || arch === undefined) return [];
  const to = withoutZeroEpoch(edition);
  const from = old === undefined ? null : withoutZeroEpoch(old);
  if (parent === "to-remove") return [{ name, architecture: arch, from: to, to: null }];
  if (parent === "to-reinstall") return [{ name, architecture: arch, from: to, to }];
  if (parent === "to-install") return [{ name, architecture: arch, from: null, to }];
  if (!/^to-(?:upgrade|downgrade|change)/.test(parent)) return [];
  if (oldArch === arch || oldArch === undefined) return [{ name, architecture: arch, from: from ?? to, to }];
  return [
    { name, architecture: oldArch, from: from ?? to, to: null },
    { name, architecture: arch, from: null, to },
  ];
}

const integerOrZero = (text: string | undefined): number => (/^-?\d+$/.test(text ?? "") ? Number(text) : 0);

export function parseSummary(text: string): Simulation | undefined {
  const elements = parseElements(text);
  const summary = elements.find(({ name }) => name === "install-summary");
  if (summary === undefined) return undefined;
  // Patches and products stand for packages, which are listed themselves.
  const packages = elements.filter(({ name, attributes }) => name === "solvable" && attributes.type === "package");
  const read = packages.map(changesOf).filter((changes) => changes.length > 0);
  if (read.length !== integerOrZero(summary.attributes["packages-to-change"]))
    throw new CommandFailed("cannot read what zypper would do");
  return {
    changes: read.flat(),
    downloadBytes: integerOrZero(summary.attributes["download-size"]),
    diskBytes: integerOrZero(summary.attributes["space-usage-diff"]),
  };
}

export async function simulate(
  tryAsking: (words: readonly string[], signal: AbortSignal) => Promise<CommandResult>,
  [verb = "", ...words]: readonly string[],
  signal: AbortSignal,
): Promise<Simulation> {
  const { exitCode, stdout, stderr } = await tryAsking([verb, "--dry-run", ...words], signal);
  if (exitCode !== 0 && !doneCodes.has(exitCode))
    throw new UpdateRefused(failureReason(`${stdout}\n${stderr}`, exitCode));
  return parseSummary(stdout) ?? noChanges;
}

/** Runs programs; where zypper says that it has done all, and more, that is not a failure. */
export const tolerant =
  (exec: Exec): Exec =>
  async (...given) => {
    const result = await exec(...given);
    return doneCodes.has(result.exitCode) ? { ...result, exitCode: 0 } : result;
  };
