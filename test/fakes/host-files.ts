import { posix } from "node:path";
import type { HostFiles } from "#domain/ports/host-files.ts";

const refuse = (code: string, path: string): never => {
  throw Object.assign(new Error(`${code}: ${path}`), { code });
};

/**
 * @param files by path: their text, where a link leads (`-> …`), the code with which the system refuses to read them (`!EIO`), or `=socket`.
 * The size of a directory is the number of what is in it, as in /proc since Linux 6.2.
 */
export function createFakeHostFiles(files: Readonly<Record<string, string>> = {}): HostFiles {
  const read = (path: string): string => {
    const found = files[path] ?? refuse("ENOENT", path);
    return found.startsWith("!") ? refuse(found.slice(1), path) : found;
  };
  const namesIn = (path: string): readonly string[] => {
    if (path in files) read(path);
    const below = Object.keys(files).filter((each) => each.startsWith(`${path}/`));
    if (below.length === 0) return refuse("ENOENT", path);
    return [...new Set(below.map((each) => each.slice(path.length + 1).split("/")[0] ?? ""))].sort();
  };
  const real = (path: string): string => {
    const link = files[path];
    if (link?.startsWith("-> ")) return real(posix.resolve(posix.dirname(path), link.slice(3)));
    if (link === undefined) namesIn(path);
    return path;
  };
  const stat = (path: string) => {
    const found = real(path);
    const text = files[found];
    return { size: text === undefined ? namesIn(found).length : read(found).length, isSocket: text === "=socket" };
  };
  const answering =
    <T>(answer: (path: string) => T) =>
    (path: string): Promise<T> =>
      Promise.resolve(path).then(answer);
  return {
    text: answering(read),
    names: answering(namesIn),
    target: answering((path) => read(path).replace(/^-> /, "")),
    real: answering(real),
    stat: answering(stat),
  };
}
