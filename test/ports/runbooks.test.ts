import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lookApart, lookHere } from "#adapters/exec/look.ts";
import { createRunbooks } from "#adapters/runbooks/index.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-runbooks-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const { signal } = new AbortController();
const write = (name: string, text: string | Buffer, mode = 0o644): void => {
  writeFileSync(join(directory, name), text);
  chmodSync(join(directory, name), mode);
};
const runbook = (appliesTo: string, body = "Call Ada.\n") =>
  `---\ntitle: The shop\napplies_to:\n  - ${appliesTo}\n---\n\n${body}`;
const read = (look = lookHere) => createRunbooks({ directory, look }).read(signal);
const local = async () => (await read()).runbooks.filter(({ origin }) => origin === "local");
const faults = async () =>
  (await read()).faults.map(({ file, reason }) => [file.replace(`${directory}/`, ""), reason] as const);

describe("runbooks of a directory", () => {
  it("come before the built-in ones, and in the place of those with the same id", async () => {
    write("shop.md", runbook("unit: shop-*"));
    write("disk_space.md", runbook("check: disk_space").replaceAll("\n", "\r\n"));
    write("notes.txt", "no runbook");
    write(".hidden.md", "no runbook");
    const { runbooks, faults: none } = await read(lookApart);
    expect(none).toEqual([]);
    expect(runbooks.slice(0, 2)).toEqual([
      {
        id: "disk_space",
        origin: "local",
        title: "The shop",
        appliesTo: [{ check: "disk_space" }],
        body: "Call Ada.",
      },
      { id: "shop", origin: "local", title: "The shop", appliesTo: [{ unit: "shop-*" }], body: "Call Ada." },
    ]);
    expect(runbooks.filter(({ id }) => id === "disk_space")).toHaveLength(1);
    expect(runbooks.some(({ id, origin }) => id === "memory" && origin === "builtin")).toBe(true);
  });

  it("are read again each time", async () => {
    const { read: readAgain } = createRunbooks({ directory, look: lookHere });
    expect((await readAgain(signal)).runbooks[0]?.origin).toBe("builtin");
    write("shop.md", runbook("unit: shop"));
    expect((await readAgain(signal)).runbooks[0]).toMatchObject({ id: "shop", appliesTo: [{ unit: "shop.service" }] });
    write("shop.md", runbook("template: 9ce8c1cd1fdc361b"));
    expect((await readAgain(signal)).runbooks[0]).toMatchObject({ appliesTo: [{ template: "9ce8c1cd1fdc361b" }] });
  });

  it("need no directory", async () => {
    const { runbooks, faults: none } = await createRunbooks({ directory: "/nowhere", look: lookHere }).read(signal);
    expect(none).toEqual([]);
    expect(runbooks.length).toBeGreaterThan(30);
  });

  it("cannot be in a file, which is named", async () => {
    write("shop.md", runbook("check: shop"));
    const { faults: found } = await createRunbooks({ directory: join(directory, "shop.md"), look: lookHere }).read(
      signal,
    );
    expect(found).toEqual([{ file: join(directory, "shop.md"), reason: expect.stringContaining("not a directory") }]);
  });

  it("are taken apart once, also faulty ones, which may take long", async () => {
    const keys = Array.from({ length: 2500 }, (_, at) => `k${at}`).join();
    write("shop.md", `---\n{${keys}}\n---\nx`);
    const { read: readAgain } = createRunbooks({ directory, look: lookHere });
    for (let round = 0; round < 1000; round += 1)
      expect((await readAgain(signal)).faults).toMatchObject([{ reason: "its header must have title" }]);
  });

  it.each([
    ["no header", "Call Ada.", "it does not begin with a header between two lines of three dashes (---)"],
    ["an open header", "---\ntitle: x\n", "it does not begin with a header between two lines of three dashes (---)"],
    ["a header that is not YAML", "---\ntitle: [\n---\nx", expect.stringMatching(/^its header is not YAML: /)],
    ["a header of another kind", "---\n- a\n---\nx", "its header must be an object"],
    ["nothing that it applies to", "---\ntitle: x\n---\nx", expect.stringMatching(/applies_to/)],
    ["an unknown member", runbook("check: a").replace("title", "author: b\ntitle"), "its header does not know author"],
    ["an unknown subject", runbook("host: a"), "applies_to.0 does not know host"],
    [
      "a subject of two kinds",
      runbook("{ check: a, unit: b }"),
      "applies_to.0 must have one of check, unit and template",
    ],
    ["a unit that cannot be", runbook("unit: a b"), expect.stringMatching(/^applies_to: cannot accept unit: /)],
    ["aliases", "---\ntitle: &a x\napplies_to: [*a]\n---\nx", expect.stringMatching(/^its header is not YAML: /)],
    [
      "too long a header",
      runbook("check: a").replace("title", `# ${"x".repeat(16 * 1024)}\ntitle`),
      "its header is longer than 16 KiB",
    ],
    ["no text", runbook("check: a", "\n"), "it has no text below its header"],
    ["too much text", runbook("check: a", "x".repeat(32 * 1024)), "it is larger than 32 KiB"],
    ["other bytes than UTF-8", Buffer.from("---\ntitle: \xff\n---\n", "latin1"), "it is not UTF-8"],
  ])("are not used with %s, and the file is named", async (_, text, reason) => {
    write("shop.md", text);
    write("sound.md", runbook("check: sound"));
    expect(await faults()).toEqual([["shop.md", reason]]);
    expect((await local()).map(({ id }) => id)).toEqual(["sound"]);
  });

  it("are regular files with plain names, which their owner alone can write", async () => {
    write("sound.md", runbook("check: sound"));
    symlinkSync("/etc/passwd", join(directory, "link.md"));
    mkdirSync(join(directory, "directory.md"));
    execFileSync("mkfifo", [join(directory, "pipe.md")]);
    write("odd name.md", runbook("check: odd"));
    write("open.md", runbook("check: open"), 0o666);
    expect(Object.fromEntries(await faults())).toEqual({
      "link.md": "it is a symbolic link that is not followed, or a loop of them",
      "directory.md": "it is a directory, not a regular file",
      "pipe.md": "it is a named pipe, not a regular file",
      "odd name.md": "its name has more than 64 characters, or others than A-Z a-z 0-9 . _ - (rename it)",
      "open.md": "others than its owner may write to it (chmod go-w)",
    });
    expect((await local()).map(({ id }) => id)).toEqual(["sound"]);
  });

  it("are not read where others may write to the directory", async () => {
    write("shop.md", runbook("check: shop"));
    chmodSync(directory, 0o777);
    expect(await faults()).toEqual([[directory, "others than its owner may write to it (chmod go-w)"]]);
    expect(await local()).toEqual([]);
  });

  it("are no more than 200", async () => {
    for (let at = 0; at < 203; at += 1) write(`shop-${at}.md`, runbook("check: shop"));
    expect(await local()).toHaveLength(200);
    expect(await faults()).toEqual([[directory, "it has 3 files more than the 200 that are read"]]);
  });

  it("leave the built-in ones where the directory cannot be inspected, or gives no answer", async () => {
    const unlooked = await read(() => Promise.reject(new Error("no process can be started")));
    expect(unlooked.faults).toEqual([{ file: directory, reason: "no process can be started" }]);
    expect(unlooked.runbooks.length).toBeGreaterThan(30);
    const silent = await read(() =>
      Promise.resolve({ answers: new Map(), silent: new Set([directory]), isWhole: false }),
    );
    expect(silent.faults).toEqual([{ file: directory, reason: "its file system gives no answer" }]);
  });
});
