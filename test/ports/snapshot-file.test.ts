import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import { type SnapshotBackend, SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakePackageFiles, presentPackage } from "../fakes/package-files.ts";

const id = "20260101-120000";
const { signal } = new AbortController();
const progress = { step: () => undefined, line: () => undefined };

let base: string;
let backend: SnapshotBackend;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "steward-snapshots-"));
  mkdirSync(at(""), { mode: 0o755 });
  backend = createPackageSnapshots({
    attributes: createAttributes({ exec }),
    directory: join(base, "snapshots"),
    files: createFakePackageFiles([presentPackage("app", "1")]),
    clock: createFakeClock(),
    etc: at(""),
    refresh: () => Promise.resolve([]),
  });
});
afterEach(() => rmSync(base, { recursive: true }));

const at = (path: string): string => join(base, "etc", path);
function write(path: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
  chmodSync(at(path), mode);
}
const take = () => backend.create({ id, description: "", kind: "manual", changes: [], progress }, signal);
const compare = (path: string) => backend.compareFile(id, at(path), signal);

describe("a file of a snapshot", () => {
  it("is compared line by line, with secrets redacted", async () => {
    write("app/app.conf", "port = 80\nname = a\npassword = hunter2-then\n");
    await take();
    write("app/app.conf", "port = 81\nname = a\npassword = hunter2-now\n");
    const found = await compare("app/app.conf");
    expect(found).toMatchObject({ before: { type: "file", mode: "0644" }, after: { type: "file", mode: "0644" } });
    expect(found?.text?.split("\n").slice(2)).toEqual([
      "@@ -1,3 +1,3 @@",
      "-port = 80",
      "+port = 81",
      " name = a",
      expect.stringContaining("[redacted]"),
      "",
    ]);
    expect(JSON.stringify(found)).not.toContain("hunter2");
    write("app/app.conf", "port = 80\nname = a\npassword = hunter2-now\n");
    expect(await compare("app/app.conf")).toMatchObject({ reason: "only what looks like a secret differs" });
  });

  it("is compared with nothing where it was added or removed, and with itself where only its mode differs", async () => {
    write("gone", "was here\n");
    write("same", "same\n");
    await take();
    unlinkSync(at("gone"));
    write("added", "new\n");
    chmodSync(at("same"), 0o600);
    chmodSync(at("same"), 0o604);
    const gone = await compare("gone");
    expect(gone?.text).toMatch(/^--- a.*\n\+\+\+ \/dev\/null\n@@ -1,1 \+0,0 @@\n-was here\n$/);
    expect(gone).not.toHaveProperty("after");
    const added = await compare("added");
    expect(added?.text).toMatch(/\+new\n$/);
    expect(added).not.toHaveProperty("before");
    expect(await compare("same")).toMatchObject({ before: { mode: "0644" }, after: { mode: "0604" }, text: "" });
  });

  it.each<[string, () => void, () => void]>([
    ["was for its owner alone", () => write("it", "then\n", 0o600), () => write("it", "now\n")],
    ["is for its owner alone", () => write("it", "then\n"), () => write("it", "now\n", 0o640)],
  ])("is not shown where it %s", async (_, then, now) => {
    then();
    await take();
    now();
    expect(await compare("it")).toMatchObject({ reason: "it is shown only where every user of the host may read it" });
    expect(await compare("it")).not.toHaveProperty("text");
  });

  it("is not shown below a directory that others cannot enter, nor is where a link there leads", async () => {
    write("private/key", "then\n");
    symlinkSync("/srv/hidden", at("private/link"));
    chmodSync(at("private"), 0o750);
    await take();
    write("private/key", "now\n");
    chmodSync(at("private"), 0o755);
    for (const path of ["private/key", "private/link"])
      expect(await compare(path)).toMatchObject({
        reason: "it is shown only where every user of the host may read it",
      });
  });

  it.each<[string, Buffer, string]>([
    ["binary", Buffer.from([0, 1, 2]), "it is not text"],
    ["in another encoding", Buffer.from([0x66, 0xfc, 0x72]), "it is not text"],
    ["large", Buffer.alloc(300_000, "a line\n"), "it is larger than 256 KiB"],
    [
      "all different",
      Buffer.from(Array.from({ length: 20_000 }, (_, at) => `${at}\n`).join("")),
      "more than 2000 lines differ",
    ],
  ])("that is %s is not shown, for a reason that is given", async (_, content, reason) => {
    write("it", "then\n".repeat(20_000));
    await take();
    write("it", content);
    expect(await compare("it")).toMatchObject({ reason });
  });

  it("is never read through a link, nor outside of /etc, nor of what a snapshot leaves out", async () => {
    write("it", "then\n");
    write("steward/admin.key", "secret\n");
    mkdirSync(join(base, "elsewhere"));
    writeFileSync(join(base, "elsewhere/it"), "secret\n");
    await take();
    unlinkSync(at("it"));
    symlinkSync(join(base, "elsewhere/it"), at("it"));
    symlinkSync(join(base, "elsewhere"), at("folder"));
    const link = await compare("it");
    expect(link).toMatchObject({ before: { type: "file" }, after: { type: "link" } });
    expect(link?.text).not.toContain("secret");
    expect(await compare("directory/it")).toBeUndefined();
    expect(await compare("steward/admin.key")).toBeUndefined();
    expect(await compare("nowhere")).toBeUndefined();
    for (const path of [join(base, "elsewhere/it"), `${at("")}/../elsewhere/it`, at(""), "/etc/../etc/passwd", "it"])
      expect(await backend.compareFile(id, path, signal)).toBeUndefined();
    await expect(backend.compareFile("20990101-000000", at("it"), signal)).rejects.toThrow(SnapshotUnusable);
  });
});
