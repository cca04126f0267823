import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";

/** Where the recorded inputs are: `STEWARD_CASES`, else beside the checkout. They are of many licences, so none is in the repository. */
const root = process.env["STEWARD_CASES"] ?? fileURLToPath(new URL("../../../shared/cases", import.meta.url));

export interface Cases {
  /** The path of a recorded file or directory. */
  readonly path: (...parts: readonly string[]) => string;
  readonly text: (...parts: readonly string[]) => string;
  /** All recorded files of the kind, by their sorted paths in it. */
  readonly files: () => readonly string[];
}

export interface FilesRead {
  readonly read: readonly string[];
  /** Files that no reader is for, each with the reason; a path that ends with `/` stands for all in it. */
  readonly unread: Readonly<Record<string, string>>;
}

/** Those that no test reads, and that nothing says why of, and those that are named and not there. */
export function uncovered(files: readonly string[], { read, unread }: FilesRead): readonly string[] {
  const named = [...read, ...Object.keys(unread)];
  const covers = (name: string, file: string): boolean => (name.endsWith("/") ? file.startsWith(name) : file === name);
  return [
    ...files.filter((file) => !named.some((name) => covers(name, file))),
    ...named.filter((name) => !files.some((file) => covers(name, file))),
  ];
}

/** Tests on the recorded inputs of one kind, skipped with one line where they are not there. */
export function describeCases(kind: string, tests: (cases: Cases) => void): void {
  const folder = join(root, kind);
  const isThere = existsSync(folder);
  if (!isThere) process.stdout.write(`skipped: recorded inputs of ${kind}: ${folder} is not there\n`);
  const path = (...parts: readonly string[]): string => join(folder, ...parts);
  const files = (): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "README.md")
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .toSorted();
  describe.skipIf(!isThere)(`recorded inputs: ${kind}`, () =>
    tests({ path, text: (...parts) => readFileSync(path(...parts), "utf8"), files }),
  );
}
