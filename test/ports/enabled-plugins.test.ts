import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { openEnabledPlugins } from "#adapters/plugins/index.ts";
import type { EnabledPlugin, EnabledPlugins } from "#domain/ports/plugins.ts";
import { directoryPerTest } from "./support/directories.ts";

const at = directoryPerTest();
let troubles: (string | undefined)[] = [];
afterEach(() => {
  troubles = [];
});
const openReal = (): EnabledPlugins =>
  openEnabledPlugins({ stateDir: at(), onTrouble: (_, aside) => void troubles.push(aside) });
const file = (): string => at("enabled.json");

const plugin = (name: string, more: Partial<EnabledPlugin> = {}): EnabledPlugin => ({
  name,
  path: `/etc/steward/plugins/${name}`,
  digest: "a".repeat(64),
  enabledAt: 1_700_000_000_000,
  ...more,
});

describe("the file of enabled plugins", () => {
  it("has the last word on each by name, until it is removed", () => {
    const enabled = openReal();
    expect(enabled.all()).toEqual([]);
    const changed = plugin("one", { digest: "b".repeat(64) });
    for (const each of [plugin("one"), plugin("two"), changed]) enabled.save(each);
    expect(enabled.all()).toEqual([changed, plugin("two")]);
    for (const name of ["one", "one"]) enabled.remove(name);
    expect(enabled.all()).toEqual([plugin("two")]);
  });

  it("has which hook each is, and of no other than is written there", () => {
    const hook = { events: ["post_fix", "pre_update"], onFailure: "veto" } as const;
    const all = [plugin("one", { hook }), plugin("two", { hook: null }), plugin("three")];
    for (const each of all) openReal().save(each);
    expect(openReal().all()).toEqual(all);
    const odd = { ...plugin("odd"), hook: { events: "pre_update", onFailure: "veto" } };
    writeFileSync(file(), JSON.stringify({ plugins: [odd] }));
    expect(openReal().all()).toEqual([plugin("odd")]);
  });

  it("outlives anyone who wrote it, and is for its owner alone", () => {
    openReal().save(plugin("one"));
    openReal().save(plugin("__proto__"));
    expect(openReal().all()).toEqual([plugin("one"), plugin("__proto__")]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(at())).toEqual(["enabled.json"]);
  });

  it.each([
    ["not JSON", "{"],
    ["empty, as a crash may leave a file that was not synced", ""],
    ["another shape", '{"plugins": [{"name": "one"}]}'],
    ["no object", "null"],
  ])("enables nothing when it is damaged, says so and keeps it: %s", (_, text) => {
    writeFileSync(file(), text);
    const enabled = openReal();
    expect(enabled.all()).toEqual([]);
    expect(troubles).toEqual([expect.stringMatching(/enabled\.json\.damaged-[0-9a-f]{8}$/)]);
    expect(readFileSync(troubles[0] ?? "", "utf8")).toBe(text);
    enabled.save(plugin("one"));
    expect(openReal().all()).toEqual([plugin("one")]);
    expect(troubles).toHaveLength(1);
  });

  const planted: readonly (readonly [string, () => void])[] = [
    ["everybody may write", () => chmodSync(file(), 0o666)],
    [
      "is a pipe",
      () => {
        rmSync(file());
        execFileSync("mkfifo", [file()]);
      },
    ],
    ["is endless", () => truncateSync(file(), 2 * 1024 ** 2)],
    // Only root can give a file away.
    ...(process.getuid?.() === 0 ? [["belongs to somebody else", () => chownSync(file(), 1234, 0)] as const] : []),
  ];
  it.each(planted)("enables nothing when somebody may have planted it: one that %s", (_, plant) => {
    openReal().save(plugin("one"));
    plant();
    expect(openReal().all()).toEqual([]);
    expect(troubles).toEqual([expect.stringMatching(/enabled\.json\.damaged-[0-9a-f]{8}$/)]);
  });

  it("is not followed where it is a link", () => {
    const elsewhere = at("elsewhere");
    writeFileSync(elsewhere, JSON.stringify({ plugins: [plugin("one")] }));
    symlinkSync(elsewhere, file());
    const enabled = openReal();
    expect(enabled.all()).toEqual([]);
    enabled.save(plugin("two"));
    expect(JSON.parse(readFileSync(elsewhere, "utf8"))).toEqual({ plugins: [plugin("one")] });
  });

  it("changes nothing when it cannot be written, and leaves nothing half-done", () => {
    const enabled = openReal();
    enabled.save(plugin("one"));
    rmSync(file());
    mkdirSync(file());
    expect(() => enabled.save(plugin("two"))).toThrow(/EISDIR|EEXIST|ENOTEMPTY/);
    expect(() => enabled.remove("one")).toThrow();
    expect(enabled.all()).toEqual([plugin("one")]);
    expect(readdirSync(at())).toEqual(["enabled.json"]);
  });
});
