import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import type { PresentPackage } from "#domain/ports/packages.ts";
import { PackageFileMissing, PackagesLocked } from "#domain/ports/packages.ts";
import type { SnapshotBackend } from "#domain/ports/snapshots.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { createFakePackageFiles, presentPackage } from "../fakes/package-files.ts";
import { createFakeSnapshotBackend } from "../fakes/snapshot-backend.ts";
import { byBreadth } from "../support/breadth.ts";

const id = "20260101-120000";
const other = "20260102-120000";
const { signal } = new AbortController();
const progress = { step: () => undefined, line: () => undefined };
const transaction = { id: "back-1", progress, etc: "all" } as const;
const app = presentPackage("app", "1");
const update = { name: "app", architecture: "amd64", from: "1", to: "2", isSecurity: false };
const made: string[] = [];
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true });
});

/** A backend and the host that it is of. */
interface Setup {
  readonly backend: SnapshotBackend;
  /** The directory whose files it keeps. */
  readonly etc: string;
  readonly setPackages: (packages: readonly PresentPackage[]) => void;
  readonly packages: () => readonly Pick<PresentPackage, "name" | "version">[];
  readonly write: (path: string, content: string) => void;
  readonly remove: (path: string) => void;
  readonly read: (path: string) => string | undefined;
  readonly damage: () => void;
  /** Leaves a rollback of this transaction as it is when its process is killed. */
  readonly interrupt: (transaction: string) => void;
  readonly interrupted: () => readonly string[];
}

function setUpFake(): Setup {
  const backend = createFakeSnapshotBackend({ packages: [app] });
  const { host } = backend;
  return {
    backend,
    etc: "/etc",
    setPackages: (packages) => Object.assign(host, { packages }),
    packages: () => host.packages,
    write: (path, content) => Object.assign(host, { files: { ...host.files, [path]: content } }),
    remove: (path) => {
      const { [path]: _, ...rest } = host.files;
      host.files = rest;
    },
    read: (path) => host.files[path],
    damage: () => void backend.damaged.add(id),
    interrupt: (each) => void backend.interrupted.add(each),
    interrupted: () => [...backend.interrupted],
  };
}

function setUpReal({
  isBuildable = true,
  aheadBytes,
}: {
  readonly isBuildable?: boolean;
  readonly aheadBytes?: number;
} = {}) {
  const base = mkdtempSync(join(tmpdir(), "steward-snapshots-"));
  made.push(base);
  const etc = join(base, "etc");
  const directory = join(base, "snapshots");
  mkdirSync(etc);
  const files = createFakePackageFiles([app], { isBuildable });
  const attributes = createAttributes({ exec });
  const ports = {
    attributes,
    directory,
    files,
    clock: createFakeClock(),
    etc,
    rebootFlag: join(base, "reboot-required"),
  };
  const backend = createPackageSnapshots({
    ...ports,
    refresh: () => Promise.resolve([]),
    ...(aheadBytes !== undefined && { aheadBytes }),
  });
  const objects = join(directory, "objects");
  return {
    base,
    etc,
    directory,
    files,
    backend,
    setPackages: (packages: readonly PresentPackage[]) => Object.assign(files, { packages }),
    packages: () => files.packages,
    write: (path: string, content: string): void => {
      mkdirSync(dirname(join(etc, path)), { recursive: true });
      writeFileSync(join(etc, path), content);
    },
    remove: (path: string) => rmSync(join(etc, path), { recursive: true }),
    read: (path: string) => (existsSync(join(etc, path)) ? readFileSync(join(etc, path), "utf8") : undefined),
    damage: () => writeFileSync(join(objects, readdirSync(objects)[0] ?? ""), "damaged"),
    interrupt: (each: string) => {
      mkdirSync(join(directory, "work", `rollback-${each}`, "files-1"), { recursive: true, mode: 0o700 });
      writeFileSync(join(directory, "work", `rollback-${each}`, "files-1/app_amd64.deb"), "app");
    },
    interrupted: () => readdirSync(join(directory, "work")).map((name) => name.replace(/^rollback-/, "")),
  };
}

const create = (backend: SnapshotBackend, rest: Partial<Parameters<SnapshotBackend["create"]>[0]> = {}) =>
  backend.create({ id, description: "before", kind: "manual", changes: [update], progress, ...rest }, signal);

