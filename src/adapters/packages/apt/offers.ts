import { dirname, join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageLists } from "#domain/ports/packages.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import { type AptPaths, isPackageName, onlyAsking } from "./arguments.ts";
import { type DpkgDatabase, type DpkgEntry, nativeArchitecture, wordFor } from "./database.ts";
import type { Lists } from "./lists.ts";
import { createKeptAnswers } from "./offers-kept.ts";
import { failureReason } from "./output.ts";
import {
  changing,
  newerVersions,
  parsePackageFiles,
  parsePolicies,
  securitySuites,
  securityVersion,
} from "./policy.ts";

export interface Offer {
  readonly entry: DpkgEntry;
  readonly candidate: string;
  readonly suites: readonly string[];
  readonly securityVersion: string | null;
}

const settledAfterMs = 1_000;

const machineId = "/etc/machine-id";

/** Whether a later change will show in the times of files, whose resolution may be a second. A clock that was set back counts. */
const isSettled = (mark: string, lookedAtMs: number): boolean =>
  mark.split("\n").every((line) => Number(/ (\d+)$/.exec(line)?.[1] ?? 0) / 1e6 < lookedAtMs - settledAfterMs);

/** What apt is asked about, marked before it is asked. */
interface Looked {
  readonly entries: readonly DpkgEntry[];
  readonly sourcesMark: string;
  readonly installedMark: string;
  readonly lookedAtMs: number;
}

/** A string that changes when what apt offers may. */
export const markOfSources = async (paths: AptPaths, lists: Pick<Lists, "directory">): Promise<string> =>
  marksOf([await lists.directory(), ...paths.settings, join(dirname(paths.status), "arch"), machineId]);

/** What could be updated, asked of apt and remembered until its lists, its settings or what is installed change. */
export function createOffers(ports: {
  readonly exec: Exec;
  readonly database: () => Promise<DpkgDatabase>;
  readonly paths: AptPaths;
  readonly lists: Pick<Lists, "directory">;
  readonly stateDir?: string | undefined;
  /** Epoch milliseconds, by the clock that files have their times from. */
  readonly now?: () => number;
}): (signal: AbortSignal) => Promise<readonly Offer[]> {
  const { exec, database, paths, lists, stateDir, now = Date.now } = ports;
  const answers = stateDir === undefined ? undefined : createKeptAnswers(join(stateDir, "packages"));
  const remembered = rememberByMark<readonly Offer[]>();

  const markSources = (): Promise<string> => markOfSources(paths, lists);
  const markInstalled = async (): Promise<string> =>
    `${await marksOf([paths.status, paths.updates])}\n${await markSources()}`;

  const question = (words: readonly string[]) => ["/usr/bin/apt-cache", ...onlyAsking, "policy", ...words] as const;

  const ask = async (words: readonly string[], signal: AbortSignal): Promise<string> => {
    const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "apt" }, question(words), signal, {
      timeoutMs: 30_000,
    });
    if (exitCode !== 0) throw new ManagerRefuses("apt", failureReason(stderr, exitCode));
    return stdout;
  };

  const answerTo = async (
    asked: {
      readonly name: string;
      readonly words: readonly string[];
      readonly before: string;
      readonly markAfter: () => Promise<string>;
      readonly lookedAtMs: number;
    },
    signal: AbortSignal,
  ): Promise<string> => {
    const { name, words, before, markAfter, lookedAtMs } = asked;
    if (answers === undefined) return ask(words, signal);
    const key = [...question(words), before].join("\n");
    const kept = await answers.recall(name, key);
    if (kept !== undefined) return kept;
    const answer = await ask(words, signal);
    if (isSettled(before, lookedAtMs) && (await markAfter()) === before) await answers.keep(name, key, answer);
    return answer;
  };

  const askOffers = async (looked: Looked, signal: AbortSignal): Promise<readonly Offer[]> => {
    const { entries, sourcesMark, installedMark, lookedAtMs } = looked;
    const native = nativeArchitecture(entries);
    const installed = entries.filter(({ state }) => state === "installed");
    const byWord = new Map(installed.map((entry) => [wordFor(entry, native), entry]));
    const words = [...byWord.keys()].filter(isPackageName);
    // Each builds apt's index of all packages in memory, which is what takes the time.
    const asSources = { name: "sources", words: [], before: sourcesMark, markAfter: markSources, lookedAtMs };
    const asVersions = { name: "versions", words: ["--", ...words], before: installedMark, markAfter: markInstalled };
    const [asFiles, asPolicies] = await Promise.all([
      answerTo(asSources, signal),
      words.length === 0 ? "" : answerTo({ ...asVersions, lookedAtMs }, signal),
    ]);
    const files = parsePackageFiles(asFiles);
    const policies = parsePolicies(changing(asPolicies));
    return policies.flatMap((policy) => {
      const entry = byWord.get(policy.name) ?? byWord.get(`${policy.name}:${native}`);
      const { candidate } = policy;
      if (entry === undefined || candidate === null || newerVersions(policy).length === 0) return [];
      const suites = securitySuites(policy, files);
      return [{ entry, candidate, suites, securityVersion: securityVersion(policy, files) }];
    });
  };

  return async (signal) => {
    const lookedAtMs = now();
    const { entries, mark: databaseMark } = await database();
    const sourcesMark = await markSources();
    const installedMark = `${databaseMark}\n${sourcesMark}`;
    return remembered(installedMark, () => askOffers({ entries, sourcesMark, installedMark, lookedAtMs }, signal));
  };
}

/** Pending security updates. */
export const createSecurity =
  (offers: (signal: AbortSignal) => Promise<readonly Offer[]>): PackageLists["security"] =>
  async (signal) => {
    const pending = (await offers(signal)).filter(({ suites }) => suites.length > 0);
    return pending.map(({ entry: { name, architecture, version, want }, candidate, suites }) => {
      return { name, architecture, installed: version, candidate, suites, isHeld: want === "hold" };
    });
  };
