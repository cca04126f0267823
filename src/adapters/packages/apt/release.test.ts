import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { changelogOf, createRelease, isNewerRelease, parseReleaseHead } from "./release.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-apt-test-"));
});

afterEach(() => rmSync(directory, { recursive: true }));

describe("a release of the distribution", () => {
  const head = `Origin: Debian
Label: Debian
Suite: stable
Version: 12.8
Codename: bookworm
Date: Sat, 09 Nov 2024 10:16:37 UTC
MD5Sum:
 00 1 Version: 99
`;

  it("is parsed from the head of its file", () => {
    const expected = {
      origin: "Debian",
      label: "Debian",
      archive: "stable",
      codename: "bookworm",
      version: "12.8",
      date: "2024-11-09",
    };
    expect(parseReleaseHead(head)).toEqual(expected);
    const signed = `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n${head}`;
    expect(parseReleaseHead(signed)).toEqual(expected);
    expect(parseReleaseHead("SHA256:\nVersion: 99\n")).toEqual({
      origin: "",
      label: "",
      archive: "",
      codename: "",
      version: "",
      date: "",
    });
    fc.assert(fc.property(fc.string(), (any) => void parseReleaseHead(any)));
  });

  it.each([
    ["12.10", "12.9", true],
    ["12.9", "12.10", false],
    ["12.7", "12.7", false],
    ["12", "12.7", false],
    ["12.1", "12", true],
    ["22.04", "22.04", false],
    ["sid", "12", false],
    ["13", "bookworm/sid", false],
  ])("%s is newer than %s: %s", (version, than, expected) => {
    expect(isNewerRelease(version, than)).toBe(expected);
  });

  it("has its part of a changelog", () => {
    const text = `base-files (12.4+deb12u8) bookworm; urgency=medium

  * Change /etc/debian_version to 12.8, for Debian 12.8 point release.

 -- Somebody <s@example.org>  Sat, 09 Nov 2024 10:00:00 +0100

base-files (12.4+deb12u7) bookworm; urgency=medium

  * Change /etc/debian_version to 12.7, for Debian 12.7 point release.
`;
    expect(changelogOf(text, "12.8")).toMatch(/^base-files \(12\.4\+deb12u8\)[\s\S]*2024 10:00:00 \+0100$/);
    expect(changelogOf(text, "12.7")).toMatch(/^base-files \(12\.4\+deb12u7\)/);
    expect(changelogOf(text, "12.80")).toBe("");
    expect(changelogOf(text, "2.8")).toBe("");
  });

  it("is newer only by the distribution's own lists, of what is installed", async () => {
    const files = {
      osRelease: join(directory, "os-release"),
      debianVersion: join(directory, "debian_version"),
      changelog: join(directory, "changelog.gz"),
    };
    const release = createRelease(() => Promise.resolve(directory), files);
    expect(await release()).toBeUndefined();
    writeFileSync(files.osRelease, 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n');
    writeFileSync(files.debianVersion, "12.7\n");
    writeFileSync(join(directory, "a_dists_bookworm_InRelease"), head);
    writeFileSync(
      join(directory, "b_dists_trixie_InRelease"),
      head.replace("12.8", "13.1").replace("bookworm", "trixie"),
    );
    writeFileSync(
      join(directory, "c_dists_bookworm_Release"),
      head.replace("12.8", "99").replace("Origin: Debian", "Origin: Acme"),
    );
    const found = { version: "12.8", releaseDate: "2024-11-09", isSecurity: false };
    expect(await release()).toEqual({ ...found, changelog: "" });
    writeFileSync(files.changelog, gzipSync("base-files (12) x; urgency=low\n\n  * for Debian 12.8\n"));
    expect(await release()).toEqual({ ...found, changelog: "base-files (12) x; urgency=low\n\n  * for Debian 12.8" });
    writeFileSync(files.debianVersion, "12.8\n");
    expect(await release()).toBeUndefined();
  });
});
