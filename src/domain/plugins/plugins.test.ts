import { beforeEach, describe, expect, it } from "vitest";
import type { EnabledPlugin, PluginDirectories, PluginEnd, PluginSandbox } from "#domain/ports/plugins.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeEnabledPlugins } from "../../../test/fakes/enabled-plugins.ts";
import { createFakePluginDirectories } from "../../../test/fakes/plugin-directories.ts";
import { createHooks } from "./hooks.ts";
import { createPlugins, type Plugins } from "./plugins.ts";

const never = new AbortController().signal;

let directories: ReturnType<typeof createFakePluginDirectories>;
/** What looking into the directories waits for. */
let look: Promise<void>;
/** Ends what runs: all of it is deaf to what ends others. */
let release: (end: PluginEnd) => void;
let calls: number;
let plugins: Plugins;
beforeEach(() => {
  directories = createFakePluginDirectories();
  look = Promise.resolve();
  calls = 0;
  const gate = Promise.withResolvers<PluginEnd>();
  release = gate.resolve;
  const slow: PluginDirectories = {
    find: () => look.then(directories.find),
    read: (path) => look.then(() => directories.read(path)),
  };
  const deaf: PluginSandbox = {
    description: "Nothing ends.",
    run() {
      calls += 1;
      return gate.promise;
    },
    tryStart: () => Promise.resolve(),
  };
  plugins = createPlugins({
    load: () => Promise.resolve({ directories: slow, sandbox: deaf, enabled: createFakeEnabledPlugins() }),
    points: {
      checks: { isTaken: () => false, add: () => () => undefined },
      hooks: { add: () => () => undefined },
    },
    isSafeMode: false,
    clock: createFakeClock(),
    onRun: () => undefined,
    onLoaded: () => undefined,
    onGone: () => undefined,
    onFault: () => undefined,
  });
});

const end: PluginEnd = { exitCode: 0, stdout: "", stderr: "", isTruncated: false };
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const enable = (name: string) => plugins.enable(name, { isConfirmed: false, isDryRun: false });

/** Whether it has settled when all has happened that can. */
async function hasSettled(work: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  void work.then(() => {
    isSettled = true;
  });
  await settle();
  return isSettled;
}

describe("the stop of all plugins", () => {
  beforeEach(async () => {
    directories.put("slow");
    await enable("slow");
  });
  const run = async (): Promise<{ readonly ended: Promise<unknown> }> => {
    const command = await plugins.command("slow");
    return { ended: command.run({}, never).catch((error: unknown) => error) };
  };

  it("waits for running plugins, and lists them until then", async () => {
    expect(plugins.running()).toEqual([]);
    await Promise.all([run(), run()]);
    await settle();
    expect([calls, plugins.running()]).toEqual([2, ["slow"]]);
    const stopped = plugins.stop();
    expect(await hasSettled(stopped)).toBe(false);
    expect(plugins.running()).toEqual(["slow"]);
    release(end);
    await stopped;
    expect(plugins.running()).toEqual([]);
  });

  it("waits for a plugin that is being disabled", async () => {
    await run();
    await settle();
    const disabled = plugins.disable("slow", { isDryRun: false });
    await settle();
    const stopped = plugins.stop();
    expect(await hasSettled(stopped)).toBe(false);
    release(end);
    await stopped;
    expect(await disabled).toMatchObject({ success: true });
  });

  it("prevents a start that has not happened yet", async () => {
    const command = await plugins.command("slow");
    const gate = Promise.withResolvers<void>();
    look = gate.promise;
    const early = command.run({}, never);
    const stopped = plugins.stop();
    const late = command.run({}, never);
    gate.resolve();
    await expect(early).rejects.toThrow("it was ended, since the service stops");
    await expect(late).rejects.toThrow("it was ended, since the service stops");
    await stopped;
    expect(calls).toBe(0);
  });

  it("prevents a plugin that is being enabled from running", async () => {
    directories.put("next");
    const gate = Promise.withResolvers<void>();
    look = gate.promise;
    const enabled = enable("next");
    const stopped = plugins.stop();
    expect(await hasSettled(stopped)).toBe(false);
    gate.resolve();
    await stopped;
    expect(await enabled).toMatchObject({ success: true, plugin: { enabled: true } });
    await expect(plugins.command("next")).rejects.toThrow("cannot run next");
  });
});

