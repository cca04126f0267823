import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PackageUpdates } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { Offer } from "./offers.ts";
import type { AptPaths } from "./paths.ts";

const isList = (name: string): boolean => !["lock", "partial", "auxfiles"].includes(name);

/** The Release files of sources that have a server: of folders (`_srv_…`) and disks (`Debian%20…`) nothing is fetched. */
const isFetchedRelease = (name: string): boolean => /^[^_%]+_.*_?(?:In)?Release$/.test(name);

/**
 * When all sources had last been asked, and had answered as they should, epoch milliseconds; undefined where there are no lists.
 * apt touches the Release file of a source when it is new and when it is still the same, and leaves it alone when the source does not
 * answer, or gives what is older or not signed: the one that was left alone for longest tells. The times of content are the servers'.
 */
export async function listsAt({
  lists,
  refreshStamp,
}: Pick<AptPaths, "lists" | "refreshStamp">): Promise<number | undefined> {
  const names = ((await orUndefined(readdir(lists))) ?? []).filter(isList);
  if (names.length === 0) return undefined;
  const releases = names.filter(isFetchedRelease).map((name) => orUndefined(lstat(join(lists, name))));
  const touched = (await Promise.all(releases)).flatMap((file) => (file === undefined ? [] : [file.ctimeMs]));
  const modified = async (path: string): Promise<number> => (await orUndefined(stat(path)))?.mtimeMs ?? 0;
  const fetched = touched.length > 0 ? Math.min(...touched) : await modified(lists);
  return Math.max(fetched, await modified(refreshStamp));
}

/** The updates of the host as its checks ask for them. */
export function createUpdates(ports: {
  readonly offers: (signal: AbortSignal) => Promise<readonly Offer[]>;
  readonly paths: AptPaths;
}): PackageUpdates {
  const { offers, paths } = ports;
  return {
    async security(signal) {
      const pending = (await offers(signal)).filter(({ suites }) => suites.length > 0);
      return pending.map(({ entry: { name, architecture, version, want }, candidate, suites }) => {
        return { name, architecture, installed: version, candidate, suites, isHeld: want === "hold" };
      });
    },

    refreshedAt: () => listsAt(paths),
  };
}
