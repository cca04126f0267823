import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { lookHere, type TakeLook } from "#adapters/exec/look.ts";
import { createPluginDirectories, inspectPlugin } from "#adapters/plugins/index.ts";
import type { FoundPlugin, PluginDirectories } from "#domain/ports/plugins.ts";
import { directoryPerTest } from "./support/directories.ts";

const inRoot = directoryPerTest();
let root: string;
beforeEach(() => {
  root = inRoot();
  chmodSync(root, 0o755);
});

const dir = (name = "first"): string => join(root, name);
const at = (...parts: readonly string[]): string => join(dir(), ...parts);

function write(directory: string, manifest: readonly string[] = []): void {
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  const name = directory.split("/").at(-1) ?? "";
  writeFileSync(
    join(directory, "plugin.yaml"),
    [`name: ${name}`, 'version: "1"', "type: command", "exec: run", ...manifest, ""].join("\n"),
    { mode: 0o644 },
  );
  writeFileSync(join(directory, "run"), "#!/bin/sh\necho hello\n", { mode: 0o755 });
}
const open = (now: () => number = Date.now): PluginDirectories =>
  createPluginDirectories({ dirs: [dir(), dir("second")], now, look: lookHere });
const digestOf = (found: FoundPlugin | undefined): string | undefined =>
  found !== undefined && "digest" in found.loaded ? found.loaded.digest : undefined;
const faultOf = (found: FoundPlugin | undefined): string =>
  found === undefined ? "not there" : "fault" in found.loaded ? found.loaded.fault : "no fault";
const faultAt = async (name: string): Promise<string> => faultOf(await open().read(at(name)));

/** A file that uses no space. */
function makeBig(path: string): void {
  writeFileSync(path, "");
  truncateSync(path, 65 * 1024 ** 2);
}

describe("plugin directories", () => {
  it("are found by name with a digest, and are gone when they are removed", async () => {
    const directories = open();
    expect(await directories.find()).toEqual([]);
    for (const name of ["two", "one"]) write(at(name));
    const found = await directories.find();
    expect(found.map(({ name }) => name)).toEqual(["one", "two"]);
    for (const each of found) expect(digestOf(each)).toMatch(/^[0-9a-f]{64}$/);
    expect(await directories.read(found[1]?.path ?? "")).toEqual(found[1]);
    rmSync(at("two"), { recursive: true });
    expect(await directories.read(found[1]?.path ?? "")).toBeUndefined();
    expect((await directories.find()).map(({ name }) => name)).toEqual(["one"]);
  });

  it("that are put away, or are a part of another, cannot be read by their path either", async () => {
    for (const directory of [at("one"), at(".away"), at("away.d", "two"), at("one", "three")]) write(directory);
    const directories = open();
    expect((await directories.find()).flatMap(({ loaded, path }) => ("digest" in loaded ? [path] : []))).toEqual([
      at("one"),
    ]);
    for (const path of [at(".away"), at("away.d", "two"), at("one", "three"), dir(), at("one", ".."), at(".")])
      expect(await directories.read(path)).toBeUndefined();
    expect(faultOf(await directories.read(at("one")))).toBe("no fault");
  });
});

describe("plugin directories that could not be inspected", () => {
  const unread = (fault: string) => ({ loaded: { fault, type: undefined, isUnread: true } });

  it.each([
    ["their directory is silent", "its file system gives no answer", true],
    ["there was no time", "there was no time left to read it", false],
  ])("say so, and not that something is wrong with them, where %s", async (_, fault, isSilent) => {
    const silent = new Set(isSilent ? [dir()] : []);
    const look: TakeLook = () => Promise.resolve({ answers: new Map(), silent, isWhole: false });
    const directories = createPluginDirectories({ dirs: [dir()], now: Date.now, look });
    expect(await directories.find()).toMatchObject([{ path: dir(), ...unread(fault) }]);
  });

  it("say why no process could look at them", async () => {
    const look: TakeLook = () => Promise.reject(new Error("cannot run node: EAGAIN"));
    const directories = createPluginDirectories({ dirs: [dir()], now: Date.now, look });
    expect(await directories.read(at("one"))).toMatchObject({ name: "one", ...unread("cannot run node: EAGAIN") });
  });
});

