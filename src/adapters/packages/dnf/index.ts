import { realpathSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PackageManager, SystemRelease } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import type { Asks, Backend, ManagerPorts } from "../common/ports.ts";
import { createRpmManager } from "../common/rpm/manager.ts";
import { comparePackageVersions, nameAndArchitecture, nevraOf, splitVersion } from "../common/rpm/names.ts";
import { changesTo, isSecurityStep, newestOf, type Offers as RpmOffers } from "../common/rpm/offers.ts";
import { availableFormat, parseOffered } from "../common/rpm/queries.ts";
import { changesOf, sizesOf, upgradeRows } from "../common/rpm/table.ts";
import {
  type Dnf,
  type DnfPlaces,
  listsMark,
  openDnf,
  type RpmDatabase,
  toInstalled,
  withoutRepositories,
} from "./host.ts";
import { parseAdvisories, parseCheckUpdate } from "./lists.ts";
import { scriptFailures } from "./output.ts";
import { createDnfPackageFiles } from "./package-files.ts";
import { createRepairs, findingsOf, refresh } from "./repairs.ts";
import { replay, telling } from "./replay.ts";
import { askOffered, createSimulate } from "./simulation.ts";

type Offers = RpmOffers<RpmDatabase>;

async function listsAt({ lists }: Pick<DnfPlaces, "lists">): Promise<number | undefined> {
  const names = (await orUndefined(readdir(lists))) ?? [];
  const times = await Promise.all(names.map((name) => newestIn(join(lists, name, "repodata"))));
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Where dnf has asked and nothing was new, it sets the time of one of the files. */
async function newestIn(folder: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(folder))) ?? [];
  const files = await Promise.all(names.map((name) => orUndefined(stat(join(folder, name)))));
  const times = files.flatMap((file) => file?.mtimeMs ?? []);
  return times.length === 0 ? undefined : Math.floor(Math.max(...times));
}

function createOffers({ ask, database, places }: Dnf): Asks<Offers> {
  const remembered = rememberByMark<Omit<Offers, "database">>();

  const askOffers = async (state: RpmDatabase, signal: AbortSignal): Promise<Omit<Offers, "database">> => {
    const newest = newestOf(state);
    const offered = parseCheckUpdate(await ask(["check-update"], signal));
    // Without what keeps packages back: those that are held have holes as well.
    const all = ["--disableplugin=versionlock", "--disableexcludes=all"];
    const list = [...all, "updateinfo", "list", "--security", "--updates"];
    const advised = parseAdvisories(await ask(list, signal)).filter((each) => {
      const found = newest.get(nameAndArchitecture(each));
      return found !== undefined && comparePackageVersions(each.version, found.version) > 0;
    });
    return { updates: changesTo(offered, newest, advised), advised };
  };

  return async (signal) => {
    const state = await database(signal);
    const mark = `${state.mark}\n${await listsMark(places)}\n${await marksOf(places.settings)}`;
    return { ...(await remembered(mark, () => askOffers(state, signal))), database: state };
  };
}

function createDnf(ports: ManagerPorts): PackageManager {
  const dnf = openDnf(ports);
  const { ask, tryAsking, database } = dnf;
  const offers = createOffers(dnf);
  const simulate = createSimulate(dnf);

  return createRpmManager(
    {
      name: "dnf",
      commands: {
        finisher: "dnf",
        finish: "dnf history redo last",
        installMissing: "dnf install",
        refreshLists: "dnf makecache",
        unhold: "dnf versionlock delete, or its line in excludepkgs,",
      },
      database,
      toInstalled,
      offers,
      listsAt: () => listsAt(dnf.places),
      repairs: createRepairs(dnf),
      files: createDnfPackageFiles(dnf, ports),
      writer: dnf.writer,
      findings: (signal) => findingsOf(dnf, signal),

      async plan(request, wanted, { packages }, signal) {
        const operands = request.isSecurityOnly ? wanted.map(nevraOf) : (request.names ?? []);
        const changes = changesOf(await upgradeRows(simulate, request, operands, signal), packages);
        return { changes, removals: changes, sizes: () => sizesOf(askOffered(dnf), changes, packages, signal) };
      },

      change: (unit, changes, options, signal) => replay(dnf, { unit, changes, ...options }, signal),
      // Dnf says of a stored transaction that it cannot be done as it is.
      isRefusal: (reason) => /problems occurred while (?:replaying|running)/.test(reason),
      scriptFailures,
      telling,
      refresh: (onLine, signal) => refresh(dnf, onLine, signal),

      async release(signal): Promise<SystemRelease | undefined> {
        const query = ["repoquery", "--upgrades", "--latest-limit=1", "--whatprovides=system-release"];
        const [next] = parseOffered(await ask([...query, `--queryformat=${availableFormat}`], signal));
        if (next === undefined) return undefined;
        const { advised, database: state } = await offers(signal);
        const from = newestOf(state).get(`${next.name}.${next.architecture}`)?.version ?? null;
        const isSecurity = isSecurityStep(next, advised, from);
        return { version: splitVersion(next.version).version, releaseDate: "", isSecurity, changelog: "" };
      },

      // Where its plugin is there, dnf knows by what was installed since the start.
      updaters: ["dnf-automatic.timer", "dnf-automatic-install.timer"],
      async asksReboot(signal) {
        const { exitCode, stdout } = await tryAsking([withoutRepositories, "needs-restarting", "--reboothint"], signal);
        return exitCode === 1 && /^Reboot is required/m.test(stdout);
      },
    },
    ports,
  );
}

const program = "/usr/bin/dnf";

export const dnf: Backend = {
  program,
  probe: ["/usr/bin/rpm", "--query", "rpm"],
  // Its fifth version is another program of the same name: words, output and history are different.
  open: (ports) => (realpathSync(program).endsWith("dnf5") ? undefined : createDnf(ports)),
};
