import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import type { PluginCall } from "#domain/ports/plugins.ts";
import { createUnitSandbox, type NotEnded } from "./unit.ts";
import { unitProperties } from "./unit-properties.ts";

const runDirectory = mkdtempSync(join(tmpdir(), "steward-units-"));
const ends = join(runDirectory, "ends");
afterAll(() => rmSync(runDirectory, { recursive: true }));

const call: PluginCall = {
  manifest: {
    name: "one",
    version: "1",
    author: "",
    description: "",
    command: ["/etc/steward/plugins/one/run"],
    timeoutMs: 60_000,
    permissions: { user: undefined, network: "none", read: [], write: [], memoryBytes: 2 ** 28, tasks: 8 },
    role: { type: "command", usage: undefined },
  },
  path: "/etc/steward/plugins/one",
  digest: "0".repeat(64),
  args: [],
  stdin: undefined,
};
const never = new AbortController().signal;
const result = (exitCode: number, stderr = ""): CommandResult => ({ exitCode, stdout: "", stderr, truncated: false });

/** What systemd ends of a service that it stops: `systemctl` and `systemd-run` too. */
const killed = (program: string): CommandFailed => new CommandFailed(`cannot run ${program}: killed by SIGTERM`);

/** A systemd with one unit. */
function createSystemd() {
  const waiter = Promise.withResolvers<CommandResult>();
  const asked = Promise.withResolvers<void>();
  /** What the next attempts to stop the unit come to; those after them work. */
  const failures: (CommandFailed | CommandResult)[] = [];
  let unit: string | undefined;
  const systemd = {
    failures,
    waiter,
    /** Settles once the unit was asked for. */
    asked: asked.promise,
    isRunning: false,
    stops: 0,
    /** What happens once the unit is asked for; it begins unless set otherwise. */
    onAsked: (): void => systemd.begin(),
    /** What happens once it is to be stopped before it began. */
    onVain: (): void => undefined,
    begin(): void {
      systemd.isRunning = true;
    },
    end(): void {
      systemd.isRunning = false;
      writeFileSync(join(ends, `${unit}.success.killed.TERM`), "");
      waiter.resolve(result(143));
    },
    stop(): CommandResult {
      systemd.stops += 1;
      const failure = failures.shift();
      if (failure instanceof CommandFailed) throw failure;
      if (failure !== undefined) return failure;
      if (!systemd.isRunning) {
        systemd.onVain();
        return result(5, `Failed to stop ${unit}.service: Unit ${unit}.service not loaded.`);
      }
      systemd.end();
      return result(0);
    },
  };
  const exec: Exec = async ([program, ...args]) => {
    if (program === "systemctl") {
      expect(args).toEqual(["stop", "--no-ask-password", "--", `${unit}.service`]);
      return systemd.stop();
    }
    expect(program).toBe("systemd-run");
    unit = args.find((each) => each.startsWith("--unit="))?.slice("--unit=".length);
    systemd.onAsked();
    asked.resolve();
    return waiter.promise;
  };
  return { systemd, exec };
}

let troubles: NotEnded[];
let systemd: ReturnType<typeof createSystemd>["systemd"];
let run: (signal: AbortSignal) => Promise<unknown>;
beforeEach(() => {
  const made = createSystemd();
  ({ systemd } = made);
  troubles = [];
  const sandbox = createUnitSandbox({
    exec: made.exec,
    hidden: [],
    partOf: undefined,
    filtersAddresses: () => Promise.resolve(true),
    onNotEnded: (trouble) => troubles.push(trouble),
    runDirectory,
    pause: () => new Promise((resolve) => setImmediate(resolve)),
  });
  run = (signal) => sandbox.run(call, signal);
});

const reported = () => troubles.map(({ plugin, error, isTriedAgain }) => [plugin, String(error), isTriedAgain]);

describe("the unit of a plugin", () => {
  it.each([
    ["is killed with the service", killed("systemctl"), /killed by SIGTERM$/],
    [
      "is refused",
      result(1, "Connection timed out\n"),
      /cannot stop steward-plugin-one-.*: systemctl .* 1: Connection/,
    ],
  ])("is stopped when the first attempt %s, which is reported once", async (_, failure, words) => {
    systemd.failures.push(failure, failure);
    const abort = new AbortController();
    const running = run(abort.signal);
    await systemd.asked;
    abort.abort();
    await expect(running).rejects.toThrow("its caller is gone");
    expect(systemd.isRunning).toBe(false);
    expect(reported()).toEqual([["one", expect.stringMatching(words), true]]);
    expect(readdirSync(ends)).toEqual([]);
  });

  it("is stopped however often that fails while it runs", async () => {
    systemd.failures.push(...Array.from({ length: 25 }, () => result(1, "Connection timed out\n")));
    const abort = new AbortController();
    const running = run(abort.signal);
    await systemd.asked;
    abort.abort();
    await expect(running).rejects.toThrow("its caller is gone");
    expect(systemd.isRunning).toBe(false);
    expect(troubles).toHaveLength(1);
  });

  it("is stopped when it starts after it was to stop", async () => {
    const abort = new AbortController();
    systemd.onAsked = () => abort.abort();
    systemd.onVain = () => {
      if (systemd.stops === 1) systemd.begin();
    };
    await expect(run(abort.signal)).rejects.toThrow("its caller is gone");
    expect(systemd.isRunning).toBe(false);
    expect(troubles).toEqual([]);
  });

  it("is stopped when systemd-run is killed first", async () => {
    systemd.failures.push(killed("systemctl"));
    const running = run(never);
    await systemd.asked;
    systemd.waiter.reject(killed("systemd-run"));
    await expect(running).rejects.toThrow("it could not be run: cannot run systemd-run: killed by SIGTERM");
    expect(systemd.isRunning).toBe(false);
    expect(reported()).toEqual([["one", "CommandFailed: cannot run systemctl: killed by SIGTERM", true]]);
  });

  it("is stopped when systemd-run exits without its result", async () => {
    const running = run(never);
    await systemd.asked;
    systemd.waiter.resolve(result(1));
    await expect(running).rejects.toThrow("systemd did not say how it ended");
    expect(systemd.isRunning).toBe(false);
    expect(troubles).toEqual([]);
  });

  it("that cannot be stopped is reported, and given up", async () => {
    systemd.failures.push(...Array.from({ length: 1000 }, () => killed("systemctl")));
    const abort = new AbortController();
    const running = run(abort.signal);
    await systemd.asked;
    abort.abort();
    systemd.waiter.reject(killed("systemd-run"));
    await expect(running).rejects.toThrow("it could not be ended: CommandFailed: cannot run systemctl");
    expect(reported()).toEqual([
      ["one", expect.stringContaining("killed by SIGTERM"), true],
      ["one", expect.stringContaining("killed by SIGTERM"), false],
    ]);
  });

  it("that exits by itself is not stopped", async () => {
    const running = run(never);
    await systemd.asked;
    systemd.end();
    expect(await running).toMatchObject({ exitCode: 143 });
    expect(systemd.stops).toBe(0);
  });
});

it("each process of a plugin is bounded where systemd cannot bound the memory of its unit", () => {
  const place = { ends: "/run/ends", hidden: [], topDirectories: [], topFiles: [] };
  const limits = (boundsMemory: boolean) =>
    unitProperties("unit", call, { ...place, boundsMemory }).filter((each) => each.startsWith("LimitDATA"));
  expect([limits(true), limits(false)]).toEqual([[], ["LimitDATA=268435456"]]);
});
