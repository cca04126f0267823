import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { toInstalledPackages } from "../common/changes.ts";
import { createPidLocks } from "../common/locks.ts";
import { contentMark, databaseFiles, marksOf, rememberByMark } from "../common/marks.ts";
import { keptDirectory, type ManagerPorts } from "../common/ports.ts";
import { nevraOf } from "../common/rpm/names.ts";
import { byName } from "../common/rpm/offers.ts";
import { createTransactions } from "../common/transactions.ts";
import { createAsking, demandAnswer, zypperPlaces } from "./asking.ts";
import { installedFormat, parseAutoInstalled, parseHeld, parseInstalled } from "./lists.ts";
import { zypperOutput } from "./output.ts";
import { tolerant } from "./simulation.ts";

/** Programs that change packages with zypper's lock; y2start and y2base are YaST. */
const programs = ["zypper", "zypp-refresh", "packagekitd", "y2start", "y2base"];

export interface ZypperDatabase {
  readonly packages: readonly PackageVersion[];
  readonly isHeld: (found: PackageVersion) => boolean;
  readonly automatic: ReadonlySet<string>;
  readonly mark: string;
}

export const toInstalled = (state: ZypperDatabase): readonly InstalledPackage[] =>
  toInstalledPackages(state, ({ name }) => !state.automatic.has(name));

export function openZypper(ports: ManagerPorts) {
  const { exec, root } = ports;
  const where = zypperPlaces(root);
  const asking = createAsking({ exec, places: where });
  const locks = createPidLocks(programs);
  const remembered = rememberByMark<ZypperDatabase>();

  const queryAll = async (signal: AbortSignal): Promise<readonly PackageVersion[]> => {
    const words = ["--query", "--all", "--nosignature", `--queryformat=${installedFormat}`];
    const { exitCode, stdout, stderr } = await askWhole({ exec, manager: "rpm" }, [...where.rpm, ...words], signal);
    if (exitCode !== 0) throw new ManagerRefuses("rpm", stderr.trim());
    return parseInstalled(stdout).toSorted(byName);
  };

  /** Locks are patterns that only zypper itself can read for sure. */
  const heldBy = async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const text = await readTextOrEmpty(where.packageLocks);
    if (text.trim() === "") return new Set();
    return parseHeld(demandAnswer(await asking.tryInstalled(["locks", "--solvables"], signal)));
  };

  return {
    ...asking,
    exec,
    places: where,
    directory: keptDirectory(ports),

    database: async (signal: AbortSignal): Promise<ZypperDatabase> => {
      const files = await databaseFiles(where.databases);
      const contents = await Promise.all([...files, where.autoInstalled].map(contentMark));
      const mark = `${contents.join("\n")}\n${await marksOf([where.packageLocks])}`;
      return remembered(mark, async () => {
        const packages = await queryAll(signal);
        const held = await heldBy(signal);
        const automatic = parseAutoInstalled(await readTextOrEmpty(where.autoInstalled));
        return { packages, isHeld: (found: PackageVersion) => held.has(nevraOf(found)), automatic, mark };
      });
    },

    writer: () => locks.holder(where.lock),
    transact: createTransactions({ ...ports, exec: tolerant(exec), locks, reader: zypperOutput }),
  };
}

export type Zypper = ReturnType<typeof openZypper>;
