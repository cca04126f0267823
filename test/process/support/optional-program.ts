import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";

/** Tests of what is in a Debian package, and is needed for nothing else. */
export function where(program: string, tests: () => void, inPackage = program): void {
  const isThere = ["/usr/bin", "/usr/sbin", "/bin"].some((directory) => existsSync(join(directory, program)));
  if (isThere) {
    tests();
    return;
  }
  if (process.env["CI"]) throw new Error(`cannot test: ${program} is not installed (apt-get install ${inPackage})`);
  describe.skip(`not tested: ${program} is not installed (apt-get install ${inPackage})`, () =>
    it("", () => undefined));
}
