import type { MountedFileSystem, UnreadableFileSystem } from "#domain/ports/storage.ts";
import { listNames } from "#kernel/text.ts";
import { type CheckSettings, isIgnoredPath, thresholdsFor } from "./check.ts";
import type { FormatFigure, Grader } from "./grading.ts";

interface MountFigures {
  readonly path: string;
  readonly percentUsed: number;
  /** In the unit of the thresholds of what is left: bytes or inodes. */
  readonly free: number;
}

interface Thresholds {
  readonly warn: number;
  readonly fail: number;
}

/** Of a mount point whose own `warn` is not below the `fail` of the check, half way to full. */
function thresholdsOf(path: string, own: Thresholds, settings: CheckSettings): Thresholds {
  const general = thresholdsFor(own, settings);
  const { warn = general.warn, fail } = mountSettings(path, settings);
  return { warn, fail: fail ?? (warn < general.fail ? general.fail : (warn + 100) / 2) };
}

/** Of a mount point: what is used in percent, and what is left, in the unit of the check. */
export const mountThresholds = (path: string, own: Thresholds, settings: CheckSettings) => ({
  used: thresholdsOf(path, own, settings),
  free: { ...settings.freeBelow, ...mountSettings(path, settings).freeBelow },
});

const mountSettings = (path: string, { mounts = {} }: CheckSettings) =>
  (Object.hasOwn(mounts, path) ? mounts[path] : undefined) ?? {};

const ranks = { pass: 0, warn: 1, fail: 2 } as const;
type Grade = keyof typeof ranks;
const worse = (a: Grade, b: Grade): Grade => (ranks[a] >= ranks[b] ? a : b);

/** Grades a file system by what is used in percent and by what is left, with the settings for its mount point. */
export function gradeMount(
  { path, percentUsed, free }: MountFigures,
  own: Thresholds,
  settings: CheckSettings,
  { grade, gradeLow }: Grader,
  formatFree: FormatFigure,
): Grade {
  const { used, free: left } = mountThresholds(path, own, settings);
  const { warn = 0, fail = 0 } = left;
  const byShare = grade(percentUsed, used, path);
  return worse(byShare, gradeLow(free, { warn, fail }, `free space of ${path}`, formatFree));
}

/** The worst first, and of those the fullest. */
export const byUsage = (
  a: { readonly status: Grade; readonly percentUsed: number },
  b: { readonly status: Grade; readonly percentUsed: number },
): number => ranks[b.status] - ranks[a.status] || b.percentUsed - a.percentUsed;

type Listed = MountedFileSystem | UnreadableFileSystem;

/** Those of a list that can fill up: what is read-only on purpose is always full. */
export const fillableOf = (all: readonly Listed[], { ignore }: CheckSettings): readonly Listed[] =>
  all.filter(
    ({ path, isReadOnly, isMeantReadOnly }) => !(isReadOnly && isMeantReadOnly) && !isIgnoredPath(path, ignore),
  );

/** The file systems of a list that cannot be inspected, for the message and the details of a check. */
export function unreadIn(mounts: readonly Listed[]) {
  const unreadable = mounts.flatMap((each) =>
    "unreadable" in each ? { path: each.path, reason: each.unreadable } : [],
  );
  const names = listNames(unreadable.map(({ path, reason }) => `${path} (${reason})`));
  return {
    names,
    note: names === "" ? "" : `; not read: ${names}`,
    details: unreadable.length === 0 ? {} : { unreadable },
  };
}
