import { chmodSync, chownSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openConfirmedPlugins } from "#adapters/plugins/index.ts";
import { directoryPerTest } from "./support/directories.ts";

const at = directoryPerTest();
const isRoot = process.getuid?.() === 0;
const group = 12_345;
const plugin = (name: string, digit = "a") => ({
  name,
  version: "1.0.0",
  path: `/etc/steward/plugins/${name}`,
  digest: digit.repeat(64),
  confirmedAt: 1_760_000_000_000,
});

if (!isRoot) process.stdout.write("skipped: root's list of confirmed plugins on disk: this is not root\n");
describe.runIf(isRoot)("root's list of confirmed plugins on disk", () => {
  let directory: string;
  beforeEach(() => {
    chownSync(at(), 0, group);
    chmodSync(at(), 0o750);
    directory = at("confirmed-plugins");
    openConfirmedPlugins(directory).add(plugin("one"));
  });
  const list = () => openConfirmedPlugins(directory);
  const file = (): string => join(directory, readdirSync(directory)[0] ?? "");

  it("is there for another process, can be read by the group of the service, and is changed by root alone", () => {
    list().add(plugin("two"));
    expect(list().all()).toEqual([plugin("one"), plugin("two")]);
    const modes = [directory, file()].map((path) => [statSync(path).mode & 0o7777, statSync(path).gid]);
    expect(modes).toEqual([
      [0o750, group],
      [0o640, group],
    ]);
    expect(list().remove(plugin("one").path)).toBe(true);
    expect(list().remove(plugin("one").path)).toBe(false);
    expect([list().has(plugin("one")), list().has(plugin("two"))]).toEqual([false, true]);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  it("has those that root has confirmed, of that directory and as they were", () => {
    expect([list().has(plugin("one")), list().has(plugin("one", "b"))]).toEqual([true, false]);
    expect(list().has({ ...plugin("one"), path: "/usr/lib/steward/plugins/one" })).toBe(false);
    list().add(plugin("one", "b"));
    expect([list().has(plugin("one")), list().has(plugin("one", "b"))]).toEqual([false, true]);
  });

  it("has nothing where there is none", () => {
    rmSync(directory, { recursive: true });
    expect([list().all(), list().has(plugin("one")), list().remove(plugin("one").path)]).toEqual([[], false, false]);
  });

  it.each<[string, () => void]>([
    ["a file of another user", () => chownSync(file(), 1234, 0)],
    ["a file that its group may write", () => chmodSync(file(), 0o660)],
    [
      "a link",
      () => {
        const path = file();
        renameSync(path, `${directory}.real`);
        symlinkSync(`${directory}.real`, path);
      },
    ],
    ["no JSON", () => writeFileSync(file(), "{")],
    ["another form", () => writeFileSync(file(), '{"path":"/etc/steward/plugins/one"}')],
    ["too much", () => writeFileSync(file(), JSON.stringify({ ...plugin("one"), more: "x".repeat(20_000) }))],
    ["a directory of another user", () => chownSync(directory, 1234, 0)],
    ["a directory that its group may write", () => chmodSync(directory, 0o770)],
  ])("believes nothing of %s", (_, spoil) => {
    const path = file();
    expect(list().has(plugin("one"))).toBe(true);
    spoil();
    expect([path.startsWith(directory), list().has(plugin("one")), list().all()]).toEqual([true, false, []]);
  });

  it("believes nothing of a link in the place of its directory, and writes nothing there", () => {
    renameSync(directory, `${directory}.real`);
    symlinkSync(`${directory}.real`, directory);
    expect(list().has(plugin("one"))).toBe(false);
    expect(() => list().add(plugin("two"))).toThrow(/not a directory that only root can change/);
    expect(readdirSync(`${directory}.real`)).toHaveLength(1);
  });

  it("is not written into a directory that others may change", () => {
    chmodSync(directory, 0o777);
    expect(() => list().add(plugin("two"))).toThrow(/not a directory that only root can change/);
  });
});
