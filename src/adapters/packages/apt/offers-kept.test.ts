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
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-kept-"));
  folder = join(root, "packages");
});
afterEach(() => rmSync(root, { recursive: true }));

describe("cached answers of apt", () => {
  it("are there for the next process, for their owner alone", async () => {
    await createKeptAnswers(folder).keep("versions", "key", "line 1\nline 2\n");
    expect(await createKeptAnswers(folder).recall("versions", "key")).toBe("line 1\nline 2\n");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "versions")).mode & 0o777).toBe(0o600);
  });

  it("may be empty", async () => {
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "");
    expect(await answers.recall("versions", "key")).toBe("");
  });

  it("are of one key only, and the last of a question is the only one", async () => {
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "old");
    await answers.keep("versions", "another key", "new");
    await answers.keep("sources", "key", "of another question");
    expect(await answers.recall("versions", "key")).toBeUndefined();
    expect(await answers.recall("versions", "another key")).toBe("new");
    expect(readdirSync(folder).sort()).toEqual(["sources", "versions"]);
  });

  it("are not taken when what was moved from the key to the answer makes the same text", async () => {
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "keya")).toBeUndefined();
    const [hash = ""] = readFileSync(join(folder, "versions"), "utf8").split("\n");
    writeFileSync(join(folder, "versions"), `${hash}\nnswer`);
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
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "answer");
    const path = join(folder, "versions");
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
        renameSync(folder, join(root, "elsewhere"));
        symlinkSync(join(root, "elsewhere"), folder);
      },
    ],
    ["in a file that others may write", (path) => chmodSync(path, 0o620)],
    ["in a directory that others may write", () => chmodSync(folder, 0o777)],
    ["in a file of another user", (path) => chownSync(path, 65_534, 0), isRoot],
    ["in a directory of another user", () => chownSync(folder, 65_534, 0), isRoot],
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
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "key")).toBe("answer");
    plant(join(folder, "versions"));
    expect(await answers.recall("versions", "key")).toBeUndefined();
  });

  it("are not written to a directory of another user, nor through a link", async () => {
    mkdirSync(join(root, "elsewhere"));
    symlinkSync(join(root, "elsewhere"), folder);
    await createKeptAnswers(folder).keep("versions", "key", "answer");
    expect(readdirSync(join(root, "elsewhere"))).toEqual([]);
    rmSync(folder);
    mkdirSync(folder);
    const other = join(root, "other");
    writeFileSync(other, "as it was");
    linkSync(other, join(folder, "versions"));
    await createKeptAnswers(folder).keep("versions", "key", "answer");
    expect(readFileSync(other, "utf8")).toBe("as it was");
  });

  it("leave no residue of a process that was killed while it wrote", async () => {
    mkdirSync(folder);
    writeFileSync(join(folder, "versions.0123456789ab.new"), "half");
    await createKeptAnswers(folder).keep("versions", "key", "answer");
    expect(readdirSync(folder)).toEqual(["versions"]);
  });

  it("are optional where nothing can be written or read", async () => {
    writeFileSync(folder, "a file in the place of the folder");
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "answer");
    expect(await answers.recall("versions", "key")).toBeUndefined();
    const lost = createKeptAnswers(join(root, "gone", "packages"));
    await lost.keep("versions", "key", "answer");
    expect(await lost.recall("versions", "key")).toBeUndefined();
    expect(readdirSync(root)).toEqual(["packages"]);
  });

  it("are not kept beyond 16 MiB", async () => {
    const answers = createKeptAnswers(folder);
    await answers.keep("versions", "key", "x".repeat(16 * 1024 * 1024 + 1));
    expect(await answers.recall("versions", "key")).toBeUndefined();
  });
});
