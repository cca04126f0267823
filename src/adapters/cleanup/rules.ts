import type { Stats } from "node:fs";
import type { CleanupCandidate } from "#domain/ports/storage.ts";

const dayMs = 24 * 60 * 60_000;

export interface Rule {
  readonly kind: Exclude<CleanupCandidate["kind"], "packages">;
  readonly directory: string;
  readonly minAgeMs: number;
  readonly names: readonly RegExp[];
}

/** Names that programs give, never a person: random parts without words. No directories. */
const temporaryNames = [
  // mktemp(1) without a template.
  /^tmp\.[A-Za-z0-9]{10}$/,
  // tempfile of Python.
  /^tmp(?=[a-z_]*\d)[a-z0-9_]{8}$/,
  // GCC: assembler, object and linker files.
  /^cc[A-Za-z0-9]{6}\.(?:s|o|res|ld|le|ltrans\.out)$/,
  // sort(1), when it sorts more than fits into memory.
  /^sort(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6}$/,
  // Uploads that PHP received.
  /^php(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6}$/,
  // ImageMagick.
  /^magick-[A-Za-z0-9_-]{16,64}$/,
  // apt: what it verifies and hands to its methods.
  /^(?:apt\.(?:conf|sig|data|key)|fileutl\.message)\.[A-Za-z0-9]{6}$/,
];

export const rules: readonly Rule[] = [
  { kind: "temporary", directory: "/tmp", minAgeMs: 10 * dayMs, names: temporaryNames },
  { kind: "temporary", directory: "/var/tmp", minAgeMs: 10 * dayMs, names: temporaryNames },
  {
    kind: "core-dumps",
    directory: "/var/lib/systemd/coredump",
    minAgeMs: 3 * dayMs,
    names: [/^core\.[^/\n]+\.\d+\.[0-9a-f]{32}\.\d+\.\d+(?:\.(?:zst|xz|lz4))?$/],
  },
  { kind: "crash-reports", directory: "/var/crash", minAgeMs: 10 * dayMs, names: [/^[\w.+-]+\.crash$/] },
];

export type FileFacts = Pick<Stats, "isFile" | "mode" | "nlink" | "atimeMs" | "mtimeMs" | "ctimeMs">;

/** All three times count: an unpacked archive has old times of content. A second name would free nothing. */
export function isOld(file: FileFacts, minAgeMs: number, nowMs: number): boolean {
  const youngest = Math.max(file.atimeMs, file.mtimeMs, file.ctimeMs);
  return file.isFile() && file.nlink === 1 && youngest <= nowMs - minAgeMs;
}

const forOthers = 0o077;

/** Programs make temporary files that nobody but their owner may read (mkstemp(3)); one with another mode is somebody's own. */
export const mayGo = (file: FileFacts, { kind, minAgeMs }: Rule, nowMs: number): boolean =>
  isOld(file, minAgeMs, nowMs) && (kind !== "temporary" || (file.mode & forOthers) === 0);

export const isKnownName = (name: string, { names }: Rule): boolean => names.some((pattern) => pattern.test(name));
