import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { beforeAll, describe, expect, it } from "vitest";
import { createBackupDirectories } from "#adapters/backup-directories/index.ts";
import { systemClock } from "#adapters/clock/index.ts";
import { createDirectorySizes } from "#adapters/directory-sizes/index.ts";
import { lookApart, lookHere, type TakeLook } from "#adapters/exec/look.ts";
import { createConfigFiles } from "#adapters/packages/config-files.ts";
import { lifetimeOf } from "#adapters/tls/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { certificateFiles } from "#adapters/tls/warnings.ts";
import { directoryPerTest, directoryWith, writeFiles } from "./support/directories.ts";

const { signal } = new AbortController();

describe("directories of backups", () => {
  const time = (hour: number): number => Date.UTC(2026, 0, 1, hour);
  const hours = { "a.tar": 1, "weekly/deep/b.tar": 3, "empty.tar": 5, "c.log": 7, "../outside/secret.tar": 9 };
  const root = directoryWith({ "empty/.keep": "" });
  const directory = join(root, "backups");
  for (const [name, hour] of Object.entries(hours)) {
    writeFiles(directory, { [name]: name === "empty.tar" ? "" : "backup" });
    utimesSync(join(directory, name), time(hour) / 1000, time(hour) / 1000);
  }
  rmSync(join(root, "empty/.keep"));
  symlinkSync(join(root, "outside"), join(directory, "link"));
  symlinkSync(join(root, "outside/secret.tar"), join(directory, "link.tar"));
  const newestIn = async (
    path: string,
    pattern: string,
    hour = 24,
    directories = createBackupDirectories({ look: lookApart }),
  ) => (await directories.newest([{ directory: path, pattern }], time(hour), signal))({ directory: path, pattern });
  const b = { path: "weekly/deep/b.tar", bytes: 6, modifiedAt: time(3) };

  it("have a newest file among those that match, at any depth, without links, empty files and those of the future", async () => {
    expect(await newestIn(directory, "*.tar")).toEqual({ newest: b, isComplete: true });
    expect(await newestIn(directory, "*")).toMatchObject({ newest: { path: "c.log" } });
    expect(await newestIn(directory, "*", 6)).toMatchObject({ newest: b });
  });

  it("have none where nothing matches, and are undefined where they do not exist", async () => {
    expect(await newestIn(join(root, "empty"), "*")).toEqual({ newest: undefined, isComplete: true });
    expect(await newestIn(join(root, "missing"), "*")).toBeUndefined();
  });

  it("are read up to a number of entries", async () => {
    const few = createBackupDirectories({ look: lookHere, mostEntries: 2 });
    expect(await newestIn(directory, "*", 24, few)).toMatchObject({ isComplete: false });
  });

  it("are read together, each with all its patterns, and fail by themselves", async () => {
    const circle = join(root, "circle");
    symlinkSync(circle, circle);
    const wanted = [directory, directory, circle].map((path, at) => ({
      directory: path,
      pattern: at === 0 ? "*.tar" : "*.log",
    }));
    let looks = 0;
    const look: TakeLook = (...given) => {
      looks += 1;
      return lookHere(...given);
    };
    const found = await createBackupDirectories({ look }).newest(wanted, time(24), signal);
    const shown = (at: number) => found(wanted[at] ?? { directory: "", pattern: "" });
    expect([shown(0)?.newest?.path, shown(1)?.newest?.path, looks]).toEqual(["weekly/deep/b.tar", "c.log", 1]);
    expect(() => shown(2)).toThrow("ELOOP");
  });

  it("that give no answer, and those not read because of them, are named", async () => {
    const look: TakeLook = () =>
      Promise.resolve({ answers: new Map(), silent: new Set(["/srv/silent"]), isWhole: false });
    const directories = createBackupDirectories({ look });
    await expect(newestIn("/srv/silent", "*", 24, directories)).rejects.toThrow("/srv/silent gives no answer");
    await expect(newestIn("/srv/other", "*", 24, directories)).rejects.toThrow("/srv/other was not read, since others");
  });
});

describe("configuration files that a package offers", () => {
  const at = directoryPerTest();
  const offered = async (path = at()) => (await createConfigFiles(path).offered(signal)).map((each) => each.offered);

  it("are what every package manager lays beside a changed file", async () => {
    const names = ["app/a.conf.dpkg-dist", "app/deep/d.ucf-dist", "b.rpmnew", "c.pacnew"];
    writeFiles(at(), Object.fromEntries(names.map((name) => [name, ""])));
    expect((await offered()).toSorted()).toEqual(names.map((name) => at(name)));
    expect(await createConfigFiles(at()).offered(signal)).toContainEqual({
      ...{ file: at("app/a.conf"), offered: at("app/a.conf.dpkg-dist"), changedAt: expect.any(Number) },
    });
  });

  it("are nothing else, nothing that a link leads to, and none where the directory does not exist", async () => {
    const names = ["plain.conf", "app/e.dpkg-old", "f.rpmsave", "dpkg-dist"];
    writeFiles(at(), Object.fromEntries(names.map((name) => [name, ""])));
    mkdirSync(at("directory.rpmnew"));
    symlinkSync("/etc/hostname", at("link.rpmnew"));
    symlinkSync("..", at("app/around"));
    expect([await offered(), await offered(at("none"))]).toEqual([[], []]);
  });

  it("are no longer looked for once the caller has given up", async () => {
    const over = AbortSignal.abort(new Error("over"));
    await expect(createConfigFiles(at()).offered(over)).rejects.toThrow("over");
  });
});

