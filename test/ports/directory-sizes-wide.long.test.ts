import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const wide = mkdtempSync(join(tmpdir(), "steward-wide-"));
afterAll(() => rmSync(wide, { recursive: true }));

it("measures a directory with more directories in it than a call has space for", async () => {
  for (let each = 0; each < 12_000; each += 1) mkdirSync(join(wide, String(each)));
  const program = `
    import { createDirectorySizes } from "#adapters/directory-sizes/index.ts";
    import { systemClock } from "#adapters/clock/index.ts";
    import { lookHere } from "#adapters/exec/look.ts";
    const directories = createDirectorySizes({ look: lookHere, clock: systemClock, most: { entries: 1e6, ms: 1e6 } });
    const found = await directories.measure(process.argv[1], { depth: 1, limit: 1 }, new AbortController().signal);
    process.stdout.write(String(found.entries));`;
  // As with 130,000 directories on a stack of the usual size.
  const argv = ["--stack-size=100", "--input-type=module", "--eval", program, "--", wide];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: import.meta.dirname });
  expect(stdout).toBe("12000");
});
