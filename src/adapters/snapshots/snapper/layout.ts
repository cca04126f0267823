export interface RootLayout {
  readonly rootId: number;
  readonly rootPath: string;
  readonly snapshotsId: number;
}

export const snapshotsFolder = "/.snapshots";

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly options: readonly string[];
  readonly type: string;
  readonly source: string;
  readonly superOptions: readonly string[];
}

/** Blanks and line breaks are written as octal numbers. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));

function parseMounts(text: string): readonly Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after] = line.split(" - ", 2);
    if (after === undefined) return [];
    const [, , , root = "", point = "", options = ""] = before.split(" ");
    const [type = "", source = "", superOptions = ""] = after.split(" ");
    const lists = { options: options.split(","), superOptions: superOptions.split(",") };
    return [{ root: unescaped(root), point: unescaped(point), type, source: unescaped(source), ...lists }];
  });
}

const idOf = ({ superOptions }: Mount): number =>
  Number(superOptions.find((each) => each.startsWith("subvolid="))?.slice("subvolid=".length) ?? Number.NaN);

const mountedAt = (mounts: readonly Mount[], point: string): Mount | undefined =>
  mounts.findLast((each) => each.point === point);

const fstabLines = (fstab: string): readonly { readonly point: string; readonly options: readonly string[] }[] =>
  fstab
    .split("\n")
    .filter((line) => !/^\s*(#|$)/.test(line))
    .map((line) => line.trim().split(/\s+/))
    .map(([, point = "", , options = ""]) => ({ point: unescaped(point), options: options.split(",") }));

const namesSubvolume = (options: readonly string[]): boolean => options.some((each) => /^subvol(id)?=/.test(each));

function pinnedBy(cmdline: string, fstab: string): string | undefined {
  const flags = cmdline
    .trim()
    .split(/\s+/)
    .filter((word) => word.startsWith("rootflags="));
  if (flags.some((word) => namesSubvolume(word.slice("rootflags=".length).split(","))))
    return "the kernel's command line";
  const root = fstabLines(fstab).find(({ point }) => point === "/");
  return root !== undefined && namesSubvolume(root.options) ? "/etc/fstab" : undefined;
}

export function judgeLayout(given: {
  readonly mountinfo: string;
  readonly cmdline: string;
  readonly fstab: string;
}): { readonly layout: RootLayout } | { readonly reason: string } {
  const mounts = parseMounts(given.mountinfo);
  const root = mountedAt(mounts, "/");
  if (root === undefined) return { reason: "what is mounted as / is not known" };
  if (root.type !== "btrfs") return { reason: `/ is ${root.type}: snapper can return to a snapshot only on btrfs` };
  if (root.options.includes("ro"))
    return { reason: "/ is read-only: whoever updates such a host has snapshots of its own" };
  const pin = pinnedBy(given.cmdline, given.fstab);
  if (pin !== undefined) {
    return { reason: `${pin} names the subvolume of /: the default one, which a rollback sets, would not be booted` };
  }
  const snapshots = mountedAt(mounts, snapshotsFolder);
  if (snapshots === undefined || !fstabLines(given.fstab).some(({ point }) => point === snapshotsFolder)) {
    return { reason: `${snapshotsFolder} is not mounted by /etc/fstab: the snapshots would be gone after a rollback` };
  }
  if (snapshots.type !== "btrfs" || snapshots.source !== root.source) {
    return { reason: `${snapshotsFolder} is on another file system than /` };
  }
  const [rootId, snapshotsId] = [idOf(root), idOf(snapshots)];
  if (Number.isNaN(rootId) || Number.isNaN(snapshotsId)) return { reason: "the kernel names no subvolume of /" };
  return { layout: { rootId, rootPath: root.root.endsWith("/") ? root.root : `${root.root}/`, snapshotsId } };
}

const isDevice = ({ source }: Mount): boolean => source.startsWith("/");

/** Where other file systems and other subvolumes with files of the host are mounted: what a rollback leaves as it is. */
export function mountedApart(mountinfo: string): readonly string[] {
  const points = parseMounts(mountinfo)
    .filter((mount) => isDevice(mount) && mount.point !== "/" && mount.point !== snapshotsFolder)
    // A single file or folder bound into its place, as containers have them, and what systemd mounts for a moment.
    .filter(({ point }) => !/^\/(proc|sys|dev|run)(\/|$)/.test(point))
    .map(({ point }) => point);
  return [...new Set(points)].sort();
}

export function nestedPaths(
  below: readonly { readonly path: string }[],
  { rootPath }: Pick<RootLayout, "rootPath">,
  mountinfo: string,
): readonly string[] {
  const mounted = new Set(parseMounts(mountinfo).map(({ root }) => root));
  return below
    .map(({ path }) => `/${path}`)
    .filter((path) => path.startsWith(rootPath) && !mounted.has(path))
    .map((path) => `/${path.slice(rootPath.length)}`);
}