describe("certificates in files", () => {
  const dayMs = 86_400_000;
  /** Certificates count in whole seconds. */
  const now = Math.floor(Date.now() / 1000) * 1000;
  const dates = { subject: "CN=Steward", validFrom: now - dayMs, validTo: now + 397 * dayMs };
  const root = directoryWith();
  const readIn = (name: string) => certificateFiles.read(join(root, name));
  beforeAll(async () => {
    const { cert, key } = await selfSignedPair({ stateDir: root, now });
    writeFiles(root, { "one.pem": cert, "chain.pem": `${key}\nintermediate:\n${cert}\n${cert}`, "key.pem": key });
    writeFileSync(join(root, "one.der"), new X509Certificate(cert).raw);
  });

  it("are read with their dates, PEM or DER, all of a chain", async () => {
    expect([await readIn("one.pem"), await readIn("one.der")]).toEqual([[dates], [dates]]);
    expect(await readIn("chain.pem")).toEqual([dates, dates]);
  });

  it("end where clients trust a root of the same key, if an issuer expires first", async () => {
    const one = readFileSync(join(root, "one.pem"), "latin1");
    const stateDir = join(root, "lasting");
    mkdirSync(stateDir);
    const { cert: lasting } = await selfSignedPair({ stateDir, now: Date.parse("2200-01-01T00:00:00Z") });
    writeFiles(root, {
      "public.pem": [lasting, one, rootCertificates[0], one].join("\n"),
      "private.pem": `${lasting}\n${one}`,
    });
    const found = async (name: string) => (await readIn(name)).map(({ validTo }) => validTo === dates.validTo);
    expect([await found("public.pem"), await found("private.pem")]).toEqual([
      [false, true],
      [false, true],
    ]);
    expect(lifetimeOf(`${lasting}\n${rootCertificates[0]}`)).toEqual(lifetimeOf(lasting));
  });

  it.each(["key.pem", "nowhere.pem"])("fail with the name of the file that has none: %s", async (name) => {
    await expect(readIn(name)).rejects.toThrow(`cannot read ${join(root, name)}`);
  });
});

