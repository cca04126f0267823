import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";

/** Where the recorded inputs are: `STEWARD_CASES`, else beside the checkout. They are of many licences, so none is in the repository. */
const root = process.env["STEWARD_CASES"] ?? fileURLToPath(new URL("../../../shared/cases", import.meta.url));

export interface Cases {
  /** The path of a recorded file or directory. */
  readonly path: (...parts: readonly string[]) => string;
  readonly text: (...parts: readonly string[]) => string;
}

/** Tests on the recorded inputs of one kind, skipped with one line where they are not there. */
export function describeCases(kind: string, tests: (cases: Cases) => void): void {
  const folder = join(root, kind);
  const isThere = existsSync(folder);
  if (!isThere) process.stdout.write(`skipped: recorded inputs of ${kind}: ${folder} is not there\n`);
  const path = (...parts: readonly string[]): string => join(folder, ...parts);
  describe.skipIf(!isThere)(`recorded inputs: ${kind}`, () =>
    tests({ path, text: (...parts) => readFileSync(path(...parts), "utf8") }),
  );
}
