import type { InstalledPackage } from "#domain/ports/packages.ts";

const ofKernel = /^linux-(?:image|headers|modules)(?:-[a-z0-9]+)*?-(\d+\.\d\S*)$/;
const image = /^linux-image-(?:unsigned-)?(\d+\.\d\S*)$/;

/** `6.1.0-18` of `6.1.0-18-amd64`: headers that several kinds share have no more. */
const versionOf = (release: string): string => release.replace(/-[a-z].*$/i, "");

/** Whether Debian and Ubuntu name the image, headers or modules of one kernel so. */
export const isKernelPackage = (name: string): boolean => ofKernel.test(name);

/** The packages of old kernels: all but the running one, the newest, and the newest beside these. Manual, held and unfinished ones stay. */
export function oldKernelPackages(
  installed: readonly InstalledPackage[],
  running: string,
): readonly InstalledPackage[] {
  const bootable = installed.flatMap(({ name, isUnfinished = false }) => {
    const [, release = ""] = image.exec(name) ?? [];
    return release === "" || release.endsWith("-dbg") || isUnfinished ? [] : [versionOf(release)];
  });
  if (bootable.length === 0) return [];
  const newestFirst = [...new Set(bootable)].sort(new Intl.Collator("en", { numeric: true }).compare).reverse();
  const [newest = ""] = newestFirst;
  const kept = new Set([versionOf(running), newest]);
  const spare = newestFirst.find((version) => !kept.has(version));
  if (spare !== undefined) kept.add(spare);
  return installed.filter(({ name, isManual, isHeld, isUnfinished = false }) => {
    const [, release] = ofKernel.exec(name) ?? [];
    return release !== undefined && !kept.has(versionOf(release)) && !isManual && !isHeld && !isUnfinished;
  });
}

/** Packages whose old version runs until the next boot. */
const untilReboot =
  /^(linux(-lts|-zen|-hardened)?$|linux-(image|modules|headers)|kernel|intel-microcode|amd64-microcode|libc6$|glibc|libc-bin$|systemd(-sysv)?$|dbus(-daemon|-broker)?$|firmware-|grub-)/;

export const requireReboot = (changed: readonly { readonly name: string }[]): boolean =>
  changed.some(({ name }) => untilReboot.test(name));
