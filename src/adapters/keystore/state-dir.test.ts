import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { prepareStateDir } from "./state-dir.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-state-"));
});
afterEach(() => rmSync(directory, { recursive: true }));
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("the state directory", () => {
  it("is made private, with its missing parents", () => {
    const path = join(directory, "a/b");
    prepareStateDir(path);
    expect(modeOf(path)).toBe("700");
    chmodSync(path, 0o755);
    prepareStateDir(path);
    expect(modeOf(path)).toBe("700");
  });

  it("is refused when it holds files of others", () => {
    const path = join(directory, "shared");
    mkdirSync(path);
    chmodSync(path, 0o777);
    writeFileSync(join(path, "theirs"), "");
    expect(() => prepareStateDir(path)).toThrow(/contains files that are not Steward's/);
    expect(modeOf(path)).toBe("777");
    writeFileSync(join(path, "keys.db"), "");
    prepareStateDir(path);
    expect(modeOf(path)).toBe("700");
  });

  it("must be a directory, not a link to one", () => {
    writeFileSync(join(directory, "file"), "");
    mkdirSync(join(directory, "real"));
    symlinkSync(join(directory, "real"), join(directory, "link"));
    for (const name of ["file", "link", "file/below"]) {
      expect(() => prepareStateDir(join(directory, name))).toThrow(
        /cannot use the state directory .*STEWARD_STATE_DIR/,
      );
    }
  });
});
