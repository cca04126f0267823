import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createTimeSync } from "#adapters/timedate/index.ts";
import type { TimeSync } from "#domain/ports/host.ts";
import { createFakeTimeSync } from "../fakes/time-sync.ts";

/** timedatectl that answers this; that of a real host is asked in test/host. */
const answering =
  (stdout: string, exitCode = 0): Exec =>
  () =>
    Promise.resolve({ exitCode, stdout, stderr: exitCode === 0 ? "" : "Failed to connect to bus", truncated: false });

const signal = new AbortController().signal;
const state = { canSync: true, isEnabled: true, isSynchronised: false };
const text = "CanNTP=yes\nNTP=yes\nNTPSynchronized=no\n";
const real = (exec: Exec, isBooted = true) =>
  createTimeSync({ exec, paths: { booted: isBooted ? "/" : "/nonexistent", containerMarks: ["/nonexistent"] } });

describe.each([
  ["fake", createFakeTimeSync({ ...state, isContainer: false }), createFakeTimeSync(undefined)],
  ["timedatectl", real(answering(text)), real(answering(text), false)],
])("time synchronisation: %s", (_, time: TimeSync, unknown: TimeSync) => {
  it("is told", async () => {
    expect(await time.state(signal)).toEqual({ ...state, isContainer: false });
  });

  it("is not told where systemd does not run", async () => {
    expect(await unknown.state(signal)).toBeUndefined();
  });
});

describe.each([
  [
    "fake",
    createFakeTimeSync({ ...state, isContainer: false }, { ...state, isContainer: false }),
    createFakeTimeSync(undefined),
  ],
  [
    "timedatectl",
    real(answering("")),
    real(() =>
      Promise.resolve({ exitCode: 1, stdout: "", stderr: "Failed to set ntp: NTP not supported\n", truncated: false }),
    ),
  ],
])("time synchronisation: %s", (_, time: TimeSync, refusing: TimeSync) => {
  it("is switched on", async () => {
    await time.enable(signal);
  });

  it("says why it is not", async () => {
    await expect(refusing.enable(signal)).rejects.toThrow(/^timedatectl says: .*NTP not supported$/);
  });
});

describe("time synchronisation: timedatectl", () => {
  it("is told to", async () => {
    const asked: (readonly string[])[] = [];
    const exec: Exec = (argv, options) => {
      asked.push(argv);
      return answering("")(argv, options);
    };
    await real(exec).enable(signal);
    expect(asked).toEqual([["timedatectl", "set-ntp", "true"]]);
  });

  it("fails when it gets no answer", async () => {
    await expect(real(answering("", 1)).state(signal)).rejects.toThrow(
      "cannot ask timedatectl: Failed to connect to bus",
    );
  });
});
