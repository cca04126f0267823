import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach } from "vitest";

type Files = Readonly<Record<string, string>>;

export function writeFiles(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const make = (): string => mkdtempSync(join(tmpdir(), "steward-ports-"));
const remove = (root: string): void => rmSync(root, { recursive: true, force: true });

/** A directory with these files for all tests of a file. To be called where tests are declared. */
export function directoryWith(files: Files = {}): string {
  const root = make();
  writeFiles(root, files);
  afterAll(() => remove(root));
  return root;
}

/** A directory that each test has again, and paths in it. To be called where tests are declared, before hooks that use it. */
export function directoryPerTest(): (...parts: readonly string[]) => string {
  let root: string;
  beforeEach(() => {
    root = make();
  });
  afterEach(() => remove(root));
  return (...parts) => join(root, ...parts);
}
