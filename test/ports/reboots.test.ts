import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createReboots } from "#adapters/logind/index.ts";
import { RebootsUnavailable } from "#domain/ports/reboots.ts";
import { createFakeReboots } from "../fakes/reboots.ts";

const { signal } = new AbortController();
const at = 1_795_465_192_000;
const inhibitors = [
  { who: "APT", why: "packages change", blocks: true },
  { who: "Unattended Upgrades Shutdown", why: "stop", blocks: false },
];

/** logind behind busctl, with the answers of systemd 252; that of a real host is asked in test/host. */
function busctl(isSilent = false): Exec {
  let scheduled: readonly unknown[] = ["", 18_446_744_073_709_552_000];
  const answers: Readonly<Record<string, (words: readonly string[]) => unknown>> = {
    ListSessions: () => [
      [
        ["1", 0, "root", "", "/s/1"],
        ["2", 1000, "eve", "seat0", "/s/2"],
        ["3", 1000, "eve", "", "/s/3"],
        ["4", 1001, "lingering", "", "/s/manager"],
      ],
    ],
    ListInhibitors: () => [
      [
        ["shutdown:sleep", "APT", "packages change", "block", 0, 1],
        ["shutdown", "Unattended Upgrades Shutdown", "stop", "delay", 0, 2],
        ["handle-lid-switch", "Desktop", "lid", "block", 0, 3],
      ],
    ],
    ScheduledShutdown: () => scheduled,
    SetWallMessage: () => [],
    ScheduleShutdown(words) {
      scheduled = [words.at(-2), Number(words.at(-1))];
      return [];
    },
    CancelScheduledShutdown() {
      scheduled = ["", 0];
      return [true];
    },
  };
  return (argv) => {
    const found = argv.find((word) => word in answers);
    const data = found === undefined ? (argv.includes("/s/manager") ? "manager" : "user") : answers[found]?.(argv);
    const [exitCode, stderr] = isSilent ? [1, "Failed to connect to bus: No such file"] : [0, ""];
    return Promise.resolve({ exitCode, stdout: JSON.stringify({ type: "", data }), stderr, truncated: false });
  };
}

describe.each([
  [
    "fake",
    () => createFakeReboots({ users: ["eve", "root"], inhibitors }),
    () => Object.assign(createFakeReboots(), { available: false }),
  ],
  ["logind", () => createReboots({ exec: busctl() }), () => createReboots({ exec: busctl(true) })],
])("reboots: %s", (_, make, makeSilent) => {
  it("are scheduled and cancelled, and shown with what they interrupt", async () => {
    const reboots = make();
    const idle = { scheduledAt: null, kind: "", users: ["eve", "root"], inhibitors };
    expect(await reboots.state(signal)).toEqual(idle);
    await reboots.schedule(at, "updates", signal);
    expect(await reboots.state(signal)).toEqual({ ...idle, scheduledAt: at, kind: "reboot" });
    await reboots.cancel(signal);
    expect(await reboots.state(signal)).toEqual(idle);
  });

  it("are unavailable where logind does not answer", async () => {
    const reboots = makeSilent();
    await expect(reboots.state(signal)).rejects.toThrow(RebootsUnavailable);
    await expect(reboots.schedule(at, "", signal)).rejects.toThrow(RebootsUnavailable);
    await expect(reboots.cancel(signal)).rejects.toThrow(RebootsUnavailable);
  });
});