describe.each([
  ["fake", setUpFake],
  ["packages", () => setUpReal()],
] as const)("snapshots: %s", (_, setUp: () => Setup) => {
  it("are listed with what they are", async () => {
    const { backend, write } = setUp();
    write("hosts", "localhost");
    expect(await backend.list(signal)).toEqual([]);
    const snapshot = await create(backend, { kind: "before_update", isProtected: true });
    expect(snapshot).toMatchObject({ id, description: "before", kind: "before_update", isProtected: true });
    expect(snapshot).toMatchObject({ packagesCount: 1, sizeBytes: expect.any(Number) });
    expect(snapshot.createdAt).toBe(Date.parse("2026-01-01T00:00:00Z"));
    await create(backend, { id: other });
    const list = await backend.list(signal);
    expect(list.map((each) => [each.id, each.kind, each.isProtected])).toEqual([
      [id, "before_update", true],
      [other, "manual", false],
    ]);
    expect(list[0]).toEqual(snapshot);
  });

  it("have a unique id that is not a path", async () => {
    const { backend } = setUp();
    await create(backend);
    await expect(create(backend)).rejects.toThrow("already");
    for (const bad of ["../20260101-120000", "x", "", "20260101-12000", `${id}/..`]) {
      await expect(create(backend, { id: bad })).rejects.toThrow();
      for (const call of [backend.verify(bad, signal), backend.diff(bad, signal), backend.remove(bad, signal)]) {
        await expect(call).rejects.toThrow(SnapshotUnusable);
      }
      await expect(backend.rollback(bad, transaction, signal)).rejects.toThrow(SnapshotUnusable);
    }
    expect((await backend.list(signal)).map((each) => each.id)).toEqual([id]);
  });

  it("have what has changed since, and undo it", async () => {
    const { backend, etc, setPackages, packages, write, remove, read } = setUp();
    setPackages([app, presentPackage("tool", "5")]);
    write("kept", "same");
    write("changed", "old");
    write("gone", "was here");
    await create(backend);
    expect(await backend.diff(id, signal)).toEqual({ packages: [], files: [] });
    setPackages([presentPackage("app", "2"), presentPackage("tool", "5"), presentPackage("zz", "1")]);
    write("changed", "new");
    remove("gone");
    write("added", "now");
    expect(await backend.diff(id, signal)).toMatchObject({
      packages: [
        { name: "app", architecture: "amd64", from: "1", to: "2" },
        { name: "zz", architecture: "amd64", from: null, to: "1" },
      ],
      files: [
        { path: join(etc, "added"), change: "added" },
        { path: join(etc, "changed"), change: "modified" },
        { path: join(etc, "gone"), change: "removed" },
      ],
    });
    expect(await backend.rollback(id, transaction, signal)).toEqual({
      isDone: true,
      reason: "",
      packages: [
        { name: "app", architecture: "amd64", from: "2", to: "1" },
        { name: "zz", architecture: "amd64", from: "1", to: null },
      ],
      filesRestored: 3,
      filesLeft: [],
      requiresReboot: false,
    });
    const versions = packages().map(({ name, version }) => `${name} ${version}`);
    expect(versions.sort()).toEqual(["app 1", "tool 5"]);
    expect(["kept", "changed", "gone", "added"].map(read)).toEqual(["same", "old", "was here", undefined]);
    expect(await backend.diff(id, signal)).toEqual({ packages: [], files: [] });
    expect((await backend.rollback(id, { ...transaction, id: "back-2" }, signal)).packages).toEqual([]);
  });

  it("require a reboot after libc was rolled back", async () => {
    const { backend, setPackages } = setUp();
    setPackages([presentPackage("libc6", "1")]);
    await create(backend, { changes: [{ ...update, name: "libc6" }] });
    setPackages([presentPackage("libc6", "2")]);
    expect(await backend.rollback(id, transaction, signal)).toMatchObject({ isDone: true, requiresReboot: true });
  });

  it("are gone when they are removed", async () => {
    const { backend, write } = setUp();
    write("hosts", "localhost");
    await create(backend);
    await create(backend, { id: other });
    await backend.remove(id, signal);
    expect((await backend.list(signal)).map((each) => each.id)).toEqual([other]);
    await expect(backend.remove(id, signal)).rejects.toThrow(SnapshotUnusable);
    await backend.verify(other, signal);
  });

  it("report what they have restored until it has been recorded", async () => {
    const { backend, setPackages, write, read } = setUp();
    setPackages([app]);
    write("hosts", "then");
    await create(backend);
    setPackages([presentPackage("app", "2")]);
    write("hosts", "now");
    const first = await backend.rollback(id, transaction, signal);
    expect(first).toMatchObject({ isDone: true, filesRestored: 1, packages: [{ name: "app", from: "2", to: "1" }] });
    expect(await backend.rollback(id, transaction, signal)).toEqual(first);
    await backend.tidy(() => Promise.resolve(), signal);
    const { packages, filesRestored } = await backend.rollback(id, transaction, signal);
    expect([packages, filesRestored, read("hosts")]).toEqual([[], 0, "then"]);
  });

  it("leave nothing of rollbacks that were interrupted, once what these began is over", async () => {
    const { backend, interrupt, interrupted } = setUp();
    await backend.tidy(() => Promise.reject(new Error("there is nothing to wait for")), signal);
    await create(backend);
    interrupt("one");
    interrupt("other");
    // What others may continue with stays.
    await create(backend, { id: other });
    await backend.rollback(id, transaction, signal);
    await backend.remove(other, signal);
    expect(interrupted().toSorted()).toEqual([transaction.id, "one", "other"]);
    const over: string[] = [];
    const settle = (each: string): Promise<void> => {
      expect(interrupted()).toContain(each);
      over.push(each);
      return over.length < 3 ? Promise.resolve() : Promise.reject(new Error("it still runs"));
    };
    await expect(backend.tidy(settle, signal)).rejects.toThrow("it still runs");
    expect(interrupted()).toEqual(["other"]);
    await backend.tidy(() => Promise.resolve(), signal);
    expect(interrupted()).toEqual([]);
    await backend.verify(id, signal);
  });

  it("are refused when they are damaged, and nothing is touched", async () => {
    const { backend, setPackages, packages, write, read, damage } = setUp();
    write("hosts", "localhost");
    await create(backend);
    await backend.verify(id, signal);
    setPackages([presentPackage("app", "2")]);
    write("hosts", "changed");
    damage();
    await expect(backend.verify(id, signal)).rejects.toThrow(SnapshotUnusable);
    await expect(backend.rollback(id, transaction, signal)).rejects.toThrow(SnapshotUnusable);
    expect([packages().map(({ version }) => version), read("hosts")]).toEqual([["2"], "changed"]);
  });
});

