import { constants } from "node:fs";
import { copyFile, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import { PackageFileMissing, type PackageFiles, type PackageVersion, type Progress } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { createSettle, unitFor } from "../common/transactions.ts";
import { keyOf, nevraOf, parseNevra, splitVersion, versionOf } from "./names.ts";

const identityFormat = "%{NAME}|%{EPOCHNUM}|%{VERSION}|%{RELEASE}|%{ARCH}\\n";

/** Reads what `rpm --query` prints in that format; undefined where it is no package. */
export function parseIdentity(text: string): PackageVersion | undefined {
  const [name = "", epoch = "", version = "", release = "", architecture = ""] = text.trim().split("|");
  const found = { name, version: versionOf(epoch, version, release), architecture };
  return parseNevra(nevraOf(found)) === undefined ? undefined : found;
}

export const fileNameOf = ({ name, version, architecture }: PackageVersion): string => {
  const { version: main, release } = splitVersion(version);
  return `${name}-${main}-${release}.${architecture}.rpm`;
};

/** What files of packages are called here: with the epoch too, which repositories leave out. */
export const keptNameOf = (wanted: PackageVersion): string => `${nevraOf(wanted).replaceAll(":", "%3a")}.rpm`;

export function createPackageFile({ exec }: { readonly exec: Exec }) {
  const ask = async (path: string, signal: AbortSignal): Promise<PackageVersion | string> => {
    const words = ["--query", "--nosignature", `--queryformat=${identityFormat}`, "--package", "--", path];
    const { exitCode, stdout, stderr } = await exec(["/usr/bin/rpm", ...words], { signal });
    return (exitCode === 0 ? parseIdentity(stdout) : undefined) ?? stderr.trim();
  };

  const identify: PackageFiles["identify"] = async (path, signal) => {
    const found = await ask(path, signal);
    if (typeof found === "string") throw new Error(`${basename(path)} is not a package file: ${found}`);
    return found;
  };

  /** Whether a file is just this package, with all that its digests say. */
  const isWhole = async (path: string, wanted: PackageVersion, signal: AbortSignal): Promise<boolean> => {
    const found = await ask(path, signal);
    if (typeof found === "string" || nevraOf(found) !== nevraOf(wanted)) return false;
    const words = ["--checksig", "--nosignature", "--", path];
    return (await exec(["/usr/bin/rpm", ...words], { signal, timeoutMs: 10 * 60_000 })).exitCode === 0;
  };

  return { identify, isWhole };
}

/**
 * Rpm names what it unpacks after the second in which it began: what one that was killed has left is in the way ("File exists")
 * of the next one in the same second.
 */
const rpmSecondMs = 1_000;

/** Waits until a unit is over that an earlier process may have started, and rpm can begin again, however that one ended. */
export function createRpmSettle(ports: Parameters<typeof createSettle>[0]): ReturnType<typeof createSettle> {
  const settle = createSettle(ports);
  return async (unit, signal) => {
    await settle(unit, signal);
    await ports.clock.sleep(rpmSecondMs, signal);
    signal.throwIfAborted();
  };
}

type Target = Parameters<PackageFiles["restore"]>[0];

export interface FoundFile extends PackageVersion {
  readonly path: string;
}

export interface Missing {
  readonly install: readonly FoundFile[];
  readonly remove: readonly PackageVersion[];
}

export function missingOf(
  target: { readonly files: readonly FoundFile[]; readonly remove: Target["remove"] },
  installed: readonly PackageVersion[],
): Missing {
  const present = new Set(installed.map(nevraOf));
  const gone = new Set(target.remove.map(keyOf));
  return {
    install: target.files.filter((file) => !present.has(nevraOf(file))),
    remove: installed.filter((each) => gone.has(keyOf(each))),
  };
}

export function createFetch(ports: {
  readonly isWhole: ReturnType<typeof createPackageFile>["isWhole"];
  readonly cached: (wanted: PackageVersion) => Promise<readonly string[]>;
  /** Downloads it below a folder; undefined where it cannot be had. */
  readonly download: (wanted: PackageVersion, folder: string, signal: AbortSignal) => Promise<string | undefined>;
}): PackageFiles["fetch"] {
  const { isWhole, cached, download } = ports;

  const fromCache = async (wanted: PackageVersion, target: string, signal: AbortSignal): Promise<boolean> => {
    for (const path of await cached(wanted)) {
      const copied = await orUndefined(copyFile(path, target, constants.COPYFILE_FICLONE).then(() => true));
      if (copied === undefined) continue;
      if (await isWhole(target, wanted, signal)) return true;
      await rm(target);
    }
    return false;
  };

  const fromRepository = async (wanted: PackageVersion, target: string, signal: AbortSignal): Promise<boolean> => {
    const own = await mkdtemp(join(target, "..", "download-"));
    try {
      const path = await download(wanted, own, signal);
      if (path === undefined || !(await isWhole(path, wanted, signal))) return false;
      await rename(path, target);
      return true;
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };

  return async (wanted, folder, signal) => {
    const nevra = nevraOf(wanted);
    if (parseNevra(nevra) === undefined || nevra.includes("/"))
      throw new PackageFileMissing(`${JSON.stringify(nevra)} is no name of a package`);
    const name = keptNameOf(wanted);
    const target = join(folder, name);
    if (await fromCache(wanted, target, signal)) return { name, origin: "cache" };
    if (await fromRepository(wanted, target, signal)) return { name, origin: "repository" };
    throw new PackageFileMissing(`${nevra} is neither in the cache nor in a repository`);
  };
}

export function createRestore(ports: {
  readonly settle: ReturnType<typeof createRpmSettle>;
  readonly identify: PackageFiles["identify"];
  readonly packages: (signal: AbortSignal) => Promise<readonly PackageVersion[]>;
  /** Does what is missing. @returns why it was not done, or what failed on the way; else empty. */
  readonly change: (unit: string, left: Missing, progress: Progress, signal: AbortSignal) => Promise<string>;
  /** Marks what somebody asked for and what came along. */
  readonly mark: (unit: string, wanted: Target["marks"], signal: AbortSignal) => Promise<void>;
}): PackageFiles["restore"] {
  const { settle, identify, packages, change, mark } = ports;
  return async (target, { id, progress }, signal) => {
    const unit = unitFor(id);
    await settle(unit, signal);
    const files = await Promise.all(target.files.map(async (path) => ({ ...(await identify(path, signal)), path })));
    const missing = async (): Promise<Missing> => missingOf({ files, remove: target.remove }, await packages(signal));
    const isThere = ({ install, remove }: Missing): boolean => install.length + remove.length === 0;

    const left = await missing();
    progress.step(5, "returning to the packages of the snapshot");
    const reason = isThere(left) ? "" : await change(unit, left, progress, signal);
    await mark(unit, target.marks, signal);
    const after = await missing();
    if (isThere(after) && reason === "") return { isDone: true, reason };
    const names = [...after.install, ...after.remove].map(nevraOf).slice(0, 10).join(", ");
    return {
      isDone: false,
      reason: [isThere(after) ? "" : `not as in the snapshot: ${names}`, reason]
        .filter((each) => each !== "")
        .join("; "),
    };
  };
}
