import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { aptPaths } from "./arguments.ts";
import { createLists, olderReleases, parseSources } from "./lists.ts";

type Line = readonly [address: string, file: string];

const uris = (...sources: readonly Line[]): string =>
  sources
    .map(
      ([address, file]) =>
        `'${address}InRelease' ${file}InRelease 0 \n'${address}main/binary-amd64/Packages.xz' ${file}main_binary-amd64_Packages 0 \n`,
    )
    .join("");

const one = ["http://one.example/dists/stable/", "one.example_dists_stable_"] as const;
const two = ["https://user:secret@two.example/./", "two.example_._"] as const;
const security = ["http://three.example/dists/stable-security/", "three.example_dists_stable-security_"] as const;
const mirrors = ["mirror+file:/etc/apt/mirrors/x.list/dists/stable/", "_etc_apt_mirrors_x.list_dists_stable_"] as const;
const directorySource = ["file:/srv/packages/./", "_srv_packages_._"] as const;
const disc = ["cdrom://[Debian 12 _x_]/dists/stable/", "Debian%2012%20%5fx%5f_dists_stable_"] as const;

describe("sources of apt", () => {
  it("are the enabled ones with their Release files, without credentials and each once", () => {
    const found = parseSources(uris(one, two, mirrors, directorySource, disc, one));
    expect(found.map(({ address, file }) => [address, file])).toEqual([
      one,
      ["https://two.example/./", "two.example_._"],
      mirrors,
      directorySource,
      disc,
    ]);
    expect(parseSources("")).toEqual([]);
  });
});

describe("the age of the package lists of apt", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "steward-lists-test-"));
    mkdirSync(join(root, "lists"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const list = (name: string): string => join(root, "lists", name);
  const at = (sources: readonly Line[], of?: "security") => {
    const exec: Exec = ([program]) =>
      Promise.resolve({
        exitCode: 0,
        stdout: program.endsWith("apt-config") ? `lists='${join(root, "lists")}/'\n` : uris(...sources),
        stderr: "",
        truncated: false,
      });
    const paths = { ...aptPaths, settings: [], lists: "/nonexistent", refreshStamp: join(root, "stamp") };
    return createLists({ exec, paths }).refreshedAt(of);
  };
  let last = 0;
  /** The kernel sets the time of a change; no program does. Each has a later one. */
  const touch = (name: string, content = ""): number => {
    let changedAt = last;
    while (changedAt <= last) {
      writeFileSync(list(name), content);
      changedAt = statSync(list(name)).ctimeMs;
    }
    last = changedAt;
    return changedAt;
  };

  it("is unknown where there are no lists", async () => {
    mkdirSync(list("partial"));
    mkdirSync(list("auxfiles"));
    touch("lock");
    expect(await at([one])).toBe(undefined);
    rmSync(list("."), { recursive: true });
    expect(await at([one])).toBe(undefined);
  });

  it("is that of the enabled source that was left alone for longest", async () => {
    touch("disabled.example_dists_stable_InRelease");
    const first = touch(`${one[1]}InRelease`);
    const second = touch(`${two[1]}Release`);
    touch(`${mirrors[1]}InRelease`);
    touch(`${one[1]}main_binary-amd64_Packages`);
    expect(await at([one, two, mirrors])).toBe(first);
    const third = touch(`${one[1]}InRelease`);
    expect(await at([one, two, mirrors])).toBe(second);
    expect(await at([mirrors, one])).not.toBe(third);
  });

  it("is that of a source with a list of mirrors, wherever that list is", async () => {
    const first = touch(`${mirrors[1]}InRelease`);
    touch(`${one[1]}InRelease`);
    expect(await at([one, mirrors])).toBe(first);
  });

  it("ignores sources on disks and in directories, of which nothing is fetched", async () => {
    touch(`${directorySource[1]}Release`);
    touch(`${disc[1]}Release`);
    symlinkSync("/srv/packages/Release", list("_srv_other_._InRelease"));
    const fetched = touch(`${one[1]}InRelease`);
    const other = ["copy:/srv/other/./", "_srv_other_._"] as const;
    expect(await at([directorySource, disc, other, one])).toBe(fetched);
  });

  it("is that of the directory where no source has a server", async () => {
    touch(`${directorySource[1]}Release`);
    utimesSync(list("."), 1_000, 1_000);
    expect(await at([directorySource])).toBe(1_000_000);
  });

  it("is no older than the last refresh by this service that reached all sources, and takes no other stamp", async () => {
    const fetched = touch(`${one[1]}InRelease`);
    const inFuture = [4_000_000_000, 4_000_000_000] as const;
    for (const name of ["update-stamp", "update-success-stamp"]) {
      writeFileSync(join(root, name), "");
      utimesSync(join(root, name), ...inFuture);
    }
    expect(await at([one])).toBe(fetched);
    writeFileSync(join(root, "stamp"), "");
    utimesSync(join(root, "stamp"), ...inFuture);
    expect(await at([one])).toBe(4_000_000_000_000);
  });

  describe("of security archives", () => {
    it("is that of the oldest of them, by what their Release files say", async () => {
      const label = ["http://four.example/./", "four.example_._"] as const;
      touch(`${one[1]}InRelease`, "Label: Debian\nSuite: stable\n");
      const byLabel = touch(`${label[1]}InRelease`, "Label: Debian-Security\nSuite: x\nSHA256:\n");
      const bySuite = touch(`${security[1]}InRelease`, "Suite: stable-security\n");
      expect(await at([one, label, security], "security")).toBe(byLabel);
      expect(await at([one, security], "security")).toBe(bySuite);
    });

    it("is unknown where one of them never answered", async () => {
      const fetched = touch(`${one[1]}InRelease`);
      const old = ["http://three.example/dists/buster/updates/", "three.example_dists_buster_updates_"] as const;
      for (const each of [security, old]) expect(await at([one, each], "security")).toBe(undefined);
      expect(await at([one, security])).toBe(fetched);
    });

    it("is that of all lists where no source is a security archive", async () => {
      const fetched = touch(`${one[1]}InRelease`, "Suite: stable\n");
      expect(await at([one], "security")).toBe(fetched);
    });
  });
});

