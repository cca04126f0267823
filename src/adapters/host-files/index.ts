import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { HostFiles } from "#domain/ports/host-files.ts";

/** @param root in the place of `/`, for recorded files. */
export const createHostFiles = (root = "/"): HostFiles => ({
  text: (path) => readFile(join(root, path), "utf8"),
  names: async (path) => (await readdir(join(root, path))).toSorted(),
  target: (path) => readlink(join(root, path)),
  real: (path) => realpath(join(root, path)),
  async stat(path) {
    const found = await stat(join(root, path));
    return { size: found.size, isSocket: found.isSocket() };
  },
});
