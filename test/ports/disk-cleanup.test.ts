import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { createDiskCleanup } from "#adapters/cleanup/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { lookApart, lookHere, type TakeLook } from "#adapters/exec/look.ts";
import type { CleanupCandidate, DiskCleanup } from "#domain/ports/storage.ts";
import { directoryPerTest } from "./support/directories.ts";

const { signal } = new AbortController();
const dayMs = 24 * 60 * 60_000;
const at = directoryPerTest();
beforeEach(() => {
  mkdirSync(at("tmp"));
  mkdirSync(at("cache/partial"), { recursive: true });
  showProcess(process.pid);
});

/** The processes that the test looks at: those of a machine may be hidden from it. */
const showProcess = (pid: number): void => {
  mkdirSync(at("proc"), { recursive: true });
  symlinkSync(`/proc/${pid}`, at(`proc/${pid}`));
};

const put = (name: string, bytes = 4096): void => writeFileSync(at(name), "x".repeat(bytes), { mode: 0o600 });
const inTmp = (): readonly string[] => readdirSync(at("tmp")).sort();

/** A package manager that removes what it has downloaded, or says why not. */
const manager =
  (stderr = ""): Exec =>
  () => {
    if (stderr === "") for (const name of ["a.deb", "partial/b.deb"]) rmSync(at("cache", name), { force: true });
    return Promise.resolve({ exitCode: stderr === "" ? 0 : 100, stdout: "", stderr, truncated: false });
  };

/** The real one on directories of the test, some days from now: nobody can give a file an old time of change. */
const real = ({
  days = 20,
  exec = manager(),
  procDir = at("proc"),
  sysDir = "/sys",
  look = lookHere,
} = {}): DiskCleanup =>
  createDiskCleanup({
    exec,
    look,
    clock: { now: () => Date.now() + days * dayMs },
    kernel: { procDir, sysDir },
    owner: process.getuid?.() ?? 0,
    rules: [{ kind: "temporary", directory: at("tmp"), minAgeMs: 10 * dayMs, names: [/^tmp\.\w{4}$/] }],
    caches: [
      {
        directory: at("cache"),
        program: "/bin/true",
        args: [],
        removes: /^(?:[^/]+\.deb|partial\/[^/]+)$/,
        keeps: /^(?:lock|partial)$/,
      },
    ],
  });

const find = async (cleanup = real()) => (await cleanup.find(signal)).candidates;

/** What may go, as it is found. */
async function findOne(): Promise<CleanupCandidate> {
  const [found] = await find();
  if (found === undefined) throw new Error("nothing was found");
  return found;
}

