import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { ImageBased, type PackageManager } from "#domain/ports/packages.ts";
import { createFakePackageManager, fakePackage } from "../../../test/fakes/package-manager.ts";
import { findImageTools, onImage, readBootc, readRpmOstree } from "./image.ts";

const { signal } = new AbortController();
const image = (digest: string, version: string | null, timestamp: string | null = null) => ({
  image: { image: "registry.example.org/host:stable", transport: "registry" },
  version,
  timestamp,
  imageDigest: `sha256:${digest}`,
});
const entry = (shown: object, cachedUpdate: object | null = null) => ({
  image: shown,
  cachedUpdate,
  incompatible: false,
  pinned: false,
  ostree: { checksum: "91aeb5bd", deploySerial: 0 },
});
const host = (status: object) => ({ apiVersion: "org.containers.bootc/v1", kind: "BootcHost", status });
const old = image("aaa", "42.1");
const fresh = image("bbb", "42.2", "2026-08-14T10:00:00Z");
const next = { version: "42.2", releaseDate: "2026-08-14", isSecurity: false, changelog: "" };

describe("bootc status", () => {
  it.each([
    ["nothing newer", { booted: entry(old), staged: null }, { next: undefined, isStaged: false }],
    ["an update that it knows of", { booted: entry(old, fresh), staged: null }, { next, isStaged: false }],
    [
      "the cached update that is booted",
      { booted: entry(old, old), staged: null },
      { next: undefined, isStaged: false },
    ],
    ["an image for the next boot", { booted: entry(old), staged: entry(fresh) }, { next, isStaged: true }],
    [
      "an image without a version",
      { booted: entry(old, image("ccc", null)), staged: null },
      { next: { ...next, version: "sha256:ccc", releaseDate: "" }, isStaged: false },
    ],
    ["a system that bootc has not deployed", { booted: null, staged: null }, undefined],
    ["a deployment that bootc cannot manage", { booted: { image: null, incompatible: true } }, undefined],
  ])("reports %s", (_, status, expected) => {
    expect(readBootc(host(status))).toEqual(expected);
  });
});

describe("rpm-ostree status", () => {
  const booted = { booted: true, staged: false, checksum: "d18", version: "38.1", timestamp: 1_681_459_461 };
  const later = { booted: false, staged: true, checksum: "852", version: "38.2", timestamp: 1_682_000_000 };
  const newer = { ...next, version: "38.2", releaseDate: "2023-04-20" };
  it.each([
    ["nothing newer", [booted, { ...later, staged: false }], null, { next: undefined, isStaged: false }],
    ["a deployment for the next boot", [later, booted], null, { next: newer, isStaged: true }],
    [
      "an update that it knows of",
      [booted],
      { checksum: "852", version: "38.2", timestamp: 1_682_000_000 },
      { next: newer, isStaged: false },
    ],
    ["nothing that is booted", [later], null, undefined],
  ])("reports %s", (_, deployments, cached, expected) => {
    expect(readRpmOstree({ deployments, transaction: null, "cached-update": cached })).toEqual(expected);
  });
});

describe("an image-based system", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "steward-image-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const put = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
  };
  const readOnly = "# / was on sda\nUUID=1 / btrfs ro 0 0\nUUID=1 /var btrfs subvol=/@/var 0 0\n";

  it.each([
    ["an ordinary system", { "usr/bin/rpm-ostree": "", "usr/bin/bootc": "" }, []],
    ["bootc", { "run/ostree-booted": "", "usr/bin/bootc": "" }, ["bootc"]],
    ["rpm-ostree", { "run/ostree-booted": "", "usr/bin/rpm-ostree": "" }, ["rpm-ostree"]],
    ["both", { "run/ostree-booted": "", "usr/bin/bootc": "", "usr/bin/rpm-ostree": "" }, ["bootc", "rpm-ostree"]],
    ["ostree alone", { "run/ostree-booted": "" }, ["ostree"]],
    ["MicroOS", { "usr/sbin/transactional-update": "", "etc/fstab": readOnly }, ["transactional-update"]],
    [
      "a writable system with the tool",
      { "usr/sbin/transactional-update": "", "etc/fstab": readOnly.replace(" ro ", " defaults ") },
      [],
    ],
  ])("is recognised: %s", async (_, files, names) => {
    await put(files);
    expect(findImageTools(root).map(({ name }) => name)).toEqual(names);
  });

  /** Answers of tools by program; one that is not named fails. */
  const answering =
    (answers: Readonly<Record<string, unknown>>): Exec =>
    ([program]) => {
      const answer = answers[program];
      const [exitCode, stderr] = answer === undefined ? [1, "error: needs root"] : [0, ""];
      return Promise.resolve({ exitCode, stdout: JSON.stringify(answer ?? ""), stderr, truncated: false });
    };
  async function both(exec: Exec): Promise<{ readonly manager: PackageManager; readonly inner: PackageManager }> {
    await put({ "run/ostree-booted": "", "usr/bin/bootc": "", "usr/bin/rpm-ostree": "" });
    const inner = createFakePackageManager([fakePackage("editor", "1.0")]);
    inner.repository.set("editor", { version: "1.1", isSecurity: true });
    return { manager: onImage(inner, findImageTools(root), exec), inner };
  }

  it("refuses everything that has an effect on packages, and says what to run", async () => {
    const { manager } = await both(answering({}));
    const { plan, lists, holds, transactions, repairs } = manager;
    const { commit, repair } = transactions;
    const changing = { plan, refresh: lists.refresh, set: holds.set, commit, repair, ...repairs };
    for (const [name, call] of Object.entries(changing) as [string, () => Promise<unknown>][])
      await expect(call(), name).rejects.toThrow(ImageBased);
    expect(Object.keys(changing)).toHaveLength(8);
    await expect(manager.oldKernels.plan(signal)).resolves.toMatchObject({ changes: [] });
    for (const name of ["fetch", "prefetch", "restore"] as const) {
      const call = manager.files[name] as () => Promise<unknown>;
      await expect(call(), name).rejects.toThrow(ImageBased);
    }
    await expect(commit({ changes: [], downloadBytes: 0, diskBytes: 0 }, {} as never, signal)).rejects.toThrow(
      "run bootc upgrade or rpm-ostree upgrade, then reboot",
    );
  });

  it("is read by the first tool that has deployed it", async () => {
    const { manager } = await both(answering({ "/usr/bin/bootc": host({ booted: entry(old), staged: entry(fresh) }) }));
    expect(await manager.lists.release(signal)).toEqual(next);
    expect(await manager.restartNeeds(signal)).toMatchObject({ requiresReboot: true });
    expect(await manager.lists.updates(signal)).toEqual({ updates: [], held: [], listsAt: null });
    expect(await manager.installed(signal)).toHaveLength(1);
    const layered = await both(
      answering({
        "/usr/bin/bootc": host({ booted: null }),
        "/usr/bin/rpm-ostree": { deployments: [{ booted: true, checksum: "a", version: "1" }], "cached-update": null },
      }),
    );
    expect(await layered.manager.lists.release(signal)).toBeUndefined();
    expect(await layered.manager.restartNeeds(signal)).toMatchObject({ requiresReboot: false });
  });

  it("is not read where its tool does not answer", async () => {
    const { manager } = await both(answering({}));
    await expect(manager.lists.release(signal)).rejects.toThrow("bootc does not answer: error: needs root");
  });
});
