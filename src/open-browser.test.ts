import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBrowser } from "./open-browser.ts";

let directory: string;
let runtime: string;
let bin: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-browser-"));
  [runtime, bin] = [join(directory, "runtime"), join(directory, "bin")];
  for (const each of [runtime, bin]) mkdirSync(each, { mode: 0o700 });
  writeFileSync(join(bin, "xdg-open"), "");
  chmodSync(join(bin, "xdg-open"), 0o755);
});
afterEach(() => rmSync(directory, { recursive: true }));

const url = "http://localhost:8470/console/#code=stc_1";

async function open(rest: Readonly<Record<string, string | undefined>> = {}, address = url, fault?: Error) {
  const started: (readonly string[])[] = [];
  const environment = { DISPLAY: ":0", PATH: bin, XDG_RUNTIME_DIR: runtime, ...rest };
  const start = (argv: readonly string[]): Promise<void> => {
    started.push(argv);
    return fault === undefined ? Promise.resolve() : Promise.reject(fault);
  };
  await openBrowser(address, { environment, now: () => Date.now(), start });
  return started;
}

describe("opening a browser", () => {
  it("hands over a private file, also with a hostile address", async () => {
    const hostile = `http://localhost:8470/"><script>alert(1)</script>/console/?a=1&b='#code=stc_1`;
    const [argv] = await open({}, hostile);
    const [name = ""] = readdirSync(runtime);
    expect(argv).toEqual([join(bin, "xdg-open"), `file://${join(runtime, name)}`]);
    const text = readFileSync(join(runtime, name), "utf8");
    expect(text).not.toContain("<script");
    expect(text).toContain("#code=stc_1");
  });

  it("is refused without a desktop, a program or a private directory", async () => {
    const link = join(directory, "link");
    symlinkSync(runtime, link);
    for (const [environment, why] of [
      [{ DISPLAY: undefined }, "there is no desktop here"],
      [{ DISPLAY: "", WAYLAND_DISPLAY: "" }, "there is no desktop here"],
      [{ PATH: `bin::.:${directory}` }, "there is no xdg-open in PATH"],
      [{ PATH: undefined }, "there is no xdg-open in PATH"],
      [{ XDG_RUNTIME_DIR: undefined }, "XDG_RUNTIME_DIR names no directory"],
      [{ XDG_RUNTIME_DIR: "runtime" }, "XDG_RUNTIME_DIR names no directory"],
      [{ XDG_RUNTIME_DIR: link }, "is not a directory that only this user can open"],
      [{ XDG_RUNTIME_DIR: join(directory, "none") }, "is not a directory that only this user can open"],
    ] as const)
      await expect(open(environment)).rejects.toThrow(new RegExp(`${why}.*\\(open the address above yourself\\)`));
    for (const mode of [0o750, 0o705, 0o720]) {
      chmodSync(runtime, mode);
      await expect(open()).rejects.toThrow("is not a directory that only this user can open");
    }
    chmodSync(runtime, 0o700);
    await expect(open({}, url, new Error("cannot run it: too many open files"))).rejects.toThrow("too many open files");
    expect(readdirSync(runtime)).toEqual([]);
  });

  it("removes its old files, and none of others", async () => {
    await open();
    const [old = ""] = readdirSync(runtime);
    const past = new Date(Date.now() - 120_000);
    utimesSync(join(runtime, old), past, past);
    writeFileSync(join(runtime, "steward-console-mine.html"), "");
    utimesSync(join(runtime, "steward-console-mine.html"), past, past);
    await open();
    await open();
    const left = readdirSync(runtime);
    expect([left.length, left.includes(old), left.includes("steward-console-mine.html")]).toEqual([3, false, true]);
  });
});
