import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { UnitsUnavailable } from "#domain/ports/units.ts";
import type { Call, Connection } from "./connection.ts";
import { createInstalledFiles } from "./installed.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "installed-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Nothing that a test changes happens at the time that it had before. */
let later = 1_800_000_000;
function changed(path: string): void {
  later += 1;
  utimesSync(path, later, later);
}
const write = (name: string, text = "[Unit]\nDescription=Known\n"): void => {
  writeFileSync(join(directory, name), text);
  changed(directory);
};

const link = (name: string): void => {
  symlinkSync("/dev/null", join(directory, name, "b"));
  changed(join(directory, name));
};

/** A systemd that lists these files, and answers once it is let. */
function start(states: Record<string, string>) {
  const asked: Call[] = [];
  let held: Promise<void> = Promise.resolve();
  let nowMs = 0;
  const call: Connection["call"] = async (message, onReply) => {
    asked.push(message);
    if (message.member === "Get") return onReply([[directory]]);
    const [, patterns] = message.body as [unknown, string[]];
    const rows = Object.entries(states)
      .filter(([name]) => patterns.some((pattern) => name.endsWith(pattern.slice(1))))
      .map(([name, state]) => [join(directory, name), state]);
    await held;
    return onReply([rows]);
  };
  return {
    files: createInstalledFiles({ call, monotonicMs: () => nowMs }),
    states,
    listed: () => asked.filter(({ member }) => member === "ListUnitFilesByPatterns").map(({ body }) => body?.[1]),
    hold: (): ((error?: Error) => void) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      held = promise;
      return (error) => {
        held = Promise.resolve();
        if (error === undefined) resolve();
        else reject(error);
      };
    },
    pass: (ms: number): void => {
      nowMs += ms;
    },
  };
}

type Files = ReturnType<typeof start>["files"];
const timers = async (files: Files) =>
  [...(await files.unitsOf(["timer"])).values()].map(({ name, unitFileState }) => [name, unitFileState]);

it("installed unit files are listed once for each type", async () => {
  write("a.timer");
  const { files, listed } = start({ "a.timer": "enabled", "b.socket": "static", "c.service": "disabled" });
  expect(await timers(files)).toEqual([["a.timer", "enabled"]]);
  const both = await files.unitsOf(["socket", "timer"]);
  expect([...both.keys()].sort()).toEqual(["a.timer", "b.socket"]);
  expect(both.get("a.timer")?.description).toBe("Known");
  const services = await files.units();
  expect([...services.keys()]).toEqual(["c.service"]);
  // What is made of them is rebuilt when this is another one.
  expect(await files.units()).toBe(services);
  expect(listed()).toEqual([["*.timer"], ["*.socket"], ["*.service"]]);
});

it("installed unit files are listed again after a change signal", async () => {
  const { files, states } = start({ "a.timer": "disabled" });
  await timers(files);
  states["a.timer"] = "enabled";
  expect(await timers(files)).toEqual([["a.timer", "disabled"]]);
  files.invalidate();
  expect(await timers(files)).toEqual([["a.timer", "enabled"]]);
});

it("installed unit files are not cached from a listing that a change overtook", async () => {
  const { files, states, hold, listed } = start({ "a.timer": "disabled" });
  const release = hold();
  const early = timers(files);
  await expect.poll(() => listed().length).toBe(1);
  states["a.timer"] = "enabled";
  files.invalidate();
  const late = timers(files);
  await expect.poll(() => listed().length).toBe(2);
  release();
  expect(await late).toEqual([["a.timer", "enabled"]]);
  expect(await early).toEqual([["a.timer", "disabled"]]);
  expect(await timers(files)).toEqual([["a.timer", "enabled"]]);
});

it("a failed listing of installed unit files is not cached", async () => {
  const { files, hold, listed } = start({ "a.timer": "enabled" });
  const release = hold();
  const failing = [timers(files), timers(files)];
  await expect.poll(() => listed().length).toBe(1);
  release(new UnitsUnavailable("lost", true));
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await timers(files)).toEqual([["a.timer", "enabled"]]);
});

it.each([
  ["a file", () => write("b.timer")],
  ["a link that a target wants", () => link("timers.target.wants")],
  ["a drop-in", () => link("a.timer.d")],
])("installed unit files include %s at once without a signal", async (_, change) => {
  for (const name of ["timers.target.wants", "a.timer.d"]) mkdirSync(join(directory, name));
  const { files, states } = start({ "a.timer": "disabled" });
  await timers(files);
  change();
  states["a.timer"] = "enabled";
  expect(await timers(files)).toEqual([["a.timer", "enabled"]]);
});

it("installed services are checked for changes each second", async () => {
  const { files, states, pass } = start({ "a.service": "disabled" });
  await files.units();
  write("b.service");
  states["b.service"] = "static";
  pass(999);
  expect((await files.units()).size).toBe(1);
  pass(1);
  expect((await files.units()).size).toBe(2);
});
