import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageFiles, PackageVersion, PresentPackage } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";
import { orUndefined } from "#kernel/errors.ts";
import { createTransactions } from "../apt/transactions.ts";
import { hostPlaces } from "../places.ts";
import { nevraOf } from "../rpm/names.ts";
import { createPackageFile, fileNameOf, keptNameOf } from "../rpm/package-file.ts";
import { createFetch } from "../rpm/package-files.ts";
import { createRpmSettle } from "../rpm/settle.ts";
import { createAsking } from "./asking.ts";
import { createDatabase, toInstalled } from "./database.ts";
import { createDnfLocks } from "./locks.ts";
import { dnfOutput } from "./output.ts";
import { createRestore } from "./package-files-restore.ts";
import type { DnfPlaces } from "./places.ts";
import { dnfPlaces } from "./places.ts";

/** Package files of a host with dnf and rpm. A package cannot be put together again from what is installed. */
export function createDnfPackageFiles(ports: {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly dnfPlaces?: DnfPlaces;
  readonly places?: { readonly booted: string; readonly output: string };
}): PackageFiles {
  const { exec, clock, dnfPlaces: where = dnfPlaces(), places = hostPlaces } = ports;
  const asking = createAsking({ exec, places: where });
  const database = createDatabase({ ask: asking.ask, places: where });
  const transact = createTransactions({ ...ports, places, locks: createDnfLocks(), reader: dnfOutput });

  const { identify, isWhole } = createPackageFile({ exec });

  const cached = async (wanted: PackageVersion): Promise<readonly string[]> => {
    const repositories = (await orUndefined(readdir(where.lists))) ?? [];
    return repositories.map((name) => join(where.lists, name, "packages", fileNameOf(wanted)));
  };

  const download = async (wanted: PackageVersion, folder: string, signal: AbortSignal): Promise<string | undefined> => {
    // Held back or not: it is the version that is installed.
    const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
    const words = ["--quiet", ...all, "download", `--destdir=${folder}`, "--", nevraOf(wanted)];
    const { exitCode } = await exec([...where.dnf, ...words], { signal, timeoutMs: 10 * 60_000 });
    const [file] = await readdir(folder);
    return exitCode === 0 && file !== undefined ? join(folder, file) : undefined;
  };

  const present = async (signal: AbortSignal): Promise<readonly PresentPackage[]> =>
    toInstalled(await database(signal)).map((each) => ({ ...each, state: "installed" }));

  return {
    present,
    fileName: keptNameOf,
    identify,
    fetch: createFetch({ isWhole, cached, download }),
    restore: createRestore({
      asking,
      database,
      transact,
      settle: createRpmSettle({ exec, clock, places }),
      identify,
      places: where,
      folder: places.output,
    }),
  };
}
