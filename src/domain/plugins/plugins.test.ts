import { beforeEach, describe, expect, it } from "vitest";
import type { PluginEnd, PluginFolders, PluginSandbox } from "#domain/ports/plugins.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeEnabledPlugins } from "../../../test/fakes/enabled-plugins.ts";
import { createFakePluginFolders } from "../../../test/fakes/plugin-folders.ts";
import { createPlugins, type Plugins } from "./plugins.ts";

const never = new AbortController().signal;

let folders: ReturnType<typeof createFakePluginFolders>;
/** What looking into the folders waits for. */
let look: Promise<void>;
/** Ends what runs: all of it is deaf to what ends others. */
let release: (end: PluginEnd) => void;
let calls: number;
let plugins: Plugins;
beforeEach(() => {
  folders = createFakePluginFolders();
  look = Promise.resolve();
  calls = 0;
  const gate = Promise.withResolvers<PluginEnd>();
  release = gate.resolve;
  const slow: PluginFolders = {
    find: () => look.then(folders.find),
    read: (path) => look.then(() => folders.read(path)),
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
    load: () => Promise.resolve({ folders: slow, sandbox: deaf, enabled: createFakeEnabledPlugins() }),
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
    folders.put("slow");
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
    folders.put("next");
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