describe("the digest of a plugin", () => {
  const digest = async (): Promise<string | undefined> => digestOf(await open().read(at("one")));
  const changes: readonly (readonly [string, () => void])[] = [
    ["a content", () => writeFileSync(at("one", "run"), "#!/bin/sh\necho Hello\n")],
    ["a mode", () => chmodSync(at("one", "run"), 0o555)],
    ["a name", () => renameSync(at("one", "lib", "a"), at("one", "lib", "b"))],
    ["a new file", () => writeFileSync(at("one", "lib", "b"), "")],
    ["a new directory", () => mkdirSync(at("one", "lib", "b"))],
    ["a link", () => symlinkSync("a", at("one", "lib", "b"))],
    ["a file that is gone", () => rmSync(at("one", "lib", "a"))],
    [
      "a file that became a link to its equal",
      () => {
        writeFileSync(at("one", "lib", "b"), "a");
        rmSync(at("one", "lib", "a"));
        symlinkSync("b", at("one", "lib", "a"));
      },
    ],
  ];
  it.each(changes)("is another one after %s", async (_, change) => {
    write(at("one"));
    mkdirSync(at("one", "lib"), { mode: 0o755 });
    writeFileSync(at("one", "lib", "a"), "a", { mode: 0o644 });
    const before = await digest();
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(await digest()).toBe(before);
    change();
    const after = await digest();
    expect(after).toMatch(/^[0-9a-f]{64}$/);
    expect(after).not.toBe(before);
  });

  it("does not depend on times, nor on where the directory is", async () => {
    write(at("one"));
    const before = await digest();
    utimesSync(at("one", "run"), 1, 1);
    expect(await digest()).toBe(before);
    mkdirSync(dir("second"), { mode: 0o755 });
    renameSync(at("one"), join(dir("second"), "one"));
    expect(digestOf(await open().read(join(dir("second"), "one")))).toBe(before);
  });

  it("is not made again of a directory that has not changed, once its last change is over", async () => {
    write(at("one"));
    const later = open(() => Date.now() + 60_000);
    const first = await later.read(at("one"));
    expect(await later.read(at("one"))).toBe(first);
    // The same size, and the time of the content put back: the time of the change itself cannot be.
    const { atime, mtime } = statSync(at("one", "run"));
    writeFileSync(at("one", "run"), "#!/bin/sh\necho hullo\n");
    utimesSync(at("one", "run"), atime, mtime);
    const second = await later.read(at("one"));
    expect(digestOf(second)).not.toBe(digestOf(first));
    // What has just changed may change once more at the same time of the clock, and is read each time.
    const now = open(() => Date.now());
    expect(await now.read(at("one"))).not.toBe(await now.read(at("one")));
  });
});

