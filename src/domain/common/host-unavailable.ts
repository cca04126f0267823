export interface Unavailability {
  readonly missing: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** That cannot be written. */
  readonly directory?: string;
}

/** Something on the host is missing or does not answer: callers get `UNAVAILABLE` with this message. */
export class HostUnavailable extends Error {
  override readonly name: string = "HostUnavailable";
  readonly details: Unavailability;

  constructor(message: string, details: Unavailability, cause?: unknown) {
    super(message, { cause });
    this.details = details;
  }
}

interface Shortage {
  readonly missing: string;
  readonly why: (place: string) => string;
  readonly remedy: string;
}

const full: Shortage = {
  missing: "disk space",
  why: (place) => `no space left on ${place}`,
  remedy: "free some space there and try again",
};
const readOnly: Shortage = {
  missing: "writable file system",
  why: (place) => `${place} is read-only`,
  remedy: "see the kernel log, mount it writable and try again",
};
const broken: Shortage = {
  missing: "working disk",
  why: (place) => `input/output error on ${place}`,
  remedy: "see the kernel log, check the disk and try again",
};
const cannotOpen: Shortage = {
  missing: "database file",
  why: (place) => `a database file in ${place} cannot be opened`,
  remedy: "check its owner, its mode and the limit of open files, and try again",
};

/** By errno(3). */
const byCode: Readonly<Record<string, Shortage>> = {
  ENOSPC: full,
  EDQUOT: {
    missing: "disk quota",
    why: (place) => `disk quota exceeded on ${place}`,
    remedy: "free some space or raise the quota, and try again",
  },
  EROFS: readOnly,
  EIO: broken,
  EMFILE: {
    missing: "file descriptors",
    why: () => "the process has too many open files",
    remedy: "try again later, or raise LimitNOFILE= of the service",
  },
  ENFILE: {
    missing: "file descriptors",
    why: () => "the host has too many open files",
    remedy: "try again later, or raise fs.file-max",
  },
};

/** Errors that libuv has no name for. */
const unnamedErrors: Readonly<Record<number, string>> = { [-122]: "EDQUOT", [-117]: "EIO" };

/** By the primary result code of SQLite. */
const bySqliteCode: Readonly<Record<number, Shortage>> = { 8: readOnly, 10: broken, 13: full, 14: cannotOpen };
const primaryCodeMask = 0xff;

interface SystemError extends Error {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly errcode?: unknown;
  readonly path?: unknown;
  readonly dest?: unknown;
}

function shortageOf({ code, errno, errcode }: SystemError): Shortage | undefined {
  if (typeof errcode === "number") return bySqliteCode[errcode & primaryCodeMask];
  const name = (typeof errno === "number" ? unnamedErrors[errno] : undefined) ?? code;
  return typeof name === "string" && Object.hasOwn(byCode, name) ? byCode[name] : undefined;
}

function directoryOf({ path, dest }: SystemError): string | undefined {
  const file = dest ?? path;
  if (typeof file !== "string" || !file.startsWith("/")) return undefined;
  return file.slice(0, file.lastIndexOf("/")) || "/";
}

const maxCauses = 10;

/**
 * Finds out whether an error or its cause means that the host lacks something: a disk is full, over quota, read-only or broken, no
 * more files can be opened, or an adapter found something missing.
 */
export function findUnavailable(error: unknown): HostUnavailable | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < maxCauses; depth += 1) {
    if (each instanceof HostUnavailable) return each;
    const shortage = shortageOf(each);
    if (shortage !== undefined) {
      const directory = directoryOf(each);
      const { missing, why, remedy } = shortage;
      const details = { missing, retryable: true, ...(directory !== undefined && { directory }) };
      return new HostUnavailable(`${why(directory ?? "the file system")} (${remedy})`, details, error);
    }
    each = each.cause;
  }
  return undefined;
}
