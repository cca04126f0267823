import type { HostFiles } from "#domain/ports/host-files.ts";

const refuse = (code: string, path: string): never => {
  throw Object.assign(new Error(`${code}: ${path}`), { code });
};

/** @param files by path: their text, where a link leads (`-> …`), or the code with which the system refuses to read them (`!EIO`). */
export function createFakeHostFiles(files: Readonly<Record<string, string>> = {}): HostFiles {
  const read = (path: string): string => {
    const found = files[path] ?? refuse("ENOENT", path);
    return found.startsWith("!") ? refuse(found.slice(1), path) : found;
  };
  const namesIn = (path: string): readonly string[] => {
    const below = Object.keys(files).filter((each) => each.startsWith(`${path}/`));
    if (below.length === 0) return refuse("ENOENT", path);
    return [...new Set(below.map((each) => each.slice(path.length + 1).split("/")[0] ?? ""))].sort();
  };
  return {
    text: (path) => Promise.resolve(path).then(read),
    names: (path) => Promise.resolve(path).then(namesIn),
    target: (path) => Promise.resolve(path).then((each) => read(each).replace(/^-> /, "")),
  };
}
