import type { Session } from "./session.ts";

/** Every path with what would change if it were touched: kind, mode, owner, size, and the times of content and of the entry. */
export type FileTree = ReadonlyMap<string, string>;

/**
 * Made by the kernel or gone with the next boot; the own state of the service and of what root does for it; and what the clock
 * service has while it runs, which the checks ask whenever they are due.
 */
const notLooked = [
  "/proc",
  "/sys",
  "/dev",
  "/run",
  "/opt/steward",
  "/var/lib/steward",
  "/var/lib/steward-tasks",
  "/.snapshots",
  "/tmp/systemd-private-*-systemd-timedated.service-*",
  // snapperd, which apt starts, writes to it when it is asked something, and that it ends a minute after that.
  "/var/log/snapper.log",
  // Of Debian 13, whenever it is asked something.
  "/tmp/systemd-private-*-polkit.service-*",
  "/var/tmp/systemd-private-*-polkit.service-*",
  "/var/tmp/systemd-private-*-systemd-timedated.service-*",
];

/** What the file system of the host holds now. */
export async function fileTree({ host }: Pick<Session, "host">): Promise<FileTree> {
  const prune = notLooked.flatMap((path, at) => [...(at === 0 ? [] : ["-o"]), "-path", path]);
  const print = ["-printf", "%p\\t%y %m %U:%G %s %T@ %C@\\0"];
  const { stdout } = await host.exec([
    "find",
    "/",
    "-ignore_readdir_race",
    "(",
    ...prune,
    ")",
    "-prune",
    "-o",
    ...print,
  ]);
  const entries = stdout.split("\0").filter((line) => line !== "");
  return new Map(
    entries.map((line) => {
      const cut = line.lastIndexOf("\t");
      return [line.slice(0, cut), line.slice(cut + 1)];
    }),
  );
}

/** What differs between two looks, sorted; directories whose entries changed are not reported, since their entries are. */
export function changesSince(
  before: FileTree,
  after: FileTree,
  { ignore = [] }: { readonly ignore?: readonly RegExp[] } = {},
): { readonly added: readonly string[]; readonly removed: readonly string[]; readonly changed: readonly string[] } {
  const isLooked = (path: string): boolean => !ignore.some((pattern) => pattern.test(path));
  const isDirectory = (state: string): boolean => state.startsWith("d ");
  const paths = (tree: FileTree): string[] => [...tree.keys()].filter(isLooked).sort();
  return {
    added: paths(after).filter((path) => !before.has(path)),
    removed: paths(before).filter((path) => !after.has(path)),
    changed: paths(after).filter((path) => {
      const was = before.get(path);
      const is = after.get(path) ?? "";
      if (was === undefined || was === is) return false;
      // Of a directory, size and times change with its entries; kind, mode and owner are its own.
      const own = (state: string): string => state.split(" ").slice(0, 3).join(" ");
      return !(isDirectory(was) && isDirectory(is)) || own(was) !== own(is);
    }),
  };
}
