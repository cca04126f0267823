import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readKey } from "./secrets.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-keys-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const file = (content: string, mode = 0o600): string => {
  const path = join(directory, "key");
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
};
const fromFile = (path: string) => readKey({ from: "file", name: path }, {});

describe("a key in the environment", () => {
  const read = (value: string | undefined) => readKey({ from: "environment", name: "THE_KEY" }, { THE_KEY: value });

  it("is read without the space around it", () => {
    expect(read(" sk-1\n")).toEqual({ key: "sk-1" });
  });

  it.each([
    [undefined, "THE_KEY is not set"],
    ["", "THE_KEY is empty"],
    [" \n", "THE_KEY is empty"],
    ["two words", "THE_KEY contains characters that are not allowed in a key"],
    ["sk-1\r\nx-other: 1", "THE_KEY contains characters that are not allowed in a key"],
    ["sk-ä", "THE_KEY contains characters that are not allowed in a key"],
  ])("is refused as %j", (value, missing) => {
    expect(read(value)).toEqual({ missing });
  });
});

describe("a key in a file", () => {
  it.each([0o600, 0o640])("is read with mode %o", (mode) => {
    expect(fromFile(file("sk-1\n", mode))).toEqual({ key: "sk-1" });
  });

  it("is read through a link, and missing without a file", () => {
    const link = join(directory, "link");
    symlinkSync(file("sk-1"), link);
    expect(fromFile(link)).toEqual({ key: "sk-1" });
    expect(fromFile(join(directory, "nowhere"))).toMatchObject({
      missing: expect.stringContaining("there is no such file"),
    });
  });

  it.each([0o604, 0o602])("is not used with mode %o", (mode) => {
    const path = file("sk-secret", mode);
    expect(fromFile(path)).toEqual({
      missing: `cannot use ${path}: everybody can read or write it (chmod o-rwx it)`,
    });
  });
});

describe("a systemd credential", () => {
  it("is read from the directory that systemd names", () => {
    file("sk-1\n", 0o444);
    expect(readKey({ from: "credential", name: "key" }, { CREDENTIALS_DIRECTORY: directory })).toEqual({ key: "sk-1" });
  });

  it("is missing when systemd passed none", () => {
    expect(readKey({ from: "credential", name: "key" }, {})).toEqual({
      missing: "systemd passed no credentials: the unit needs LoadCredential=key",
    });
    expect(readKey({ from: "credential", name: "other" }, { CREDENTIALS_DIRECTORY: directory })).toMatchObject({
      missing: expect.stringContaining("there is no such file"),
    });
  });
});
