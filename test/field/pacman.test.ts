import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { parseLog } from "#adapters/packages/pacman/log.ts";
import { parseDescribed } from "#adapters/packages/pacman/records.ts";
import { describeCases } from "./cases.ts";

describeCases("pacman", ({ path, text }) => {
  it("every file is one of those below", () => {
    expect(readdirSync(path("")).toSorted()).toEqual([
      "README.md",
      "log-new-format.log",
      "qi-old.txt",
      "qii-zstd.txt",
      "si-graphicsmagick.txt",
    ]);
  });

  it("log-new-format.log: a transaction of each command, without lines that begin and end one", () => {
    const history = parseLog(text("log-new-format.log"), () => "any");
    const short = history.map(({ commandLine, packages }) => [
      commandLine,
      ...packages.map(({ action, name, from, to }) => `${action} ${name} ${from ?? "-"} ${to ?? "-"}`),
    ]);
    expect(short).toEqual([
      ["pacman -Syu", "install foo - 1.0-1", "upgrade foo 1.0-1 1.1-1"],
      ["pacman -R foo", "remove foo 1.1-1 -"],
      ["pacman -S bar", "install bar - 2.0-1"],
      ["pacman -U foo-1.0-1.pkg.tar.zst", "downgrade foo 1.1-1 1.0-1"],
    ]);
    expect(history.map(({ startedAt, endedAt, error }) => [startedAt, endedAt, error])).toEqual([
      [Date.UTC(2024, 0, 1, 12, 1), Date.UTC(2024, 0, 1, 12, 2), undefined],
      [Date.UTC(2024, 0, 1, 12, 4), Date.UTC(2024, 0, 1, 12, 4), undefined],
      [Date.UTC(2024, 0, 2, 12, 1), Date.UTC(2024, 0, 2, 12, 1), undefined],
      [Date.UTC(2024, 0, 3, 12, 1), Date.UTC(2024, 0, 3, 12, 1), undefined],
    ]);
  });

  it("qi-old.txt: packages as an old pacman describes them", () => {
    const [acl, abcde, ...more] = parseDescribed(text("qi-old.txt"));
    expect(more).toEqual([]);
    expect(acl).toMatchObject({
      name: "acl",
      version: "2.2.52-3",
      architecture: "x86_64",
      summary: "Access control list utilities, libraries and headers",
      section: "",
      installedBytes: 290 * 1024,
      depends: ["attr>=2.4.46"],
      optional: [],
      provides: ["xfsacl"],
    });
    expect(abcde).toMatchObject({
      name: "abcde",
      architecture: "any",
      depends: ["bash", "cd-discid", "wget", "vorbis-tools", "python2-eyed3"],
      provides: [],
    });
    expect(abcde?.optional).toHaveLength(9);
    expect(abcde?.optional[0]).toBe("cdparanoia: Paranoia ripping support [installed]");
  });

  it("qii-zstd.txt: values of several lines belong to their field, and files to none of them", () => {
    const found = parseDescribed(text("qii-zstd.txt"));
    expect(found.map(({ name, version, installedBytes }) => [name, version, installedBytes])).toEqual([
      ["zstd", "1.5.6-1", 1527 * 1024],
      ["apparmor", "3.1.7-4", Math.round(4.11 * 1024 ** 2)],
      ["apulse", "0.1.13-1", Math.round(135.71 * 1024)],
    ]);
    expect(found[1]).toMatchObject({
      depends: ["audit", "bash", "gcc-libs", "glibc", "pam", "python"],
      optional: [
        "perl: for perl bindings [installed]",
        "python-notify2: for aa-notify",
        "python-psutil: for aa-notify [installed]",
        "ruby: for ruby bindings",
      ],
      provides: ["libapparmor.so=1-64"],
    });
  });

  it("si-graphicsmagick.txt: what can be had, with its size and optional dependencies", () => {
    const [info, ...more] = parseDescribed(text("si-graphicsmagick.txt"));
    expect(more).toEqual([]);
    expect(info).toMatchObject({
      repository: "extra",
      name: "graphicsmagick",
      version: "1.3.43-1",
      architecture: "x86_64",
      replaces: [],
      conflicts: [],
      downloadBytes: Math.round(2.58 * 1024 ** 2),
      installedBytes: Math.round(13.97 * 1024 ** 2),
      optional: [
        "jasper: jp2 module",
        "libwmf: wmf module",
        "libxml2: msl, svg, url modules",
        "ghostscript: pdf, ps modules",
        "libheif: heic module",
        "libjxl: jpeg-xl module",
      ],
      provides: [
        "Magick.so",
        "libGraphicsMagickWand.so=2-64",
        "libGraphicsMagick.so=3-64",
        "libGraphicsMagick++-Q16.so",
      ],
    });
    expect(info?.depends).toHaveLength(10);
  });
});