describe("a source that gives what is older than before", () => {
  const sources = parseSources(uris(one, two, mirrors, directorySource, disc));
  const older = (names: readonly string[], output = "") => {
    const before = new Map(names.map((name) => [name, "1"]));
    return olderReleases(sources, { before, after: before, output });
  };

  it.each([one, two, mirrors, directorySource])(
    "is one whose signed Release file was not touched: %s",
    (address, file) => {
      const shown = address.replace("user:secret@", "");
      expect(older([`${file}InRelease`])).toEqual([shown]);
      expect(older([`${file}Release`, `${file}Release.gpg`])).toEqual([shown]);
      const [before, after] = ["1", "2"].map((mark) => new Map([[`${file}InRelease`, mark]]));
      if (before === undefined || after === undefined) throw new Error("unreachable");
      expect(olderReleases(sources, { before, after, output: "" })).toEqual([]);
      expect(olderReleases(sources, { before: new Map(), after, output: "" })).toEqual([]);
    },
  );

  it("is distinguished from one that has the same unsigned Release file, which apt does not touch", () => {
    const same =
      "Hit:1 http://one.example stable Release\nHit:2 https://two.example ./ Release\nHit:3 http://m.example stable Release\n";
    const unsigned = [one, two, mirrors].map(([, file]) => `${file}Release`);
    expect(older(unsigned, same)).toEqual([]);
    expect(older(unsigned, same.replaceAll("Hit:", "Get:"))).toHaveLength(3);
    expect(older([`${directorySource[1]}Release`])).toEqual([]);
  });

  it("is not a disc, which is only read when it is added", () => {
    expect(older([`${disc[1]}InRelease`])).toEqual([]);
  });
});