describe("disk cleanup", () => {
  it("finds the same in a process of its own, and names what gives no answer there", async () => {
    for (const name of ["tmp/tmp.0001", "tmp/tmp.0002", "tmp/mine", "cache/a.deb"]) put(name);
    const found = await real().find(signal);
    expect(found.candidates.map(({ files }) => files)).toEqual([["a.deb"], ["tmp.0001", "tmp.0002"]]);
    expect(await real({ look: lookApart }).find(signal)).toEqual(found);
    const asked: string[] = [];
    const look: TakeLook = ({ look: work }, input) => {
      const answers = new Map();
      const begin = (path: string): boolean => {
        asked.push(path);
        return path !== at("tmp/tmp.0001");
      };
      work(input, { begin, answer: (path, answer) => void answers.set(path, answer) });
      return Promise.resolve({ answers, silent: new Set([at("tmp/tmp.0001")]), isWhole: true });
    };
    const { candidates, unread } = await real({ look }).find(signal);
    expect(candidates.map(({ files }) => files)).toEqual([["a.deb"], ["tmp.0002"]]);
    expect(unread).toEqual([`${at("tmp/tmp.0001")} gives no answer`]);
    expect(asked).not.toContain(at("tmp/mine"));
  });

  it("finds what may go, and removes just that, once", async () => {
    for (const name of ["cache/a.deb", "cache/partial/b.deb", "tmp/tmp.0001", "tmp/other"]) put(name);
    put("cache/lock", 0);
    put("tmp/tmp.0002", 8192);
    const found = await find();
    expect(found).toEqual([
      { kind: "packages", directory: at("cache"), files: ["a.deb", "partial/b.deb"], bytes: 8192 },
      { kind: "temporary", directory: at("tmp"), files: ["tmp.0001", "tmp.0002"], bytes: 12_288 },
    ]);
    for (const each of found)
      expect(await real().remove(each, signal)).toEqual({ files: each.files.length, bytes: each.bytes });
    expect(await find()).toEqual([]);
    for (const each of found.slice(1)) expect(await real().remove(each, signal)).toEqual({ files: 0, bytes: 0 });
  });

  it("leaves what is young, and what has become young since the plan", async () => {
    put("tmp/tmp.0001");
    expect(await find(real({ days: 9 }))).toEqual([]);
    const found = await findOne();
    expect(await real({ days: 9 }).remove(found, signal)).toEqual({ files: 0, bytes: 0 });
    expect(inTmp()).toEqual(["tmp.0001"]);
  });

  it("leaves links, second names, directories and files with other names, also where they took the place of what was found [temporary-files]", async () => {
    put("tmp/tmp.0001");
    const found = await findOne();
    put("precious");
    rmSync(at("tmp/tmp.0001"));
    symlinkSync(at("precious"), at("tmp/tmp.0001"));
    linkSync(at("precious"), at("tmp/tmp.0002"));
    mkdirSync(at("tmp/tmp.0003"));
    put("tmp/tmp.0003/tmp.0004");
    put("tmp/tmp.0005\n");
    const before = inTmp();
    expect(await find()).toEqual([]);
    const all = { ...found, files: [...before, "../precious", "tmp.0003/tmp.0004"] };
    expect(await real().remove(all, signal)).toEqual({ files: 0, bytes: 0 });
    expect([inTmp(), existsSync(at("precious"))]).toEqual([before, true]);
  });

  it("leaves what a process has open, or runs", async () => {
    put("tmp/tmp.0001");
    copyFileSync("/bin/sleep", at("tmp/tmp.0002"));
    chmodSync(at("tmp/tmp.0002"), 0o700);
    const found = await findOne();
    const script = 'exec 3<"$1"; shift; echo; exec "$@"';
    const opener = spawn("sh", ["-c", script, "sh", at("tmp/tmp.0001"), at("tmp/tmp.0002"), "100"]);
    try {
      await once(opener.stdout, "data");
      showProcess(opener.pid ?? 0);
      // Its program is mapped a time after the line.
      await expect.poll(() => find()).toEqual([]);
      expect(await real().remove(found, signal)).toEqual({ files: 0, bytes: 0 });
    } finally {
      opener.kill();
    }
  });

  it("passes over processes that have ended", async () => {
    put("tmp/tmp.0001");
    // The child ends once its parent is a program that does not ask about it.
    const parent = spawn("sh", ["-c", "exec 3<&0; (read -r line <&3) & echo $!; exec sleep 100"]);
    try {
      const [pid] = await once(parent.stdout, "data");
      const zombie = Number(String(pid));
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      parent.stdin.write("\n");
      await expect.poll(() => readFileSync(`/proc/${zombie}/status`, "utf8")).toContain("Z (zombie)");
      showProcess(zombie);
      // One that is no longer there.
      showProcess(4_194_305);
      expect(await find()).toMatchObject([{ files: ["tmp.0001"] }]);
    } finally {
      parent.kill();
    }
  });

  it("leaves what a loop device stands on, and what is swapped to", async () => {
    put("tmp/tmp.0001");
    put("tmp/tmp.0002");
    mkdirSync(at("sys/block/loop7/loop"), { recursive: true });
    put("sys/block/loop7/size");
    writeFileSync(at("sys/block/loop7/loop/backing_file"), `${at()}/tmp/tmp.0001\n`);
    writeFileSync(at("proc/swaps"), `Filename Type Size\n${at()}/tmp/tmp.0002 file 4\n`);
    expect(await find(real({ sysDir: at("sys") }))).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)(
    "passes over a loop device that is detached meanwhile (only root can make the file)",
    async () => {
      put("tmp/tmp.0001");
      mkdirSync(at("sys/block/loop7/loop"), { recursive: true });
      // A device of which there is no driver: what is read of it fails as what is read of a loop device that is gone.
      execFileSync("mknod", [at("sys/block/loop7/loop/backing_file"), "c", "10", "250"]);
      expect(await find(real({ sysDir: at("sys") }))).toHaveLength(1);
    },
  );

  it("leaves all old files where processes are hidden from it", async () => {
    put("cache/a.deb");
    put("tmp/tmp.0001");
    for (const path of [".", "tmp", "cache"]) chmodSync(at(path), 0o755);
    const found = await find();
    expect(found.map(({ kind }) => kind)).toEqual(["packages", "temporary"]);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      const hidden = real({ procDir: "/proc" });
      expect((await find(hidden)).map(({ kind }) => kind)).toEqual(["packages"]);
      for (const each of found.filter(({ kind }) => kind === "temporary"))
        await expect(hidden.remove(each, signal)).rejects.toThrow("some processes are hidden");
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    expect(inTmp()).toEqual(["tmp.0001"]);
  });

  it("leaves directories alone that are not root's, or that others may change", async () => {
    put("tmp/tmp.0001");
    const found = await findOne();
    for (const [path, mode] of [
      [at("tmp"), 0o777],
      [at(), 0o770],
    ] as const) {
      chmodSync(path, mode);
      expect(await find()).toEqual([]);
      await expect(real().remove(found, signal)).rejects.toThrow("is not a directory that only root can write to");
      chmodSync(path, 0o1777);
      expect(await find()).toEqual([found]);
    }
    await expect(real().remove({ ...found, directory: at() }, signal)).rejects.toThrow(
      `nothing may be removed from ${at()}`,
    );
  });

  it("leaves a cache alone in which something else lies", async () => {
    put("cache/a.deb");
    const found = await findOne();
    put("cache/notes.txt");
    expect(await find()).toEqual([{ ...found, foreign: "notes.txt" }]);
    await expect(real().remove(found, signal)).rejects.toThrow("not of the package manager: notes.txt");
    expect(existsSync(at("cache/a.deb"))).toBe(true);
  });

  it("fails with what the package manager says", async () => {
    put("cache/a.deb");
    const cleanup = real({ exec: manager("E: Could not get lock\nE: Unable to lock directory\n") });
    const [found] = await find(cleanup);
    if (found === undefined) throw new Error("nothing was found");
    await expect(cleanup.remove(found, signal)).rejects.toThrow("/bin/true says: E: Could not get lock");
  });

  it("ends with its signal", async () => {
    put("tmp/tmp.0001");
    await expect(real().find(AbortSignal.abort(new Error("given up")))).rejects.toThrow("given up");
  });
});
