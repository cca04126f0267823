import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, lchown, lstat, mkdir, rename, rmdir, symlink, unlink } from "node:fs/promises";
import type { Exec } from "#adapters/exec/index.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { KeptAttributes } from "./attributes.ts";
import { digest, lastPart, openBelow, openFile, openNew, parentPart, pathWithin, using } from "./files.ts";
import { type DirectoryEntry, type FileEntry, isSameEntry, type LinkEntry, type TreeEntry } from "./tree.ts";

const changedMeanwhile = "what the snapshot holds of it has changed meanwhile";
const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

async function removeEntry(directory: FileHandle, { path, type }: TreeEntry): Promise<void> {
  const place = pathWithin(directory, lastPart(path));
  await (type === "folder" ? rmdir(place) : unlink(place));
}

/** The mode comes last: a change of owner takes the setuid bit away. */
async function own(handle: FileHandle, { uid, gid, mode }: FileEntry | DirectoryEntry): Promise<void> {
  await handle.chown(uid, gid);
  await handle.chmod(mode);
}

async function writeDirectory(root: string, entry: DirectoryEntry, isThere: boolean): Promise<void> {
  if (!isThere) {
    await using(openBelow(root, parentPart(entry.path)), async (parent) => {
      await mkdir(pathWithin(parent, lastPart(entry.path)), { mode: 0o700 });
    });
  }
  await using(openBelow(root, entry.path), (directory) => own(directory, entry));
}

/** Beside the old one and then over it: at no time is there half a file. */
async function replace(
  directory: FileHandle,
  { path }: TreeEntry,
  write: (place: string) => Promise<void>,
): Promise<void> {
  const beside = String(pathWithin(directory, `.steward-${randomBytes(6).toString("hex")}`));
  try {
    await write(beside);
    await rename(beside, pathWithin(directory, lastPart(path)));
  } catch (error) {
    const isLeft = await lstat(beside).then(
      () => true,
      () => false,
    );
    if (isLeft) await unlink(beside);
    throw error;
  }
}

async function writeFile(place: string, entry: FileEntry, source: FileHandle): Promise<void> {
  await using(openNew(place), async (file) => {
    const { sha256 } = await digest(source, file);
    if (sha256 !== entry.sha256) throw new Error(changedMeanwhile);
    await own(file, entry);
    await file.utimes(entry.mtimeMs / 1000, entry.mtimeMs / 1000);
    await file.sync();
  });
}

async function writeLink(place: string, { target, uid, gid }: LinkEntry): Promise<void> {
  await symlink(target, place);
  await lchown(place, uid, gid);
}

/** Makes a directory what it was; continues after faults. @returns a line for each. */
export async function restoreTree(
  root: string,
  {
    earlier,
    now,
    attributes,
  }: {
    readonly earlier: readonly TreeEntry[];
    readonly now: readonly TreeEntry[];
    readonly attributes: KeptAttributes;
  },
  openContent: (entry: FileEntry) => Promise<FileHandle>,
): Promise<readonly string[]> {
  const was = new Map(earlier.map((entry) => [entry.path, entry]));
  const is = new Map(now.map((entry) => [entry.path, entry]));
  const faults: string[] = [];
  const touched = new Set<string>();

  const attempt = async (path: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      touched.add(parentPart(path));
    } catch (error) {
      faults.push(`${root}/${path}: ${errorMessage(error)}`);
    }
  };

  for (const entry of now.toReversed()) {
    if (was.get(entry.path)?.type === entry.type || entry.path === "") continue;
    // A file in the place of a link, or the other way round, is renamed over it.
    if (was.has(entry.path) && entry.type !== "folder" && was.get(entry.path)?.type !== "folder") continue;
    await attempt(entry.path, () =>
      using(openBelow(root, parentPart(entry.path)), (directory) => removeEntry(directory, entry)),
    );
  }
  for (const entry of earlier) {
    const before = is.get(entry.path);
    if (before !== undefined && isSameEntry(entry, before)) continue;
    await attempt(entry.path, () => {
      const kept = entry.type === "link" || !attributes.isAvailable() ? {} : (entry.attributes ?? {});
      const isPlain = Object.keys(kept).length === 0;
      if (entry.type === "folder") {
        return writeDirectory(root, entry, before?.type === "folder").then(() => {
          if (isPlain) return undefined;
          const written = { ...entry, attributes: kept, mtimeMs: Date.now() };
          return using(openBelow(root, parentPart(entry.path)), (directory) =>
            attributes.write({ directory, name: lastPart(entry.path) || "." }, written, Buffer.alloc(0)),
          );
        });
      }
      return using(openBelow(root, parentPart(entry.path)), (directory) => {
        if (entry.type === "link") return replace(directory, entry, (place) => writeLink(place, entry));
        return using(openContent(entry), (source) =>
          replace(directory, entry, async (place) => {
            if (isPlain) return writeFile(place, entry, source);
            const content = await source.readFile();
            if (hashOf(content) !== entry.sha256) throw new Error(changedMeanwhile);
            await attributes.write({ directory, name: lastPart(place) }, { ...entry, attributes: kept }, content);
            await using(openFile(place), (file) => file.sync());
          }),
        );
      });
    });
  }
  for (const path of [...touched].sort()) {
    if (path !== "" && was.get(path)?.type !== "folder") continue;
    await attempt(path, () => using(openBelow(root, path), (directory) => directory.sync()));
  }
  return faults;
}

const restoreconBatch = 500;
const followMs = 60_000;

const followers = [
  { files: /^systemd\//, argv: ["/usr/bin/systemctl", "daemon-reload"] },
  { files: /^ld\.so\.conf/, argv: ["/usr/sbin/ldconfig"] },
] as const;

/** Where the kernel shows that SELinux is on, whether it enforces or only reports. */
const selinuxFile = "/sys/fs/selinux/enforce";

/** Lets the host follow files that were restored. @param selinux another file that says whether labels are to be set. */
export const createRefresh =
  ({ exec, selinux = selinuxFile }: { readonly exec: Exec; readonly selinux?: string }) =>
  async (paths: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
    const faults: string[] = [];
    const run = async (what: string, argv: Parameters<Exec>[0]): Promise<void> => {
      try {
        const { exitCode, stderr } = await exec(argv, { signal, timeoutMs: followMs });
        if (exitCode !== 0) faults.push(`${what}: ${stderr.trim() || `exit code ${exitCode}`}`);
      } catch (error) {
        // What was restored is, whether or not this program can be run.
        signal.throwIfAborted();
        faults.push(`${what}: ${errorMessage(error)}`);
      }
    };
    // Before what reads them.
    if (existsSync(selinux)) {
      for (let at = 0; at < paths.length; at += restoreconBatch) {
        const batch = paths.slice(at, at + restoreconBatch).map((path) => `/etc/${path}`);
        await run("restorecon", ["/usr/sbin/restorecon", "-F", "-i", "--", ...batch]);
      }
    }
    for (const { files, argv } of followers)
      if (paths.some((path) => files.test(path))) await run(argv.join(" "), argv);
    return faults;
  };