describe("enabled hooks whose directory gives no answer", () => {
  const failures: unknown[] = [];
  const faults: string[] = [];
  const subject = { key_id: null };
  const veto = { events: ["pre_update"], onFailure: "veto" } as const;
  const refused = { hook: "freeze", reason: expect.stringContaining("its file system gives no answer") as string };

  /** The hook `freeze`, which agrees. */
  function open(enabled = createFakeEnabledPlugins()) {
    failures.length = 0;
    faults.length = 0;
    const clock = createFakeClock();
    const hooks = createHooks({ clock, onFailure: ({ error }) => failures.push(error) });
    const sandbox: PluginSandbox = {
      description: "All agree.",
      run: () => Promise.resolve(end),
      tryStart: () => Promise.resolve(),
    };
    const opened = createPlugins({
      load: () => Promise.resolve({ directories, sandbox, enabled }),
      points: { checks: { isTaken: () => false, add: () => () => undefined }, hooks },
      isSafeMode: false,
      clock,
      onRun: () => undefined,
      onLoaded: () => undefined,
      onGone: () => undefined,
      onFault: ({ plugin, fault }) => faults.push(`${plugin}: ${fault}`),
    });
    return { opened, hooks, clock, enabled };
  }
  const put = () => directories.put("freeze", { role: { type: "hook", ...veto } });
  /** That it was enabled before the start. */
  function enabledBefore(hook?: EnabledPlugin["hook"]) {
    const { path, loaded } = put();
    const digest = "digest" in loaded ? loaded.digest : "";
    return createFakeEnabledPlugins([
      { name: "freeze", path, digest, enabledAt: 0, ...(hook !== undefined && { hook }) },
    ]);
  }

  it("stay where they are active, and fail until it answers", async () => {
    put();
    const { opened, hooks, enabled } = open();
    await opened.enable("freeze", { isConfirmed: false, isDryRun: false });
    expect(enabled.all()).toMatchObject([{ name: "freeze", hook: veto }]);
    directories.isSilent = true;
    await opened.replace(directories);
    expect(await hooks.ask("pre_update", subject)).toEqual(refused);
    expect(await opened.list()).toMatchObject([
      { name: "freeze", type: "hook", enabled: true, fault: "its file system gives no answer" },
      { name: "plugins", enabled: false },
    ]);
    directories.isSilent = false;
    expect(await hooks.ask("pre_update", subject)).toBeUndefined();
    await opened.stop();
  });

  it.each([
    ["object where they do so when they fail", veto, refused, 1],
    ["do not where they do not then", { ...veto, onFailure: "allow" as const }, undefined, 1],
    ["do not where they are no hooks", null, undefined, 0],
    ["object where nothing is known of them", undefined, refused, 1],
  ])("%s", async (_, hook, answer, count) => {
    directories.isSilent = true;
    const { opened, hooks } = open(enabledBefore(hook));
    await opened.start();
    expect(await hooks.ask("pre_update", subject)).toEqual(answer);
    expect(await hooks.ask("pre_check", subject)).toBeUndefined();
    expect([failures.length, faults]).toEqual([count, ["freeze: its file system gives no answer"]]);
    await opened.stop();
  });

  it("are inspected again until it answers, and then asked", async () => {
    directories.isSilent = true;
    const { opened, hooks, clock } = open(enabledBefore(veto));
    await opened.start();
    await clock.advance(60_000);
    expect(await hooks.ask("pre_update", subject)).toEqual(refused);
    directories.isSilent = false;
    await clock.advance(60_000);
    expect([hooks.names("pre_update"), await hooks.ask("pre_update", subject)]).toEqual([["freeze"], undefined]);
    expect([clock.isSleptBy(), faults]).toEqual([false, ["freeze: its file system gives no answer"]]);
    await opened.stop();
  });

  it("object no longer when they are disabled", async () => {
    directories.isSilent = true;
    const { opened, hooks } = open(enabledBefore(veto));
    await opened.start();
    await opened.disable("freeze", { isDryRun: false });
    expect(await hooks.ask("pre_update", subject)).toBeUndefined();
    await opened.stop();
  });
});