describe("sizes of directories", () => {
  const root = directoryWith();
  const at = (...names: readonly string[]): string => join(root, ...names);
  const odd = "line\nbreak \u001b[2J";
  for (const name of ["a/deep/deeper", "b", odd]) mkdirSync(at(name), { recursive: true });
  writeFileSync(at("a/deep/deeper/large"), Buffer.alloc(300_000, 1));
  writeFileSync(at("b/small"), Buffer.alloc(10_000, 1));
  linkSync(at("a/deep/deeper/large"), at("b/again"));
  symlinkSync("/usr", at("b/link"));
  writeFileSync(Buffer.concat([Buffer.from(at(odd, "x")), Buffer.from([0xff, 0xfe])]), Buffer.alloc(5_000, 1));
  const sizes = createDirectorySizes({ look: lookApart, clock: systemClock });
  const all = { depth: 16, limit: 1_000, sort: "bytes", writtenSince: 0 } as const;

  it("are those of du, with a file of two names once", async () => {
    const found = await sizes.measure(root, all, signal);
    const text = execFileSync("du", ["-x", "-0", "--block-size=1", root], { encoding: "utf8" });
    const theirs = text
      .split("\0")
      .flatMap((line) => (line === "" ? [] : [/^(\d+)\t(.*)$/s.exec(line)?.slice(1) ?? []]));
    const byPath = new Map(theirs.map(([bytes, path]) => [path, Number(bytes)]));
    expect(found).toMatchObject({ path: root, truncated: null, bytes: byPath.get(root), entries: 10 });
    expect(found.largest.find(({ path }) => path === at(odd))?.bytes).toBe(byPath.get(at(odd)));
    expect(found.largest.filter(({ bytes, isDirectory }) => !isDirectory && bytes > 200_000)).toHaveLength(1);
    expect(found.largest.every(({ isComplete }) => isComplete)).toBe(true);
  });

  it("have as many levels and entries as are wanted", async () => {
    const top = await sizes.measure(`${root}/../${root.split("/").at(-1)}/`, { ...all, depth: 1, limit: 2 }, signal);
    expect([top.path, top.largest.length]).toEqual([root, 2]);
    const none = await sizes.measure(root, { ...all, depth: 0, limit: 10 }, signal);
    expect([none.largest, none.bytes]).toEqual([[], top.bytes]);
  });

  it("are those of directories with most entries, each of which takes an inode", async () => {
    for (let file = 0; file < 6; file += 1) writeFileSync(at("b", `empty-${file}`), "");
    const { largest } = await sizes.measure(root, { ...all, sort: "entries", limit: 2 }, signal);
    expect(largest.map(({ path, entries }) => [path, entries])).toEqual([
      [at("b"), 9],
      [at("a"), 3],
    ]);
    for (let file = 0; file < 6; file += 1) rmSync(at("b", `empty-${file}`));
  });

  it("list files separately that were written since a time, at any level", async () => {
    const [old, since] = [1_000_000_000, 1_500_000_000];
    utimesSync(at("a/deep/deeper/large"), old, old);
    utimesSync(at("b/small"), since, since);
    const one = { ...all, depth: 0, limit: 1, writtenSince: since * 1000 };
    utimesSync(Buffer.concat([Buffer.from(at(odd, "x")), Buffer.from([0xff, 0xfe])]), old, old);
    const { written } = await sizes.measure(root, one, signal);
    expect(written).toEqual([{ path: at("b/small"), bytes: expect.any(Number), modifiedAt: since * 1000 }]);
  });

  it("are none of what is missing, of links and files, of names that are too long, and of links in a circle", async () => {
    symlinkSync(at("circle"), at("circle"));
    for (const path of [at("nothing"), at("b/link"), at("b/small"), at("x".repeat(256)), at("circle/x")])
      await expect(sizes.measure(path, all, signal)).rejects.toMatchObject({ name: "NoDirectory" });
    rmSync(at("circle"));
  });

  it("end with the entries, the time or the caller, and say what is incomplete", async () => {
    const few = createDirectorySizes({ look: lookHere, clock: systemClock, most: { entries: 3, ms: 10_000 } });
    const found = await few.measure(root, all, signal);
    expect(found).toMatchObject({ truncated: "entries", entries: 3 });
    expect(found.largest.some(({ isComplete }) => !isComplete)).toBe(true);
    const late = createDirectorySizes({ look: lookHere, clock: systemClock, most: { entries: 1_000, ms: 0 } });
    expect(await late.measure(root, all, signal)).toMatchObject({ truncated: "time", entries: 0 });
    await expect(sizes.measure(root, all, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  });

  it("do not count what other file systems have, which are not even inspected", async () => {
    const mountinfo = at("a/mountinfo");
    const lines = [`1 0 8:1 / / rw - ext4 /dev/sda1 rw`, `2 1 0:50 / ${at("b")} rw - fuse.bindfs /srv rw`];
    writeFileSync(mountinfo, `${lines.join("\n")}\n`);
    const { largest, otherFileSystems } = await createDirectorySizes({
      look: lookHere,
      clock: systemClock,
      mountinfo,
    }).measure(root, all, signal);
    expect(otherFileSystems).toEqual({ total: 1, paths: [at("b")] });
    expect(largest.filter(({ path }) => path.startsWith(at("b")))).toEqual([]);
    rmSync(mountinfo);
  });

  it("continue without a directory that gives no answer, and are not known where that is the directory itself", async () => {
    const passing =
      (silent: readonly string[]): TakeLook =>
      async ({ look }, input) => {
        const answers = new Map();
        look(input, {
          begin: (path) => !silent.includes(path),
          answer: (path, answer) => void answers.set(path, answer),
        });
        return Promise.resolve({ answers, silent: new Set(silent), isWhole: true });
      };
    const without = (...silent: readonly string[]) =>
      createDirectorySizes({ look: passing(silent), clock: systemClock }).measure(root, all, signal);
    const found = await without(at("a/deep"));
    expect(found).toMatchObject({ silent: [at("a/deep")], unreadable: { total: 1, paths: [at("a/deep")] } });
    expect(found.largest.find(({ path }) => path === at("a"))).toMatchObject({ isComplete: false });
    expect(found.largest.find(({ path }) => path === at("b"))).toMatchObject({ isComplete: true });
    await expect(without(root)).rejects.toMatchObject({
      message: `${root} gives no answer`,
      details: { missing: root, retryable: true },
    });
  });

  it("are not those of a sandbox", async () => {
    const mountinfo = at("a/mountinfo");
    const mount = `9 1 8:1 /tmp/systemd-private-0f-steward.service-x/tmp ${at("b")} rw - ext4 /dev/sda1 rw\n`;
    writeFileSync(mountinfo, mount);
    const boxed = createDirectorySizes({ look: lookHere, clock: systemClock, mountinfo });
    expect((await boxed.measure(root, all, signal)).unreadable).toEqual({ total: 1, paths: [at("b")] });
    await expect(boxed.measure(at("b"), all, signal)).rejects.toMatchObject({ details: { missing: at("b") } });
    rmSync(mountinfo);
  });
});
