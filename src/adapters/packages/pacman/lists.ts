import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import type { OnLine } from "../common/ports.ts";
import { TransactionFailed } from "../common/transactions.ts";
import { changing, type Pacman, type PacmanPlaces } from "./host.ts";

export interface PacmanLists {
  readonly databases: string;
  readonly isOwn: boolean;
  readonly at: number;
}

interface ListFile {
  readonly name: string;
  readonly mark: string;
  readonly madeAt: number;
  readonly changedAt: number;
}

const stampOf = ({ lists }: Pick<PacmanPlaces, "lists">): string => join(lists, "refreshed");

/** Lists and their signatures. Pacman gives each the time that the server has for it. */
async function filesIn(databases: string): Promise<readonly ListFile[]> {
  const directory = join(databases, "sync");
  const names = ((await orUndefined(readdir(directory))) ?? []).filter((name) => /\.db(?:\.sig)?$/.test(name));
  const found = await Promise.all(
    names.sort().map(async (name) => {
      const file = await orUndefined(stat(join(directory, name)));
      if (file === undefined) return [];
      const madeAt = Math.floor(file.mtimeMs / 1000);
      return [{ name, mark: `${name} ${file.size} ${madeAt}`, madeAt, changedAt: file.ctimeMs }];
    }),
  );
  return found.flat();
}

const markOf = (files: readonly ListFile[]): string => files.map(({ mark }) => mark).join("\n");

const hasNewer = (files: readonly ListFile[], others: readonly ListFile[]): boolean => {
  const times = new Map(others.map(({ name, madeAt }) => [name, madeAt]));
  return files.some(({ name, madeAt }) => madeAt > (times.get(name) ?? 0));
};

/** Whether the host has lists of its own. */
export const hasHostLists = async ({ databases }: Pick<PacmanPlaces, "databases">): Promise<boolean> =>
  (await filesIn(databases)).length > 0;

/** The service's own lists, or those of the host where the administrator has refreshed them since. */
export async function currentLists(
  places: Pick<PacmanPlaces, "lists" | "databases">,
): Promise<PacmanLists | undefined> {
  const [own, others] = await Promise.all([filesIn(places.lists), filesIn(places.databases)]);
  const stamp = own.length === 0 ? undefined : await orUndefined(stat(stampOf(places)));
  const ownAt = Math.floor(stamp?.mtimeMs ?? 0);
  const othersAt = Math.floor(Math.max(0, ...others.map(({ changedAt }) => changedAt)));
  // Lists that were only put back are not fresh for that. Times of files are coarse: of one time, the newer ones count.
  if (stamp !== undefined && (ownAt > othersAt || !hasNewer(others, own)))
    return { databases: places.lists, isOwn: true, at: ownAt };
  return others.length === 0 ? undefined : { databases: places.databases, isOwn: false, at: othersAt };
}

export const listsMark = async ({ databases }: PacmanLists): Promise<string> =>
  `${databases}\n${markOf(await filesIn(databases))}`;

/** For everybody, as lists are, whatever the process that makes it keeps from others. */
async function makeReadable(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o755);
}

export async function prepareLists({ lists, databases }: Pick<PacmanPlaces, "lists" | "databases">): Promise<void> {
  await makeReadable(lists);
  await makeReadable(join(lists, "sync"));
  const [link, target] = [join(lists, "local"), join(databases, "local")];
  if ((await orUndefined(readlink(link))) === target) return;
  await rm(link, { force: true });
  await symlink(target, link);
}

export const stampLists = (places: Pick<PacmanPlaces, "lists">): Promise<void> => writeFile(stampOf(places), "");

/** Copies lists, each at once and with its time, by which pacman knows whether the server has another one. */
async function copyLists(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, "sync"), join(to, "sync")];
  await makeReadable(target);
  for (const { name } of await filesIn(from)) {
    const part = join(target, `.${name}.steward`);
    await copyFile(join(source, name), part);
    const { atime, mtime, mode } = await stat(join(source, name));
    await chmod(part, mode);
    await utimes(part, atime, mtime);
    await rename(part, join(target, name));
  }
}

async function removeOthers(databases: string, kept: readonly ListFile[]): Promise<void> {
  for (const { name } of await filesIn(databases))
    if (!kept.some((each) => each.name === name)) await rm(join(databases, "sync", name));
}

/** Copies lists. @returns restores them. */
async function keepLists(databases: string, kept: string): Promise<() => Promise<void>> {
  const before = await filesIn(databases);
  await rm(kept, { recursive: true, force: true });
  await copyLists(databases, kept);
  return async () => {
    await copyLists(kept, databases);
    await removeOthers(databases, before);
  };
}

/** Gives the host the service's own lists. @returns undoes it, unless somebody has refreshed them since. */
export async function adoptLists(places: Pick<PacmanPlaces, "lists" | "databases">): Promise<() => Promise<void>> {
  const { lists, databases } = places;
  const giveBack = await keepLists(databases, join(lists, "previous"));
  await copyLists(lists, databases);
  const given = markOf(await filesIn(databases));
  return async () => {
    if (markOf(await filesIn(databases)) === given) await giveBack();
  };
}

/** Downloads lists into a directory of its own: newer lists with older packages would break what is installed next. */
export async function refresh({ listsTransact, places }: Pacman, onLine: OnLine, signal: AbortSignal): Promise<void> {
  const own = ["--dbpath", places.lists, "--logfile", "/dev/null"];
  await prepareLists(places);
  // Pacman verifies a signature only after it has replaced the list.
  const giveBack = await keepLists(places.lists, join(places.lists, "kept"));
  const transaction = {
    unit: "steward-pacman-refresh",
    description: "Steward downloads the package lists (pacman -Sy into a directory of its own)",
    argv: [...places.pacman, ...own, ...changing, "-Sy"],
    isInterruptible: true,
    onLine,
  } as const;
  try {
    await listsTransact(transaction, signal);
  } catch (error) {
    // After anything else it may still be running.
    if (error instanceof TransactionFailed) await giveBack();
    throw error;
  }
  await stampLists(places);
}
