import { chmodSync, chownSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requireRootSettings } from "./places.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) process.stdout.write("skipped: the settings of root: only root can make files of root\n");

describe.skipIf(!isRoot)("settings of the privileged side", () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "steward-settings-"));
    mkdirSync(join(base, "etc"), { mode: 0o755 });
    writeFileSync(join(base, "etc/config.yaml"), "", { mode: 0o644 });
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));
  const at = (name: string): string => join(base, name);

  it("are accepted when only root can change them", () => {
    expect(() => requireRootSettings(at("etc/config.yaml"))).not.toThrow();
  });

  it.each([
    ["belong to another user", () => chownSync(at("etc/config.yaml"), 1234, 0), /belongs to user 1234 \(chown root/],
    ["can be changed by others", () => chmodSync(at("etc/config.yaml"), 0o646), /others may change it \(chmod go-w/],
    ["lie in a directory of another user", () => chownSync(at("etc"), 1234, 0), /etc: it belongs to user 1234/],
    ["lie in a directory that a group can change", () => chmodSync(at("etc"), 0o775), /others may change it/],
    [
      "are a link",
      () => {
        renameSync(at("etc/config.yaml"), at("etc/real"));
        symlinkSync("real", at("etc/config.yaml"));
      },
      /it is a link/,
    ],
  ])("are refused when they %s", (_, change, why) => {
    change();
    expect(() => requireRootSettings(at("etc/config.yaml"))).toThrow(why);
  });
});
