import { chmod, lstat, mkdir, readFile, readlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const maximumLinks = 40;

/**
 * Where a path of the guest is for this process. Followed link by link, as in a chroot: a link to /etc/passwd of the guest
 * must not end at the file of the machine.
 */
async function resolveInGuest(root: string, path: string): Promise<string> {
  const pending = path.split("/");
  let resolved: string[] = [];
  let links = 0;
  while (pending.length > 0) {
    const part = pending.shift();
    if (part === undefined || part === "" || part === ".") continue;
    if (part === "..") {
      resolved.pop();
      continue;
    }
    const target = await linkTarget(join(root, ...resolved, part));
    if (target === undefined) {
      resolved.push(part);
      continue;
    }
    links += 1;
    if (links > maximumLinks) throw new Error(`cannot resolve ${path} in the test host: too many symbolic links`);
    if (target.startsWith("/")) resolved = [];
    pending.unshift(...target.split("/"));
  }
  return join(root, ...resolved);
}

/** Reads a text file of the guest. */
export async function readGuestFile(root: string, path: string): Promise<string> {
  return readFile(await resolveInGuest(root, path), "utf8");
}

/** Writes a text file of the guest with exactly this mode, and makes the directories it needs. */
export async function writeGuestFile(root: string, path: string, content: string, mode = 0o644): Promise<void> {
  const target = await resolveInGuest(root, path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content, { mode });
  // The mode given at the creation is narrowed by the umask, and ignored for a file that exists.
  await chmod(target, mode);
}

async function linkTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() === true ? readlink(path) : undefined;
}