describe("trust in a plugin directory", () => {
  it.each([
    [
      "a directory that others may write",
      () => chmodSync(at("one"), 0o777),
      /^\S+\/one may be changed by others than its owner \(chmod go-w \S+\/one\)$/,
    ],
    [
      "a program that its group may write",
      () => chmodSync(at("one", "run"), 0o775),
      /one\/run may be changed by others .*chmod go-w/,
    ],
    [
      "a manifest that others may write",
      () => chmodSync(at("one", "plugin.yaml"), 0o646),
      /plugin\.yaml may be changed by others/,
    ],
    ["a plugin directory that others may write", () => chmodSync(dir(), 0o777), /first may be changed by others/],
    ["a parent that others may write", () => chmodSync(root, 0o777), /may be changed by others/],
    ["a program that is not there", () => rmSync(at("one", "run")), /one\/run, its exec, is not there$/],
    [
      "a program without the right to be run",
      () => chmodSync(at("one", "run"), 0o644),
      /may not be executed \(chmod a\+rx/,
    ],
    [
      "a program that is a directory",
      () => {
        rmSync(at("one", "run"));
        mkdirSync(at("one", "run"));
      },
      /is not a file itself$/,
    ],
    [
      "a program that is a link to another file",
      () => {
        renameSync(at("one", "run"), at("one", "real"));
        symlinkSync("real", at("one", "run"));
      },
      /is not a file itself$/,
    ],
    [
      "a script that nothing runs",
      () => writeFileSync(at("one", "run"), "echo hello\n"),
      /is neither a program nor a script whose first line says what runs it/,
    ],
    [
      "a script for what is not there",
      () => writeFileSync(at("one", "run"), "#!/usr/bin/nopython -u\n"),
      /is run by \/usr\/bin\/nopython, which is not there/,
    ],
    [
      "a script for what env does not find",
      () => writeFileSync(at("one", "run"), "#!/usr/bin/env -S A=b nopython -u\n"),
      /is run by nopython, which is not there/,
    ],
    [
      "a script whose interpreter others may change",
      () => {
        writeFileSync(at("one", "run"), `#!${join(root, "sh")} -e\n`);
        writeFileSync(join(root, "sh"), "", { mode: 0o755 });
        chmodSync(join(root, "sh"), 0o757);
      },
      /one\/run is run by \S+\/sh: \S+\/sh may be changed by others than its owner \(chmod go-w/,
    ],
    [
      "a script whose interpreter lies where others may put another, behind a link",
      () => {
        mkdirSync(join(root, "open"));
        symlinkSync("/bin/sh", join(root, "open", "sh"));
        chmodSync(join(root, "open"), 0o777);
        symlinkSync("open/sh", join(root, "sh"));
        writeFileSync(at("one", "run"), `#!/usr/bin/env ${join(root, "sh")}\n`);
      },
      /is run by \S+\/sh: \S+\/open may be changed by others/,
    ],
    ["a script from elsewhere", () => writeFileSync(at("one", "run"), "#!/bin/sh\r\n"), /line ends of another system/],
    [
      "a link out of the directory",
      () => symlinkSync("/etc/passwd", at("one", "data")),
      /is a link that leads out of the directory of the plugin, to \/etc\/passwd/,
    ],
    ["a link up", () => symlinkSync("..", at("one", "data")), /is a link that leads out of the directory/],
    ["a link to nothing", () => symlinkSync("gone", at("one", "data")), /is a link that leads to nothing/],
    ["a link to itself", () => symlinkSync("data", at("one", "data")), /is a link that leads to nothing/],
    ["a named pipe", () => execFileSync("mkfifo", [at("one", "pipe")]), /is a named pipe \(remove it\)$/],
    [
      "a pipe for a manifest",
      () => {
        rmSync(at("one", "plugin.yaml"));
        execFileSync("mkfifo", [at("one", "plugin.yaml")]);
      },
      /is a named pipe/,
    ],
    [
      "a link for a manifest, out of the directory",
      () => {
        rmSync(at("one", "plugin.yaml"));
        symlinkSync("/dev/zero", at("one", "plugin.yaml"));
      },
      /leads out of the directory/,
    ],
    ["no manifest", () => rmSync(at("one", "plugin.yaml")), /one has no plugin\.yaml$/],
    ["a long manifest", () => writeFileSync(at("one", "plugin.yaml"), "#".repeat(65_537)), /longer than 64 KiB$/],
    [
      "too many files",
      () => {
        for (let count = 0; count < 2000; count += 1) writeFileSync(at("one", `f${count}`), "");
      },
      /holds more than 2000 files$/,
    ],
    ["too much in them", () => makeBig(at("one", "big")), /holds more than 64 MiB$/],
    [
      "too deep a directory",
      () => mkdirSync(at("one", ...Array.from({ length: 40 }, () => "d")), { recursive: true, mode: 0o755 }),
      /is too deep inside/,
    ],
  ])("refuses %s", async (_, change: () => unknown, fault) => {
    write(at("one"));
    expect(await faultAt("one")).toBe("no fault");
    change();
    expect(await faultAt("one")).toMatch(fault);
    expect(await open().find()).toEqual([
      expect.objectContaining({
        name: "one",
        loaded: expect.objectContaining({ fault: expect.stringMatching(fault) }),
      }),
    ]);
  });

  it("notices an interpreter that others may change now, although the directory is as it was [hostile-plugins]", async () => {
    write(at("one"));
    const sh = join(root, "sh");
    symlinkSync("/bin/sh", sh);
    writeFileSync(at("one", "run"), `#!${sh}\n`);
    const later = open(() => Date.now() + 60_000);
    expect(faultOf(await later.read(at("one")))).toBe("no fault");
    rmSync(sh);
    writeFileSync(sh, "", { mode: 0o755 });
    chmodSync(sh, 0o757);
    expect(faultOf(await later.read(at("one")))).toMatch(/is run by \S+\/sh: .* may be changed by others/);
  });

  it("reports every fault of a directory when it is asked for all", () => {
    write(at("one"), ["timeout: 5h", ...Array.from({ length: 12 }, (_, count) => `x${count}: 1`)]);
    expect(inspectPlugin(at("one"))).toHaveLength(13);
    writeFileSync(at("one", "a"), "");
    for (const name of ["a", "run"]) chmodSync(at("one", name), 0o666);
    symlinkSync("/etc", at("one", "b"));
    execFileSync("mkfifo", [at("one", "c")]);
    chmodSync(dir(), 0o777);
    expect(inspectPlugin(at("one"))).toEqual([
      expect.stringMatching(/first may be changed by others/),
      expect.stringMatching(/one\/a may be changed by others/),
      expect.stringMatching(/one\/b is a link that leads out/),
      expect.stringMatching(/one\/c is a named pipe/),
      expect.stringMatching(/one\/run may be changed by others/),
      ...Array.from({ length: 12 }, (_, count) => expect.stringContaining(`x${count}: unknown setting`)),
      expect.stringMatching(/timeout: must be 1h at most$/),
    ]);
    rmSync(at("one", "plugin.yaml"));
    expect(inspectPlugin(at("one"))).toContainEqual(expect.stringMatching(/one has no plugin\.yaml$/));
    chmodSync(dir(), 0o755);
    write(at("x y"), ["x: 1"]);
    renameSync(at("x y"), at("other"));
    symlinkSync("other", at("x y"));
    expect(inspectPlugin(at("x y"))).toEqual([
      expect.stringMatching(/^the path of its directory has other characters/),
      expect.stringMatching(/is a link \(put the directory itself there\)$/),
      expect.stringMatching(/x: unknown setting$/),
      expect.stringMatching(/name: must look like "backup-age"/),
    ]);
    write(at("two"));
    expect(inspectPlugin(at("two"))).toEqual([]);
  });

  it("refuses a way that leads over a link", async () => {
    write(join(root, "real", "one"));
    symlinkSync(join(root, "real"), dir());
    expect(await faultAt("one")).toBe(`${dir()} is a link (name the directory that it leads to in plugins.dirs)`);
  });

  it("takes a link within the directory", async () => {
    write(at("one"));
    symlinkSync("run", at("one", "other"));
    expect(await faultAt("one")).toBe("no fault");
  });

  it("refuses a socket", async () => {
    write(at("one"));
    const server = createServer().listen(at("one", "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    expect(await faultAt("one")).toMatch(/is a socket \(remove it\)$/);
    server.close();
  });

  it.runIf(process.getuid?.() === 0)(
    "refuses what belongs to another user, the directory or something in it",
    async () => {
      write(at("one"));
      chownSync(at("one", "run"), 1234, 0);
      expect(await faultAt("one")).toMatch(/run belongs to user 1234, and has to belong to root \(chown root/);
      chownSync(at("one", "run"), 0, 0);
      chownSync(at("one"), 1234, 0);
      expect(await faultAt("one")).toMatch(/one belongs to user 1234/);
      chownSync(at("one"), 0, 0);
      chownSync(dir(), 1234, 0);
      expect(await faultAt("one")).toMatch(
        /first belongs to user 1234, .* \(copy the plugin to a plugin directory: \/etc\/steward\/plugins/,
      );
    },
  );

  it.runIf(process.getuid?.() === 0)(
    "refuses what the plugin's own user could not read, unless it is root",
    async () => {
      write(at("one"));
      chmodSync(at("one", "run"), 0o750);
      expect(await faultAt("one")).toMatch(/run is closed to the user that the plugin runs as \(chmod o\+rx/);
      chmodSync(at("one", "run"), 0o755);
      chmodSync(dir(), 0o750);
      expect(await faultAt("one")).toMatch(
        /first is closed to the user that the plugin runs as \(copy the plugin to a plugin directory: \/etc\/steward\/plugins/,
      );
      chmodSync(dir(), 0o755);
      chmodSync(at("one"), 0o750);
      expect(await faultAt("one")).toMatch(/one is closed .* \(chmod o\+x \S+one\)/);
      write(at("one"), ["permissions: { user: root }"]);
      expect(await faultAt("one")).toBe("no fault");
    },
  );

  it("takes its own user's for a service that is not root", async () => {
    write(at("one"));
    const uid = process.getuid?.() ?? 0;
    const other = createPluginDirectories({ dirs: [dir()], now: Date.now, look: lookHere, owner: { uid: uid + 1 } });
    const fault = faultOf(await other.read(at("one")));
    if (uid === 0) expect(fault).toBe("no fault");
    else expect(fault).toMatch(/belongs to user/);
  });
});

describe("plugin directories with odd names [hostile-file-names]", () => {
  it("are listed as text, and never loaded [hostile-file-names]", async () => {
    for (const name of ["a\nb", "\u001b[2Jx", "x y", "\u202egnp", "-rf", "$(id)"]) write(at(name));
    const found = await open().find();
    expect(found.map(({ name }) => name).sort()).toEqual(
      ["$(id)", "-rf", "a\ufffdb", "x y", "\ufffd[2Jx", "\ufffdgnp"].sort(),
    );
    for (const each of found.filter(({ name }) => name !== "-rf")) {
      expect(faultOf(each)).toMatch(/^the path of its directory has other characters than/);
      expect(each.path).not.toMatch(/\p{Cc}|\p{Cf}/u);
    }
  });

  it("are shown as text too where they are inside of a plugin", async () => {
    write(at("one"));
    symlinkSync("/etc/passwd", at("one", "\u001b[2J\u202e\n"));
    const faults = [await faultAt("one"), ...inspectPlugin(at("one"))];
    for (const fault of faults) {
      expect(fault).toContain(`${at("one")}/\ufffd[2J\ufffd\ufffd is a link that leads out`);
      expect(fault).not.toMatch(/\p{Cc}|\p{Cf}/u);
    }
  });

  it("that are links are not followed, and files beside them are none", async () => {
    write(join(root, "elsewhere", "one"));
    mkdirSync(dir(), { mode: 0o755 });
    symlinkSync(join(root, "elsewhere", "one"), at("linked"));
    symlinkSync("/nonexistent", at("dangling"));
    writeFileSync(at("README"), "");
    mkdirSync(at(".git"));
    const found = await open().find();
    expect(found.map((each) => [each.name, faultOf(each)])).toEqual([
      ["dangling", expect.stringMatching(/is a link \(put the directory itself there\)$/)],
      ["linked", expect.stringMatching(/is a link \(put the directory itself there\)$/)],
    ]);
  });

  it("below a directory that cannot be read are reported as one fault", async () => {
    symlinkSync("first", dir());
    write(join(dir("second"), "one"));
    const found = await open().find();
    expect(found.map((each) => [each.path, faultOf(each)])).toEqual([
      [dir(), expect.stringMatching(/ELOOP/)],
      [join(dir("second"), "one"), "no fault"],
    ]);
  });

  it("are read only where plugins are", async () => {
    write(at("one"));
    write(join(root, "elsewhere", "one"));
    const directories = open();
    for (const path of ["/etc", join(root, "elsewhere", "one"), dir(), `${dir()}/../elsewhere/one`, ""]) {
      const found = await directories.read(path);
      expect([path, found === undefined || "fault" in found.loaded]).toEqual([path, true]);
    }
  });
});

describe("two plugins of one name", () => {
  it("are the first one, in the order of the settings, and a fault", async () => {
    write(at("one"));
    write(join(dir("second"), "one"));
    write(at("zero"));
    writeFileSync(at("zero", "plugin.yaml"), readFileSync(at("one", "plugin.yaml")));
    const found = await open().find();
    expect(found.map((each) => [each.path, faultOf(each)])).toEqual([
      [at("one"), "no fault"],
      [at("zero"), `${at("one")} has this name too, and comes first (change name in ${at("zero")}/plugin.yaml)`],
      [join(dir("second"), "one"), expect.stringContaining(`${at("one")} has this name too`)],
    ]);
  });
});