describe("snapshots: packages", () => {
  /** Everything below a directory, with modes and contents. */
  const treeOf = (directory: string): readonly string[] =>
    readdirSync(directory, { recursive: true, encoding: "utf8" })
      .sort()
      .map((path) => {
        const stat = lstatSync(join(directory, path));
        const mode = (stat.mode & 0o7777).toString(8);
        if (stat.isSymbolicLink()) return `${path} -> ${readlinkSync(join(directory, path))}`;
        return stat.isFile() ? `${path} ${mode} ${readFileSync(join(directory, path), "utf8")}` : `${path} ${mode}`;
      });

  it("bring back kinds, modes, links and names of all sorts, and never write through a link", async () => {
    const { backend, etc, base, write } = setUpReal();
    writeFileSync(join(base, "outside"), "untouched");
    write('a directory/ü\n"$(x)', "odd");
    write("-rf", "dash");
    write("script", "#!");
    chmodSync(join(etc, "script"), 0o4750);
    write("private/key", "secret");
    chmodSync(join(etc, "private"), 0o700);
    symlinkSync("../outside", join(etc, "link"));
    symlinkSync("nowhere", join(etc, "dangling"));
    mkdirSync(join(etc, "empty"));
    write("becomes-link", "file");
    write("becomes-directory", "file");
    write("directory-to-link/inner", "inner");
    const before = treeOf(etc);
    await create(backend);
    chmodSync(join(etc, "script"), 0o644);
    chmodSync(join(etc, "private"), 0o755);
    rmSync(join(etc, "a directory"), { recursive: true });
    rmSync(join(etc, "empty"), { recursive: true });
    for (const name of ["link", "dangling", "becomes-link", "becomes-directory"]) unlinkSync(join(etc, name));
    write("link", "a file now");
    write("dangling/deep/er", "a directory now");
    symlinkSync("../outside", join(etc, "becomes-link"));
    write("becomes-directory/inner", "x");
    rmSync(join(etc, "directory-to-link"), { recursive: true });
    mkdirSync(join(base, "target"));
    symlinkSync("../target", join(etc, "directory-to-link"));
    expect((await backend.rollback(id, transaction, signal)).reason).toBe("");
    expect(treeOf(etc)).toEqual(before);
    expect(readFileSync(join(base, "outside"), "utf8")).toBe("untouched");
    expect(readdirSync(join(base, "target"))).toEqual([]);
  });

  describe("that are returned to for what transactions touched", () => {
    const touched = { ...transaction, etc: "touched" } as const;
    const app2 = presentPackage("app", "2");

    it("leave foreign changes alone, and report them", async () => {
      const { backend, etc, files, setPackages, write, read, remove } = setUpReal();
      files.owners.set("app.conf", "app").set("tool.conf", "tool");
      for (const path of ["app.conf", "tool.conf", "passwd", "group", "cert.pem", "made.conf"]) write(path, "then");
      await create(backend);
      setPackages([app2]);
      for (const path of ["app.conf", "passwd", "made.conf", "made.d/new"]) write(path, "by the update");
      await backend.recordChanges(id, signal);
      for (const path of ["app.conf", "tool.conf", "passwd", "cert.pem", "foreign"]) write(path, "by others");
      remove("group");
      const left = ["cert.pem", "foreign", "group", "passwd", "tool.conf"].map((path) => join(etc, path));
      const { files: found } = await backend.diff(id, signal);
      expect(found.filter(({ isForeign }) => isForeign).map(({ path }) => path)).toEqual(left);
      const outcome = await backend.rollback(id, touched, signal);
      expect(outcome).toMatchObject({ isDone: true, reason: "", filesRestored: 4, filesLeft: left });
      expect(["app.conf", "made.conf"].map(read)).toEqual(["then", "then"]);
      expect(["passwd", "tool.conf", "cert.pem", "foreign"].map(read)).toEqual(Array(4).fill("by others"));
      expect([existsSync(join(etc, "made.d")), existsSync(join(etc, "group"))]).toEqual([false, false]);
      expect(await backend.rollback(id, touched, signal)).toEqual(outcome);
    });

    it("leave alone what others changed while packages changed, where it belongs to a package that the update left", async () => {
      const { backend, etc, files, setPackages, write, read } = setUpReal();
      files.owners.set("app.conf", "app").set("tool.conf", "tool");
      const tool = presentPackage("tool", "1");
      setPackages([app, tool]);
      for (const path of ["app.conf", "tool.conf", "made.conf"]) write(path, "then");
      await create(backend, { kind: "before_update" });
      setPackages([app2, tool]);
      for (const path of ["app.conf", "made.conf"]) write(path, "by the update");
      write("tool.conf", "by others meanwhile");
      await backend.recordChanges(id, signal);
      expect(await backend.rollback(id, touched, signal)).toMatchObject({
        isDone: true,
        filesRestored: 2,
        filesLeft: [join(etc, "tool.conf")],
      });
      expect(["app.conf", "made.conf", "tool.conf"].map(read)).toEqual(["then", "then", "by others meanwhile"]);
    });

    it("undo a rollback of all files, also of packages that it left", async () => {
      const { backend, files, write, read } = setUpReal();
      files.owners.set("app.conf", "app");
      write("app.conf", "then");
      await create(backend);
      write("app.conf", "by others");
      await create(backend, { id: other, kind: "before_rollback" });
      await backend.rollback(id, transaction, signal);
      expect(read("app.conf")).toBe("then");
      await backend.recordChanges(other, signal);
      await backend.rollback(other, { ...touched, id: "back-2" }, signal);
      expect(read("app.conf")).toBe("by others");
    });

    it("know what later transactions touched, also a rollback, and what came between", async () => {
      const { backend, write, read } = setUpReal();
      for (const path of ["twice", "later", "between"]) write(path, "0");
      const step = async (at: string, ...paths: string[]): Promise<void> => {
        await create(backend, { id: at });
        for (const path of paths) write(path, at);
        await backend.recordChanges(at, signal);
      };
      await step(id, "twice", "between");
      write("between", "by others");
      await step(other, "twice", "later", "between");
      const safety = "20260103-120000";
      await create(backend, { id: safety });
      expect(await backend.rollback(id, touched, signal)).toMatchObject({ isDone: true, filesRestored: 2 });
      expect(["twice", "later", "between"].map(read)).toEqual(["0", "0", other]);
      await backend.recordChanges(safety, signal);
      await backend.rollback(safety, { ...touched, id: "back-2" }, signal);
      expect(["twice", "later", "between"].map(read)).toEqual([other, other, other]);
    });

    it("report that no update is recorded, and restore configuration files all the same", async () => {
      const { backend, files, setPackages, write, read } = setUpReal();
      files.owners.set("app.conf", "app");
      write("app.conf", "then");
      await create(backend);
      setPackages([app2]);
      for (const path of ["app.conf", "other"]) write(path, "now");
      const outcome = await backend.rollback(id, touched, signal);
      expect(outcome).toMatchObject({ isDone: true, reason: expect.stringContaining("no update is recorded") });
      expect(["app.conf", "other"].map(read)).toEqual(["then", "now"]);
    });

    it("undo what a transaction did and nothing of others, whatever both did", async () => {
      const place = fc.constantFrom("a", "b", "d", "d/a", "d/e", "d/e/a", "f/a");
      const change = fc.record({ path: place, what: fc.constantFrom("write", "remove", "folder", "link") });
      const changes = fc.array(change, { maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(changes, changes, changes, async (first, second, third) => {
          const { backend, etc } = setUpReal();
          const apply = (all: typeof first, text: string): void => {
            for (const { path, what } of all) {
              const at = join(etc, path);
              const above = dirname(at);
              try {
                if (what === "remove") rmSync(at, { recursive: true, force: true });
                else mkdirSync(above, { recursive: true });
                if (what === "folder") mkdirSync(at, { recursive: true });
                if (what === "link") symlinkSync(text, at);
                if (what === "write") writeFileSync(at, text);
              } catch {
                // One thing in the place of another: then it stays as it was.
              }
            }
          };
          const pathsOf = (tree: readonly string[]): ReadonlyMap<string, string> =>
            new Map(tree.map((line) => [line.split(" ")[0] ?? "", line]));
          apply(first, "first");
          const then = pathsOf(treeOf(etc));
          await create(backend);
          apply(second, "second");
          await backend.recordChanges(id, signal);
          const left = pathsOf(treeOf(etc));
          apply(third, "third");
          const now = pathsOf(treeOf(etc));
          expect(await backend.rollback(id, touched, signal)).toMatchObject({ isDone: true });
          const after = pathsOf(treeOf(etc));
          for (const path of new Set([...then.keys(), ...now.keys()])) {
            const byOthers = left.get(path) !== now.get(path);
            // What others put there stays. What they left is as it was, unless something of theirs needs it, or is in its way.
            const there = after.get(path);
            if (byOthers && now.has(path) && now.get(path) !== then.get(path)) expect(there).toBe(now.get(path));
            else if (there !== then.get(path)) expect([now.get(path)]).toContain(there);
          }
        }),
        { numRuns: byBreadth(12, 40) },
      );
    });
  });

  it("bring back extended attributes, capabilities and ACLs", async () => {
    const { backend, etc, write, remove, read } = setUpReal();
    const keeper = createAttributes({ exec });
    const text = (value: string): string => Buffer.from(value).toString("base64");
    const acl = { "SCHILY.acl.access": text("user::rw-\nuser:root:r--\ngroup::r--\nmask::r--\nother::---\n") };
    const given = {
      "SCHILY.xattr.security.capability": Buffer.from("0100000200040000000000000000000000000000", "hex").toString(
        "base64",
      ),
      "SCHILY.xattr.user.note": text("a\nb=\0c"),
    };
    const set = async (name: string, attributes: Readonly<Record<string, string>>, content = ""): Promise<void> => {
      const entry = { type: "file", uid: 0, gid: 0, mode: 0o640, mtimeMs: 0, attributes } as const;
      await using directory = await open(etc);
      await keeper.write({ directory, name }, entry, Buffer.from(content));
    };
    await set("both", { ...given, ...acl }, "content");
    await set("lost", given);
    write("gained", "plain");
    write("dir/inner", "x");
    const before = await keeper.read(etc, signal);
    expect(before.get("lost")).toEqual(given);
    expect(Object.keys(before.get("both") ?? {})).toEqual(["SCHILY.acl.access", ...Object.keys(given)]);
    await create(backend);
    expect((await backend.diff(id, signal)).files).toEqual([]);
    for (const name of ["both", "lost"]) remove(name);
    write("lost", "");
    chmodSync(join(etc, "lost"), 0o640);
    await set("gained", given, "plain");
    expect((await backend.diff(id, signal)).files).toMatchObject([
      { path: join(etc, "both"), change: "removed" },
      { path: join(etc, "gained"), change: "modified" },
      { path: join(etc, "lost"), change: "modified" },
    ]);
    expect(await backend.rollback(id, transaction, signal)).toMatchObject({
      isDone: true,
      reason: "",
      filesRestored: 3,
    });
    expect(await keeper.read(etc, signal)).toEqual(before);
    expect([read("both"), lstatSync(join(etc, "both")).mode & 0o777]).toEqual(["content", 0o640]);
  });

  it("leave SELinux labels to the policy: they are neither compared nor kept", async () => {
    const { backend, etc, write } = setUpReal();
    const keeper = createAttributes({ exec });
    const label = async (type: string): Promise<void> => {
      const value = Buffer.from(`system_u:object_r:${type}:s0\0`).toString("base64");
      const entry = { type: "file", uid: 0, gid: 0, mode: 0o644, mtimeMs: 0 } as const;
      await using directory = await open(etc);
      const attributes = { "SCHILY.xattr.security.selinux": value };
      await keeper.write({ directory, name: "labelled" }, { ...entry, attributes }, Buffer.from("text"));
      const words = ["--directory", etc, "--format=posix", "--xattrs", "--xattrs-include=*", "--create", "labelled"];
      expect((await exec(["/usr/bin/tar", ...words])).stdout).toContain(
        `security.selinux=system_u:object_r:${type}:s0`,
      );
    };
    await label("shadow_t");
    write("plain", "text");
    await create(backend);
    await label("etc_t");
    expect((await backend.diff(id, signal)).files).toEqual([]);
    expect(await keeper.read(etc, signal)).toEqual(new Map());
  });

  it("report what was restored before another process took the lock, and fail where it was held from the first", async () => {
    const { backend, files, setPackages, packages } = setUpReal();
    await create(backend);
    setPackages([{ ...app, version: "2.0" }]);
    const { restore } = files;
    const locked = () => Promise.reject(new PackagesLocked("apt holds the lock"));
    Object.assign(files, { restore: locked });
    await expect(backend.rollback(id, transaction, signal)).rejects.toThrow("apt holds the lock");
    Object.assign(files, {
      restore: async (...given: Parameters<typeof restore>) => {
        await restore(...given);
        return locked();
      },
    });
    const again = { ...transaction, id: "again" };
    const outcome = await backend.rollback(id, again, signal);
    expect(outcome).toMatchObject({ isDone: false, reason: "apt holds the lock" });
    expect(outcome.packages).toMatchObject([{ name: app.name, from: "2.0", to: app.version }]);
    expect(packages()).toMatchObject([{ version: app.version }]);
  });

  it("leave excluded files alone", async () => {
    const { backend, write, read } = setUpReal();
    for (const path of ["machine-id", "resolv.conf", "steward/config.yaml"]) write(path, "then");
    await create(backend);
    for (const path of ["machine-id", "resolv.conf", "steward/config.yaml", "mtab"]) write(path, "now");
    expect((await backend.diff(id, signal)).files).toEqual([]);
    await backend.rollback(id, transaction, signal);
    expect(["machine-id", "resolv.conf", "steward/config.yaml", "mtab"].map(read)).toEqual(Array(4).fill("now"));
  });

  it("store each content once, for as long as it is needed, closed to other users", async () => {
    const { backend, directory, write, setPackages } = setUpReal();
    write("one", "same");
    write("two", "same");
    await create(backend);
    const objects = () => readdirSync(join(directory, "objects"));
    expect(objects()).toHaveLength(2);
    write("two", "other");
    setPackages([presentPackage("app", "2")]);
    await create(backend, { id: other, changes: [{ ...update, from: "2", to: "3" }] });
    expect(objects()).toHaveLength(4);
    for (const line of treeOf(directory)) expect(line).toMatch(/ [67]00( |$)/);
    await backend.remove(other, signal);
    expect(objects()).toHaveLength(2);
    await backend.remove(id, signal);
    expect(treeOf(directory).map((line) => line.split(" ")[0])).toEqual(["objects", "packages", "work"]);
  });

  it("take each package file for all snapshots that have its version", async () => {
    const { backend, setPackages, packages } = setUpReal();
    await create(backend, { changes: [] });
    await create(backend, { id: other });
    await backend.remove(other, signal);
    setPackages([presentPackage("app", "2")]);
    expect((await backend.rollback(id, transaction, signal)).isDone).toBe(true);
    expect(packages().map(({ version }) => version)).toEqual(["1"]);
  });

  it("report missing package files before anything is touched, and ask the repository first", async () => {
    const { backend, directory, setPackages, files, write, read } = setUpReal();
    write("hosts", "then");
    await create(backend, { changes: [] });
    setPackages([presentPackage("app", "2")]);
    write("hosts", "now");
    await expect(backend.rollback(id, transaction, signal)).rejects.toThrow("not available: app 1");
    expect(read("hosts")).toBe("now");
    expect(readdirSync(join(directory, "work"))).toEqual([]);
    files.repository.push({ name: "app", architecture: "amd64", version: "1" });
    expect((await backend.rollback(id, transaction, signal)).isDone).toBe(true);
    expect(read("hosts")).toBe("then");
  });

  describe("of packages that cannot be built from what is installed", () => {
    const two = { name: "app", architecture: "amd64", version: "2" };
    const tool = presentPackage("tool", "5");
    const names = (found: readonly { readonly name: string; readonly version: string }[]) =>
      found.map(({ name, version }) => `${name} ${version}`).toSorted();

    it("are partial, or refused where a complete one is demanded", async () => {
      const { backend, files, setPackages } = setUpReal({ isBuildable: false });
      setPackages([app, tool]);
      files.repository.push({ ...tool });
      const changes = [update, { ...update, name: "tool", from: "5" }];
      expect(names(await backend.lacking([app, tool], signal))).toEqual(["app 1"]);
      await expect(create(backend, { changes, mustBeFull: true })).rejects.toThrow(PackageFileMissing);
      expect(await backend.list(signal)).toEqual([]);
      expect(await create(backend, { changes })).toMatchObject({ lacks: ["app"] });
      // An older one of the same version lacks it as well, and neither does once it was found.
      await create(backend, { id: other, changes: [] });
      expect((await backend.list(signal)).map(({ lacks }) => lacks)).toEqual([["app"], ["app"]]);
      await backend.verify(id, signal);
      files.repository.push({ ...app });
      expect(await create(backend, { id: "20260103-120000", changes, mustBeFull: true })).toMatchObject({ lacks: [] });
      expect((await backend.list(signal)).map(({ lacks }) => lacks)).toEqual([[], [], []]);
    });

    it("return what they can where that is requested, and leave the settings of the rest", async () => {
      const { backend, files, setPackages, packages, write, read } = setUpReal({ isBuildable: false });
      setPackages([app, tool]);
      files.repository.push({ ...tool });
      files.owners.set("app.conf", "app").set("tool.conf", "tool");
      for (const path of ["app.conf", "tool.conf"]) write(path, "old");
      await create(backend, { changes: [update, { ...update, name: "tool", from: "5" }] });
      setPackages([presentPackage("app", "2"), presentPackage("tool", "6")]);
      for (const path of ["app.conf", "tool.conf"]) write(path, "new");
      await expect(backend.rollback(id, transaction, signal)).rejects.toThrow("not available: app 1");
      expect(names(packages())).toEqual(["app 2", "tool 6"]);
      expect(await backend.rollback(id, { ...transaction, isPartial: true }, signal)).toMatchObject({
        isDone: true,
        reason: "not returned to, since their files are not available: app 1",
        filesRestored: 1,
      });
      expect(names(packages())).toEqual(["app 2", "tool 5"]);
      expect([read("app.conf"), read("tool.conf")]).toEqual(["new", "old"]);
    });

    it("are full after an update whose files were kept", async () => {
      const { backend, files, directory, setPackages } = setUpReal({ isBuildable: false });
      files.repository.push(two);
      await create(backend);
      await backend.keep([two], { id: "op-1", progress }, signal);
      setPackages([presentPackage("app", "2")]);
      files.repository.length = 0;
      await backend.tidy(() => Promise.resolve(), signal);
      expect(await backend.lacking([two], signal)).toEqual([]);
      const next = { changes: [{ ...update, from: "2", to: "3" }], mustBeFull: true };
      expect(await create(backend, { id: other, ...next })).toMatchObject({ lacks: [] });
      // Kept as long as it is installed or a snapshot needs it.
      await backend.remove(id, signal);
      await backend.remove(other, signal);
      expect(readdirSync(join(directory, "packages"))).toEqual(["app_2_amd64.json"]);
      setPackages([presentPackage("app", "3")]);
      await backend.tidy(() => Promise.resolve(), signal);
      expect(readdirSync(join(directory, "packages"))).toEqual([]);
      expect(readdirSync(join(directory, "objects"))).toEqual([]);
      expect(readdirSync(join(directory, "work"))).toEqual([]);
    });

    it("store files in advance up to a limit, the small ones first", async () => {
      const big = { name: `app-${"x".repeat(200)}`, architecture: "amd64", version: "2" };
      const { backend, files, directory, setPackages } = setUpReal({ isBuildable: false, aheadBytes: 200 });
      files.repository.push(two, big);
      await backend.keep([two, big], { id: "op-1", progress }, signal);
      setPackages([presentPackage("app", "2"), presentPackage(big.name, "2")]);
      await backend.tidy(() => Promise.resolve(), signal);
      expect(readdirSync(join(directory, "packages"))).toEqual(["app_2_amd64.json"]);
    });

    it("keep stored files while the package manager does not answer", async () => {
      const { backend, files, directory } = setUpReal({ isBuildable: false });
      files.repository.push(two);
      await backend.keep([two], { id: "op-1", progress }, signal);
      Object.assign(files, { present: () => Promise.reject(new Error("no answer")) });
      await backend.tidy(() => Promise.resolve(), signal);
      expect(readdirSync(join(directory, "packages"))).toEqual(["app_2_amd64.json"]);
    });
  });

  it("restore packages of which only configuration was left", async () => {
    const { backend, setPackages, packages } = setUpReal();
    const left = presentPackage("left", "7", { state: "configuration", isManual: false });
    setPackages([app, left]);
    expect((await create(backend)).packagesCount).toBe(1);
    setPackages([app]);
    await backend.rollback(id, transaction, signal);
    expect(packages().find(({ name }) => name === "left")).toMatchObject({ state: "configuration", version: "7" });
    setPackages([app, presentPackage("left", "8")]);
    await backend.rollback(id, transaction, signal);
    expect(packages().find(({ name }) => name === "left")).toMatchObject({ state: "configuration", version: "7" });
  });

  it("report a package that cannot be configured, and restore /etc all the same", async () => {
    const { backend, setPackages, files, write, read } = setUpReal();
    write("hosts", "then");
    await create(backend);
    setPackages([presentPackage("app", "2")]);
    write("hosts", "now");
    files.stubborn.add("app");
    const outcome = await backend.rollback(id, transaction, signal);
    expect(outcome).toMatchObject({ isDone: false, reason: "app cannot be set up", filesRestored: 1 });
    expect(outcome.packages).toEqual([{ name: "app", architecture: "amd64", from: "2", to: "1" }]);
    expect(read("hosts")).toBe("then");
  });

  it("are resumed after an interruption, and report all changes", async () => {
    const { backend, setPackages, files, write, read } = setUpReal();
    setPackages([app, presentPackage("tool", "1")]);
    write("hosts", "then");
    await create(backend, { changes: [update, { ...update, name: "tool" }] });
    setPackages([presentPackage("app", "2"), presentPackage("tool", "2")]);
    write("hosts", "now");
    let changes = 0;
    files.onChange = () => {
      changes += 1;
      if (changes === 2) throw new Error("killed");
    };
    await expect(backend.rollback(id, transaction, signal)).rejects.toThrow("killed");
    const outcome = await backend.rollback(id, transaction, signal);
    expect(outcome).toMatchObject({ isDone: true, filesRestored: 1 });
    expect(outcome.packages.map(({ name, from, to }) => [name, from, to])).toEqual([
      ["app", "2", "1"],
      ["tool", "2", "1"],
    ]);
    expect(read("hosts")).toBe("then");
  });

  it("leave no residue when one cannot be taken", async () => {
    const { backend, directory } = setUpReal();
    await expect(create(backend, { changes: [{ ...update, from: "0" }] })).rejects.toThrow("cannot keep app 0");
    expect(await backend.list(signal)).toEqual([]);
    expect(treeOf(directory)).toEqual(["objects 700", "packages 700", "work 700"]);
  });

  it("are shown when they are damaged, so that they can be removed", async () => {
    const { backend, directory, write } = setUpReal();
    write("hosts", "localhost");
    await create(backend);
    await create(backend, { id: other });
    writeFileSync(join(directory, id, "manifest.json"), "{}");
    const [damaged] = await backend.list(signal);
    expect(damaged).toMatchObject({ id, description: expect.stringMatching(/^unusable: .*damaged/), sizeBytes: 0 });
    expect(damaged?.createdAt).toBe(Date.parse("2026-01-01T12:00:00Z"));
    await backend.remove(id, signal);
    await backend.verify(other, signal);
    expect(await backend.list(signal)).toHaveLength(1);
  });

  it("report what of which snapshot is damaged, without the path of the store", async () => {
    const { backend, base, etc, directory, write } = setUpReal();
    write("hosts", "localhost");
    await create(backend);
    const objects = join(directory, "objects");
    const reasons: string[] = [];
    const verify = async () =>
      reasons.push(await backend.verify(id, signal).then(String, (error: Error) => error.message));
    for (const name of readdirSync(objects)) {
      const content = readFileSync(join(objects, name));
      rmSync(join(objects, name));
      await verify();
      writeFileSync(join(objects, name), content, { mode: 0o600 });
    }
    rmSync(join(directory, "packages/app_1_amd64.json"));
    symlinkSync("nowhere", join(directory, "packages/app_1_amd64.json"));
    await verify();
    rmSync(join(directory, id, "manifest.sha256"));
    await verify();
    rmSync(join(directory, "objects"), { recursive: true });
    await verify();
    const lost = "is damaged or lost: its content is not what was kept";
    expect(reasons.sort()).toEqual(
      [
        `${join(etc, "hosts")} of the snapshot ${id} ${lost}`,
        `cannot use what is noted of the package file of app 1 of the snapshot ${id}: it is not a file`,
        "the directory of what all snapshots hold is missing",
        `the hash of the snapshot ${id} is missing`,
        `the package file of app 1 of the snapshot ${id} ${lost}`,
      ].sort(),
    );
    expect((await backend.list(signal)).map(({ description }) => description).join()).not.toContain(base);
  });

  it("are repaired by a new one that shares their content", async () => {
    const { backend, directory, write } = setUpReal();
    write("hosts", "localhost");
    await create(backend);
    for (const name of readdirSync(join(directory, "objects")))
      writeFileSync(join(directory, "objects", name), "damaged");
    await expect(backend.verify(id, signal)).rejects.toThrow("damaged or lost");
    await create(backend, { id: other });
    await backend.verify(id, signal);
    writeFileSync(join(directory, "packages/app_1_amd64.json"), "{");
    expect((await backend.list(signal)).map(({ packagesCount }) => packagesCount)).toEqual([1, 1]);
    await create(backend, { id: "20260103-120000" });
    await backend.verify(id, signal);
  });

  describe("with hostile content", () => {
    const rehash = (directory: string, text: string): void => {
      writeFileSync(join(directory, id, "manifest.json"), text);
      const hash = createHash("sha256").update(text).digest("hex");
      writeFileSync(join(directory, id, "manifest.sha256"), `${hash}  manifest.json\n`);
    };
    const setUp = async () => {
      const setup = setUpReal();
      setup.write("directory/file", "content");
      symlinkSync("file", join(setup.etc, "directory/link"));
      await create(setup.backend);
      mkdirSync(join(setup.base, "canary"));
      writeFileSync(join(setup.base, "canary/file"), "alive");
      const manifest = readFileSync(join(setup.directory, id, "manifest.json"), "utf8");
      return { ...setup, manifest };
    };

    it.each([
      ["a path that leads out", '"path": "directory/file"', '"path": "../canary/file"'],
      ["an absolute path", '"path": "directory/file"', '"path": "/canary/file"'],
      ["a path with a dot", '"path": "directory/file"', '"path": "directory/./file"'],
      ["a path through a link", '"path": "directory/file"', '"path": "directory/link/file"'],
      ["a path that no listed directory has", '"path": "directory/file"', '"path": "elsewhere/file"'],
      ["a path that is kept out", '"path": "directory/file"', '"path": "machine-id"'],
      ["a device", '"type": "file"', '"type": "device"'],
      ["a socket", '"type": "file"', '"type": "socket"'],
      ["a hash that is a path", '"sha256": "', '"sha256": "../'],
      ["a package name that is an option", '"name": "app"', '"name": "--app"'],
      ["a package name that is a path", '"name": "app"', '"name": "../app"'],
      ["a version that is a path", '"version": "1"', '"version": "1/../../x"'],
      ["another format", '"format": 1', '"format": 2'],
      ["another snapshot's manifest", `"id": "${id}"`, `"id": "${other}"`],
      ["a mode that there is not", '"mode": ', '"mode": -'],
      ["no JSON", "{", "["],
    ])("are refused with %s [unsafe-archives]", async (_, from, to) => {
      const { backend, etc, directory, base, manifest, write } = await setUp();
      expect(manifest).toContain(from);
      rehash(directory, manifest.replace(from, to));
      write("directory/file", "now");
      const before = [treeOf(etc), treeOf(join(base, "canary"))];
      await expect(backend.verify(id, signal)).rejects.toThrow(SnapshotUnusable);
      await expect(backend.rollback(id, transaction, signal)).rejects.toThrow(SnapshotUnusable);
      expect([treeOf(etc), treeOf(join(base, "canary"))]).toEqual(before);
    });

    it.each([
      [
        "a directory that is a link",
        (directory: string, base: string) => {
          renameSync(join(directory, id), join(base, "moved"));
          symlinkSync(join(base, "moved"), join(directory, id));
        },
      ],
      [
        "a manifest that is a link",
        (directory: string, base: string) => {
          renameSync(join(directory, id, "manifest.json"), join(base, "moved"));
          symlinkSync(join(base, "moved"), join(directory, id, "manifest.json"));
        },
      ],
      [
        "a manifest that others may write",
        (directory: string) => chmodSync(join(directory, id, "manifest.json"), 0o666),
      ],
      ["a store that others may read", (directory: string) => chmodSync(join(directory, "objects"), 0o755)],
      [
        "a store that is a link",
        (directory: string, base: string) => {
          renameSync(join(directory, "objects"), join(base, "moved"));
          symlinkSync(join(base, "moved"), join(directory, "objects"));
        },
      ],
      [
        "a content that is a link",
        (directory: string, base: string) => {
          const [name = ""] = readdirSync(join(directory, "objects"));
          renameSync(join(directory, "objects", name), join(base, "moved"));
          symlinkSync(join(base, "moved"), join(directory, "objects", name));
        },
      ],
      [
        "a package file of another package",
        (directory: string) => {
          const path = join(directory, "packages/app_1_amd64.json");
          const text = JSON.stringify({ name: "other", architecture: "amd64", version: "1" });
          const sha256 = createHash("sha256").update(text).digest("hex");
          writeFileSync(join(directory, "objects", sha256), text, { mode: 0o600 });
          writeFileSync(path, JSON.stringify({ sha256, size: text.length, origin: "cache" }));
        },
      ],
      [
        "a corrupt note of a package file",
        (directory: string) => {
          writeFileSync(join(directory, "packages/app_1_amd64.json"), '{"sha256":"../x","size":1,"origin":"cache"}');
        },
      ],
    ])("are refused with %s", async (_, spoil: (directory: string, base: string) => void) => {
      const { backend, etc, directory, base, write, setPackages, packages } = await setUp();
      spoil(directory, base);
      setPackages([presentPackage("app", "2")]);
      write("directory/file", "now");
      const before = treeOf(etc);
      const refusal = await backend.rollback(id, transaction, signal).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(SnapshotUnusable);
      // Where the service keeps them is nobody's business.
      expect([String(refusal), ...(await backend.list(signal)).map((each) => each.description)].join()).not.toContain(
        base,
      );
      expect([treeOf(etc), packages().map(({ version }) => version)]).toEqual([before, ["2"]]);
    });

    it("are refused for any damage of the manifest", async () => {
      const { backend, directory, manifest } = await setUp();
      const bytes = Buffer.from(manifest);
      await fc.assert(
        fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
          const damaged = Buffer.from(bytes);
          damaged[at] = (bytes[at] ?? 0) ^ change;
          writeFileSync(join(directory, id, "manifest.json"), damaged);
          await expect(backend.verify(id, signal)).rejects.toThrow(SnapshotUnusable);
        }),
      );
    });

    it("never reach anything outside, whatever a manifest says that has the right hash [unsafe-archives]", async () => {
      const { backend, base, directory, manifest } = await setUp();
      const canary = treeOf(join(base, "canary"));
      const names = fc.constantFrom(
        "..",
        ".",
        "",
        "/",
        "canary",
        "directory",
        "link",
        "file",
        "../canary",
        "\0",
        "directory/link",
      );
      const path = fc.array(names, { maxLength: 4 }).map((parts) => parts.join("/"));
      const value = fc.oneof(path, fc.jsonValue(), fc.constantFrom("link", "folder", "file", 0o777, 0, -1, null));
      const keys = fc.constantFrom("path", "type", "target", "mode", "sha256", "uid", "size", "mtimeMs");
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(fc.nat(3), keys, value), { minLength: 1, maxLength: 4 }), async (edits) => {
          const changed = JSON.parse(manifest) as { etc: Record<string, unknown>[] };
          for (const [at, key, to] of edits) Object.assign(changed.etc[at % changed.etc.length] ?? {}, { [key]: to });
          // Only root may give files away; what is tried here is where they go.
          for (const entry of changed.etc) if (typeof entry["uid"] === "number") entry["uid"] = process.getuid?.();
          // And only root gets into a directory that is closed to its owner.
          for (const entry of changed.etc) if (Number.isSafeInteger(entry["mode"])) entry["mode"] = 0o755;
          rehash(directory, JSON.stringify(changed));
          const outcome = await backend.rollback(id, transaction, signal).catch((error: unknown) => error);
          if (outcome instanceof Error) expect(outcome).toBeInstanceOf(SnapshotUnusable);
          expect(treeOf(join(base, "canary"))).toEqual(canary);
          expect(readdirSync(base).sort()).toEqual(["canary", "etc", "snapshots"]);
        }),
      );
    });
  });
});
