import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createKeptAnswers } from "./offers-kept.ts";

let root: string;
let directory: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-kept-"));
  directory = join(root, "packages");
});
afterEach(() => rmSync(root, { recursive: true }));

describe("cached answers of apt", () => {
  it("are there for the next process, for their owner alone", async () => {
    await createKeptAnswers(directory).keep("versions", "key", "line 1\nline 2\n");
    expect(await createKeptAnswers(directory).recall("versions", "key")).toBe("line 1\nline 2\n");
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, "versions")).mode & 0o777).toBe(0o600);
  });

  it("may be empty", async () => {
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "");
    expect(await answers.recall("versions", "key")).toBe("");
  });

  it("are of one key only, and the last of a question is the only one", async () => {
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "old");
    await answers.keep("versions", "another key", "new");
    await answers.keep("sources", "key", "of another question");
    expect(await answers.recall("versions", "key")).toBeUndefined();
    expect(await answers.recall("versions", "another key")).toBe("new");
    expect(readdirSync(directory).sort()).toEqual(["sources", "versions"]);
  });

  it("are not taken when what was moved from the key to the answer makes the same text", async () => {
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "keya")).toBeUndefined();
    const [hash = ""] = readFileSync(join(directory, "versions"), "utf8").split("\n");
    writeFileSync(join(directory, "versions"), `${hash}\nnswer`);
    expect(await answers.recall("versions", "keya")).toBeUndefined();
  });

  it.each([
    ["cut off", (text: string) => text.slice(0, -1)],
    ["longer", (text: string) => `${text}x`],
    ["changed", (text: string) => text.replace("answer", "Answer")],
    ["empty", () => ""],
    ["without a hash", () => "\nanswer"],
    ["zeroed", (text: string) => "\0".repeat(text.length)],
  ])("that are %s are ignored", async (_, damage) => {
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "answer");
    const path = join(directory, "versions");
    writeFileSync(path, damage(readFileSync(path, "utf8")));
    expect(await answers.recall("versions", "key")).toBeUndefined();
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "key")).toBe("answer");
  });

  const isRoot = process.getuid?.() === 0;
  it.each<[string, (path: string) => void, boolean?]>([
    [
      "behind a link",
      (path) => {
        renameSync(path, join(root, "elsewhere"));
        symlinkSync(join(root, "elsewhere"), path);
      },
    ],
    [
      "in a directory behind a link",
      () => {
        renameSync(directory, join(root, "elsewhere"));
        symlinkSync(join(root, "elsewhere"), directory);
      },
    ],
    ["in a file that others may write", (path) => chmodSync(path, 0o620)],
    ["in a directory that others may write", () => chmodSync(directory, 0o777)],
    ["in a file of another user", (path) => chownSync(path, 65_534, 0), isRoot],
    ["in a directory of another user", () => chownSync(directory, 65_534, 0), isRoot],
    [
      "in a pipe without a writer",
      (path) => {
        rmSync(path);
        execFileSync("mkfifo", ["-m", "600", path]);
      },
    ],
    ["in a huge file", (path) => truncateSync(path, 2 ** 40)],
  ])("that are %s are ignored: another user may have written them", async (_, plant, canBe = true) => {
    if (!canBe) return;
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "key")).toBe("answer");
    plant(join(directory, "versions"));
    expect(await answers.recall("versions", "key")).toBeUndefined();
  });

  it("are not written to a directory of another user, nor through a link", async () => {
    mkdirSync(join(root, "elsewhere"));
    symlinkSync(join(root, "elsewhere"), directory);
    await createKeptAnswers(directory).keep("versions", "key", "answer");
    expect(readdirSync(join(root, "elsewhere"))).toEqual([]);
    rmSync(directory);
    mkdirSync(directory);
    const other = join(root, "other");
    writeFileSync(other, "as it was");
    linkSync(other, join(directory, "versions"));
    await createKeptAnswers(directory).keep("versions", "key", "answer");
    expect(readFileSync(other, "utf8")).toBe("as it was");
  });

  it("leave no residue of a process that was killed while it wrote", async () => {
    mkdirSync(directory);
    writeFileSync(join(directory, "versions.0123456789ab.new"), "half");
    await createKeptAnswers(directory).keep("versions", "key", "answer");
    expect(readdirSync(directory)).toEqual(["versions"]);
  });

  it("are optional where nothing can be written or read", async () => {
    writeFileSync(directory, "a file in the place of the directory");
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "key")).toBeUndefined();
    const lost = createKeptAnswers(join(root, "gone", "packages"));
    await lost.keep("versions", "key", "answer");
    expect(await lost.recall("versions", "key")).toBeUndefined();
    expect(readdirSync(root)).toEqual(["packages"]);
  });

  it("are not kept beyond 16 MiB", async () => {
    const answers = createKeptAnswers(directory);
    await answers.keep("versions", "key", "x".repeat(16 * 1024 * 1024 + 1));
    expect(await answers.recall("versions", "key")).toBeUndefined();
  });
});
