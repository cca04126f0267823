import { DomainError } from "#domain/common/error.ts";
import type { InstalledPackage, PackageManager, TransactionPlan } from "#domain/ports/packages.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import type { FileSystems, MountedFileSystem, UnreadableFileSystem } from "#domain/ports/storage.ts";
import { counted, formatBytes } from "#kernel/text.ts";

/** A kernel with its files in /boot, not a package that needs the newest one. */
const kernel = /^(linux-image-(unsigned-)?\d|kernel(-core|-default)?$)/;
/** What has the image of the newest kernel rebuilt. */
const remakesImage =
  /^(linux-(image|modules|firmware)|kernel|initramfs-tools|dracut|firmware-|.*microcode|cryptsetup|lvm2|mdadm|plymouth|busybox|kmod|udev|systemd$)/;
/** Besides the packages: /etc, lists, logs. */
const spareBytes = 32 * 2 ** 20;

interface Demand {
  readonly what: string;
  readonly bytes: number;
  readonly remedy: string;
}

const cleanUp = "the fix disk_cleanup removes what can go without loss";

interface SpacePorts {
  readonly manager: Pick<PackageManager, "installed" | "files">;
  readonly fileSystems: FileSystems;
  readonly backend: Pick<SnapshotBackend, "directory">;
  readonly takesSnapshot: boolean;
}

/** @throws DomainError `UNAVAILABLE` for one that cannot be inspected. */
function requireRead(found: MountedFileSystem | UnreadableFileSystem): MountedFileSystem {
  if (!("unreadable" in found)) return found;
  const { path, unreadable } = found;
  const message = `cannot update: cannot look at ${path} (${unreadable}); nothing was changed`;
  throw new DomainError("UNAVAILABLE", message, { missing: path, retryable: true });
}

/** What a kernel and its image take of /boot: as much as each of the installed ones. */
async function bootDemand(
  { changes }: TransactionPlan,
  boot: MountedFileSystem | UnreadableFileSystem | undefined,
  installed: () => Promise<readonly InstalledPackage[]>,
): Promise<Demand> {
  const added = changes.filter(({ name, from, to }) => to !== null && from === null && kernel.test(name)).length;
  const isImageMade = changes.some(({ name, to }) => to !== null && remakesImage.test(name));
  const images = added + (isImageMade ? 1 : 0);
  const remedy = "remove old kernels (the fix disk_cleanup, or dnf remove --oldinstallonly)";
  const what = counted(images, "kernel image");
  if (boot === undefined || images === 0) return { what, bytes: 0, remedy };
  const { totalBytes, freeBytes } = requireRead(boot);
  const kernels = (await installed()).filter(({ name }) => kernel.test(name)).length;
  return { what, bytes: (images * (totalBytes - freeBytes)) / Math.max(kernels, 1), remedy };
}

/** Refuses an update that would run out of space on the way. @throws DomainError `UNAVAILABLE` with figures and a remedy. */
export async function requireDiskSpace(
  plan: TransactionPlan,
  { manager, backend, fileSystems, takesSnapshot }: SpacePorts,
  signal: AbortSignal,
): Promise<void> {
  if (plan.changes.length === 0) return;
  const mounted = await fileSystems.list(signal);
  const boot = mounted.find(({ path }) => path === "/boot");
  // The files for a rollback are about as large as those of the update, which may be kept as well.
  const filesBytes = plan.downloadBytes * (manager.files.missing === undefined ? 1 : 2);
  const snapshotBytes = takesSnapshot ? filesBytes + spareBytes : 0;
  const wanted: readonly (readonly [path: string, demand: Demand])[] = [
    ["/boot", await bootDemand(plan, boot, () => manager.installed(signal))],
    ["/usr", { what: "the packages", bytes: Math.max(plan.diskBytes, 0), remedy: cleanUp }],
    ["/var/cache", { what: "the downloads", bytes: plan.downloadBytes + spareBytes, remedy: cleanUp }],
    [await backend.directory(), { what: "the snapshot", bytes: snapshotBytes, remedy: "delete snapshots" }],
  ];
  const demands = new Map<string, Demand[]>();
  for (const [path, demand] of wanted) {
    const where = await fileSystems.holding(path);
    if (where !== undefined && demand.bytes > 0) demands.set(where, [...(demands.get(where) ?? []), demand]);
  }
  for (const each of mounted) {
    const { path } = each;
    const here = demands.get(path);
    if (here === undefined) continue;
    const { freeBytes } = requireRead(each);
    const bytes = Math.ceil(here.reduce((sum, each) => sum + each.bytes, 0));
    if (bytes <= freeBytes) continue;
    const whats = here.map(({ what }) => what).join(" and ");
    const remedies = here.map(({ remedy }) => remedy).join("; ");
    throw new DomainError(
      "UNAVAILABLE",
      `cannot update: ${path} has ${formatBytes(freeBytes)} free, and ${whats} need about ${formatBytes(bytes)}; nothing was changed (${remedies})`,
      { missing: "disk space", path, free_bytes: freeBytes, needed_bytes: bytes, retryable: true },
    );
  }
}
