import { readFile } from "node:fs/promises";
import { fieldOf, parseStanzas } from "./deb822.ts";

/** Without these a host starts no more, or cannot be helped with packages. */
const vital: ReadonlyMap<string, string> = new Map([
  ["apt", "it is the package manager"],
  ["dpkg", "it is the package manager"],
  ["init", "the host starts with it"],
  ["systemd", "the host starts with it"],
  ["systemd-sysv", "the host starts with it"],
]);

/** The packages of the kernel that runs. */
const isOfKernel = (name: string, running: string): boolean =>
  ["linux-image-", "linux-image-unsigned-", "linux-modules-"].some((prefix) => name === `${prefix}${running}`);

/** By name of an installed package, why it is never removed. */
export function findUnremovable(status: string, running: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const stanza of parseStanzas(status)) {
    const name = fieldOf(stanza, "Package");
    const isMarked = ["Essential", "Protected", "Important"].some((field) => fieldOf(stanza, field) === "yes");
    const reason =
      vital.get(name) ??
      (isMarked ? "it is essential" : undefined) ??
      (isOfKernel(name, running) ? "its kernel runs" : undefined);
    if (reason !== undefined) found.set(name, reason);
  }
  return found;
}

export const readUnremovable = async (path: string, running: string): Promise<ReadonlyMap<string, string>> =>
  findUnremovable(await readFile(path, "utf8"), running);
