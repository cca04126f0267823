import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readTextOrEmpty, writeFileAtomic } from "#adapters/files/index.ts";
import {
  type PackageFiles,
  PackagesLocked,
  type PackageVersion,
  type TransactionResult,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { PlainChange } from "../changes.ts";
import { type Asks, keptDirectory, type ManagerPorts } from "../ports.ts";

/** What rpm leaves of a configuration file that was changed, and what a newer version brought beside it. */
const endings = [".rpmsave", ".rpmnew"];

/** Lines of a name, a bar, and the path of a configuration file below /etc. */
const parseNoted = (text: string): readonly (readonly [name: string, path: string])[] =>
  text.split("\n").flatMap((line) => {
    const bar = line.indexOf("|");
    return bar > 0 ? [[line.slice(0, bar), line.slice(bar + 1)] as const] : [];
  });

/**
 * Takes away what rpm leaves of the configuration of packages that are removed. Which files those are is written down before they go,
 * since nobody knows it afterwards, for a process that continues after this one.
 */
export function createPurge(
  host: {
    readonly database: Asks<{ readonly packages: readonly PackageVersion[] }>;
    readonly files: Pick<PackageFiles, "configFiles">;
  },
  ports: ManagerPorts,
) {
  const directory = keptDirectory(ports);
  const pathOf = (unit: string): string => join(directory, `${unit}.purge`);
  const etc = join(ports.root ?? "/", "etc");

  const remember = async (unit: string, changes: readonly PlainChange[], signal: AbortSignal): Promise<void> => {
    const gone = new Set(changes.filter(({ to }) => to === null).map(({ name }) => name));
    const files = [...(await host.files.configFiles(signal))].filter(([, name]) => gone.has(name));
    const earlier = await readTextOrEmpty(pathOf(unit));
    await mkdir(directory, { recursive: true, mode: 0o700 });
    writeFileAtomic(pathOf(unit), `${earlier}${files.map(([path, name]) => `${name}|${path}\n`).join("")}`);
  };

  /** For those that are gone, where they were to be purged. @param result of the transaction. */
  const finish = async (unit: string, result: TransactionResult, signal: AbortSignal): Promise<TransactionResult> => {
    const noted = parseNoted(await readTextOrEmpty(pathOf(unit)));
    const present = noted.length === 0 ? [] : (await host.database(signal)).packages;
    const left = noted.filter(([name]) => !present.some((each) => each.name === name));
    try {
      for (const [, path] of left) for (const end of endings) await rm(join(etc, `${path}${end}`), { force: true });
      await rm(pathOf(unit), { force: true });
      return result;
    } catch (error) {
      const reason = `cannot remove configuration that is left: ${errorMessage(error)}`;
      return { isDone: false, reason: result.isDone ? reason : `${result.reason}; ${reason}` };
    }
  };

  return {
    finish,
    /** Carries out the changes with it. */
    async around(
      unit: string,
      changes: readonly PlainChange[],
      carryOut: () => Promise<TransactionResult>,
      signal: AbortSignal,
    ): Promise<TransactionResult> {
      await remember(unit, changes, signal);
      try {
        return await finish(unit, await carryOut(), signal);
      } catch (error) {
        // Nothing has changed. What was only not seen to its end is continued.
        if (error instanceof PackagesLocked || error instanceof UpdateRefused) await rm(pathOf(unit), { force: true });
        throw error;
      }
    },
  };
}
