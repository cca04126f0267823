import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createServiceManager } from "./index.ts";

const settled = { exitCode: 0, stdout: "", stderr: "", truncated: false };

function start(options: { readonly watchdogMs?: number; readonly exec?: Exec } = {}) {
  const clock = createFakeClock();
  const reported: string[] = [];
  const troubles: string[] = [];
  const exec: Exec =
    options.exec ??
    (([program, ...args]) => {
      reported.push([program, ...args].join(" ").replace("/usr/bin/env NOTIFY_SOCKET=/n systemd-notify ", ""));
      return Promise.resolve(settled);
    });
  const manager = createServiceManager({
    variables: { address: "/n", watchdogMs: options.watchdogMs },
    exec,
    clock,
    monotonicUsec: () => 7n,
    onTrouble: ({ message }) => void troubles.push(message),
  });
  /** What was reported since the last look. */
  const messages = async () => {
    await clock.advance(0);
    await manager.close();
    return reported.splice(0);
  };
  return { clock, manager, troubles, messages };
}

const well = () => Promise.resolve(undefined);

describe("the service manager", () => {
  it("is notified of start, readiness and stop", async () => {
    const { manager, messages } = start();
    manager.starting();
    expect(await messages()).toEqual(["STATUS=Starting"]);
    manager.ready(well, () => "Ready");
    expect(await messages()).toEqual(["READY=1 STATUS=Ready"]);
    manager.stopping();
    expect(await messages()).toEqual(["STOPPING=1 STATUS=Stopping"]);
  });

  it("is asked for more time by a slow start, up to a limit", async () => {
    const { manager, clock, messages } = start();
    manager.starting();
    await messages();
    await clock.advance(20_000);
    expect(await messages()).toEqual(["EXTEND_TIMEOUT_USEC=30000000", "EXTEND_TIMEOUT_USEC=30000000"]);
    for (let count = 0; count < 60; count += 1) await clock.advance(10_000);
    await messages();
    await clock.advance(60_000);
    expect(await messages()).toEqual([]);
  });

  it("gets two watchdog pings per interval, and the status when it changes", async () => {
    const { manager, clock, messages } = start({ watchdogMs: 30_000 });
    let words = "Ready";
    manager.ready(well, () => words);
    expect(await messages()).toEqual(["READY=1 STATUS=Ready", "WATCHDOG=1"]);
    await clock.advance(15_000);
    expect(await messages()).toEqual(["WATCHDOG=1"]);
    words = "Ready, unhealthy: ops";
    await clock.advance(15_000);
    expect(await messages()).toEqual(["WATCHDOG=1 STATUS=Ready, unhealthy: ops"]);
    manager.stopping();
    await messages();
    await clock.advance(60_000);
    expect(await messages()).toEqual([]);
  });

  it("gets a changed status before the next watchdog ping if that is far", async () => {
    const { manager, clock, messages } = start({ watchdogMs: 120_000 });
    let words = "Ready";
    manager.ready(well, () => words);
    expect(await messages()).toEqual(["READY=1 STATUS=Ready", "WATCHDOG=1"]);
    words = "Ready, unhealthy: ops";
    await clock.advance(30_000);
    expect(await messages()).toEqual(["STATUS=Ready, unhealthy: ops"]);
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(30_000);
      expect(await messages()).toEqual(["WATCHDOG=1"]);
      await clock.advance(30_000);
      expect(await messages()).toEqual([]);
    }
    manager.stopping();
  });

  it("gets no watchdog ping while the service is unhealthy, and one soon after", async () => {
    const { manager, clock, messages, troubles } = start({ watchdogMs: 30_000 });
    let trouble: string | undefined = "own address does not answer";
    manager.ready(
      () => Promise.resolve(trouble),
      () => "Ready",
    );
    await clock.advance(10_000);
    expect((await messages()).join()).not.toContain("WATCHDOG");
    expect(troubles).toContain("cannot send the watchdog ping: own address does not answer");
    trouble = undefined;
    await clock.advance(15_000 / 8);
    expect(await messages()).toEqual(["WATCHDOG=1"]);
  });

  it("is notified of a reload, and not of one before readiness or after the stop", async () => {
    const { manager, messages } = start();
    const order: string[] = [];
    const work = () => {
      order.push("work");
      return Promise.resolve();
    };
    await manager.reload(work);
    expect(await messages()).toEqual([]);
    manager.ready(well, () => "Ready");
    await messages();
    await manager.reload(work);
    expect(await messages()).toEqual(["RELOADING=1 MONOTONIC_USEC=7", "READY=1"]);
    manager.stopping();
    await messages();
    await manager.reload(work);
    expect(await messages()).toEqual([]);
    expect(order).toHaveLength(3);
  });

  it("that cannot be notified does not end the service, and is notified again", async () => {
    let exitCode = 1;
    const said: string[] = [];
    const { manager, clock, messages, troubles } = start({
      watchdogMs: 30_000,
      exec: (argv) => {
        if (exitCode === 0) said.push(argv.slice(3).join(" "));
        return Promise.resolve({ ...settled, exitCode, stderr: "no such file\n" });
      },
    });
    manager.ready(well, () => "Ready");
    await messages();
    expect(troubles[0]).toBe("cannot notify the service manager: exit code 1: no such file");
    expect(said).toEqual([]);
    exitCode = 0;
    await clock.advance(1_000);
    await messages();
    expect(said).toEqual(["READY=1 STATUS=Ready", "WATCHDOG=1"]);
  });

  it("gets a lost watchdog ping again soon", async () => {
    let exitCode = 0;
    const said: string[] = [];
    const { manager, clock, messages } = start({
      watchdogMs: 30_000,
      exec: (argv) => {
        said.push(argv.slice(3).join(" "));
        return Promise.resolve({ ...settled, exitCode });
      },
    });
    manager.ready(well, () => "Ready");
    await messages();
    exitCode = 1;
    await clock.advance(15_000);
    await messages();
    exitCode = 0;
    await clock.advance(15_000 / 8);
    await messages();
    expect(said).toEqual(["READY=1 STATUS=Ready", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]);
    await clock.advance(14_999);
    await messages();
    expect(said.slice(4)).toEqual([]);
  });

  it("may be absent, and a reload is still done", async () => {
    const manager = createServiceManager({
      variables: undefined,
      exec: () => Promise.reject(new Error("nothing is to be run")),
      clock: createFakeClock(),
      monotonicUsec: () => 0n,
      onTrouble: (error) => {
        throw error;
      },
    });
    let isDone = false;
    manager.starting();
    manager.ready(well, () => "");
    await manager.reload(() => {
      isDone = true;
      return Promise.resolve();
    });
    manager.stopping();
    await manager.close();
    expect(isDone).toBe(true);
  });
});
