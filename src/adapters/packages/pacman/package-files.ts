import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import { type PackageFiles, PackagesLocked } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { createPackageFiles, type Missing, marksFor } from "../common/package-files.ts";
import type { PackagePorts } from "../common/ports.ts";
import { asResult, settle } from "../common/transactions.ts";
import { reporter } from "./commit.ts";
import { changing, describeLeftLock, type Pacman, toInstalled } from "./host.ts";
import { failureReason, scriptAndHookFailures } from "./output.ts";
import { parseDescribed, parseFields } from "./records.ts";

/** What is in the way of a file belongs to nobody, or to a package that leaves it in this transaction. */
const returning = [...changing, "--overwrite=*"] as const;
const withoutDependencies = ["--nodeps", "--nodeps"] as const;

const paths = ({ install }: Missing): readonly string[] => install.map(({ path }) => path);

/** Whether pacman would install these and nothing else: it would bring what they need from repositories. */
async function isJust(pacman: Pacman, left: Missing, signal: AbortSignal): Promise<boolean> {
  const words = ["--upgrade", "--print", "--print-format", "%n %v", "--", ...paths(left)];
  const { exitCode, stdout } = await pacman.tryAsking(pacman.places.databases, words, signal);
  const wanted = left.install.map(({ name, version }) => `${name} ${version}`);
  return exitCode === 0 && stdout.trim().split("\n").sort().join() === wanted.sort().join();
}

/** Older versions come from pacman's own cache: repositories have only the newest. */
export function createPacmanPackageFiles(pacman: Pacman, ports: PackagePorts): PackageFiles {
  const { database, places, hostTransact } = pacman;

  return createPackageFiles({
    database,
    toInstalled,
    ending: ".pkg.tar",

    async configFiles(signal) {
      const files = new Map<string, string>();
      for (const { name, version } of (await database(signal)).packages) {
        const text = await readTextOrEmpty(join(places.databases, "local", `${name}-${version}`, "files"));
        for (const line of parseFields(text).get("BACKUP") ?? []) {
          const [, path] = /^etc\/([^\t]+)/.exec(line) ?? [];
          if (path !== undefined) files.set(path, name);
        }
      }
      return files;
    },

    // Pacman reads the whole file, and would verify a signature that the settings demand.
    async inspect(path, signal) {
      const result = await pacman.tryAsking(places.databases, ["--query", "--info", "--file", "--", path], signal);
      const [found] = result.exitCode === 0 ? parseDescribed(result.stdout) : [];
      if (found === undefined) return failureReason(`${result.stdout}\n${result.stderr}`, result.exitCode);
      const { name, version, architecture } = found;
      return { name, version, architecture };
    },
    isIntact: () => Promise.resolve(true),

    async cached({ name, version, architecture }, signal) {
      const start = `${name}-${version}-${architecture}.pkg.tar`;
      const inOne = async (cache: string): Promise<readonly string[]> => {
        const directory = join(pacman.root, cache);
        const names = (await orUndefined(readdir(directory))) ?? [];
        return names
          .filter((each) => each.startsWith(start) && !/\.(?:sig|part)$/.test(each))
          .map((each) => join(directory, each));
      };
      return (await Promise.all((await pacman.settings("CacheDir", signal)).map(inOne))).flat();
    },
    offered: () => Promise.resolve([]),
    download: () => Promise.resolve([]),
    repositoryName: ({ name, version, architecture }) => `${name}-${version}-${architecture}.pkg.tar`,

    async change(unit, left, progress, signal) {
      const run = async (words: readonly string[]): Promise<string> => {
        const onLine = reporter(progress, left.install.length + left.remove.length);
        const description = "Steward returns to a snapshot of packages (pacman)";
        const argv = [...places.pacman, ...words] as const;
        return (await asResult(() => hostTransact({ unit, description, argv, onLine }, signal), scriptAndHookFailures))
          .reason;
      };
      // What goes may be in conflict with what comes.
      const names = left.remove.map(({ name }) => name);
      const removal = ["--remove", "--nosave", ...changing, ...withoutDependencies, "--", ...names];
      const failure = names.length === 0 ? "" : await run(removal);
      if (failure !== "" || left.install.length === 0) return failure;
      const how = (await isJust(pacman, left, signal)) ? [] : withoutDependencies;
      return run(["--upgrade", ...returning, ...how, "--", ...paths(left)]);
    },

    async mark(unit, wanted, signal) {
      const description = "Steward marks packages as in a snapshot (pacman --database)";
      const present = toInstalled(await database(signal));
      for (const { isManual, names } of marksFor(wanted, present, ({ name }) => name)) {
        const option = isManual ? "--asexplicit" : "--asdeps";
        const argv = [...places.pacman, "--database", option, "--", ...names] as const;
        await hostTransact({ unit, description, argv }, signal);
      }
    },

    async settle(unit, signal) {
      await settle(ports, unit, signal);
      // What was interrupted may look complete.
      if (await pacman.isLockLeft()) throw new PackagesLocked(describeLeftLock(places));
    },
  });
}
