import type { CommandResult } from "#adapters/exec/index.ts";
import { ManagerRefuses } from "../common/asking.ts";
import { toInstalledPackages } from "../common/changes.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import { hostPlaces, type PackagePorts } from "../common/ports.ts";
import { createPattern, formsOf } from "../common/rpm/names.ts";
import { byName, NoLists } from "../common/rpm/offers.ts";
import { createTransactions } from "../common/transactions.ts";
import type { Dialect, Dnf, InstalledRpm, Run } from "./dialect.ts";
import { databaseMark } from "./marks.ts";
import { installedFormat, parseInstalled } from "./repoquery.ts";

export function openDnf(ports: PackagePorts, dialect: Dialect): Dnf {
  const { exec, root } = ports;
  const places = dialect.places(root);
  const locks = dialect.locks();
  const run = dialect.createRun(ports, places);
  const remembered = rememberByMark<readonly InstalledRpm[]>();

  const cannotAsk = (result: CommandResult): ManagerRefuses =>
    new ManagerRefuses(dialect.name, dialect.output.failureReason(dialect.toldIn(result), result.exitCode));

  /** @throws NoLists. */
  const tryAsking: Run = async (words, signal, options = {}) => {
    const result = await run(words, signal, options);
    if (/^(?:Error: )?Cache-only enabled but no cache for /m.test(result.stderr))
      throw new NoLists(cannotAsk(result).message);
    return result;
  };

  /** @throws NoLists; ManagerRefuses where dnf does not answer. */
  const ask = async (...given: Parameters<Run>): Promise<string> => {
    const result = await tryAsking(...given);
    // 100 says that there are updates.
    if (result.exitCode !== 0 && result.exitCode !== 100) throw cannotAsk(result);
    return result.stdout;
  };

  const asking = { exec, places, ask, tryAsking };

  const holds = dialect.createHolds(asking);

  return {
    ...asking,
    dialect,
    cannotAsk,
    folder: (ports.places ?? hostPlaces).output,
    formatted: (format) => `--queryformat=${format}${dialect.recordEnd}`,
    changingArgv: (...words) => [...places.dnf, ...dialect.changing, ...words],

    database: async (signal) => {
      const mark = `${await databaseMark(places.databases, places.history)}\n${await marksOf(places.reasons)}`;
      const packages = await remembered(mark, async () => {
        const all = [dialect.withoutRepositories, dialect.withExcluded];
        const words = ["repoquery", ...all, "--installed", `--queryformat=${installedFormat}${dialect.recordEnd}`];
        return dialect.withReasons(parseInstalled(await ask(words, signal)), places).toSorted(byName);
      });
      const patterns = (await holds(signal)).map(createPattern);
      return { packages, isHeld: (found) => patterns.some((matches) => formsOf(found).some(matches)), mark };
    },

    isAutomatic: ({ reason }) => dialect.automatic.has(reason),
    toInstalled: (state) => toInstalledPackages(state, ({ reason }) => !dialect.automatic.has(reason)),
    writer: () => locks.holder(places.transactionLock),
    transact: createTransactions({ ...ports, locks, reader: dialect.output }),
  };
}
