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

const none = 18_446_744_073_709_552_000;

/**
 * logind behind busctl, with the answers of systemd 252, or of 257, which schedules nothing while a program inhibits it; those of real
 * hosts are asked in test/host.
 * @param ran gets what systemd-run was asked for.
 */
function busctl({ isSilent = false, isStrict = false, ran = [] as (readonly string[])[] } = {}): Exec {
  let scheduled: readonly unknown[] = ["", none];
  let elapses = none;
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
    NextElapseUSecRealtime: () => elapses,
    StopUnit() {
      elapses = none;
      return ["/job/1"];
    },
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
    if (argv[0] === "systemd-run") {
      ran.push(argv);
      const when = argv.find((word) => word.startsWith("--on-calendar="))?.slice("--on-calendar=".length);
      if (when !== undefined) elapses = Date.parse(when) * 1000;
      return Promise.resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false });
    }
    const [destination, object] = argv.slice(argv.findIndex((word) => word === "call" || word === "get-property") + 1);
    expect([destination, object?.[0]]).toEqual([expect.stringMatching(/^org\.freedesktop\.(login1|systemd1)$/), "/"]);
    const isDenied = isStrict && argv.includes("ScheduleShutdown");
    const found = argv.find((word) => word in answers);
    const data = found === undefined ? (argv.includes("/s/manager") ? "manager" : "user") : answers[found]?.(argv);
    const [exitCode, stderr] = isSilent
      ? [1, "Failed to connect to bus: No such file"]
      : isDenied
        ? [1, "Call failed: Access denied"]
        : [0, ""];
    return Promise.resolve({ exitCode, stdout: JSON.stringify({ type: "", data }), stderr, truncated: false });
  };
}

describe.each([
  [
    "fake",
    () => createFakeReboots({ users: ["eve", "root"], inhibitors }),
    () => Object.assign(createFakeReboots(), { available: false }),
  ],
  ["logind", () => createReboots({ exec: busctl() }), () => createReboots({ exec: busctl({ isSilent: true }) })],
])("reboots: %s", (_, make, makeSilent) => {
  it("are scheduled and cancelled, and shown with what they interrupt", async () => {
    const reboots = make();
    const idle = { scheduledAt: null, kind: "", users: ["eve", "root"], inhibitors };
    expect(await reboots.state(signal)).toEqual(idle);
    await reboots.schedule(at, { message: "updates", ignoresInhibitors: false }, signal);
    expect(await reboots.state(signal)).toEqual({ ...idle, scheduledAt: at, kind: "reboot" });
    await reboots.cancel(signal);
    expect(await reboots.state(signal)).toEqual(idle);
  });

  it("are unavailable where logind does not answer", async () => {
    const reboots = makeSilent();
    await expect(reboots.state(signal)).rejects.toThrow(RebootsUnavailable);
    await expect(reboots.schedule(at, { message: "", ignoresInhibitors: false }, signal)).rejects.toThrow(
      RebootsUnavailable,
    );
    await expect(reboots.cancel(signal)).rejects.toThrow(RebootsUnavailable);
  });
});

describe("a logind that schedules nothing past those who inhibit it", () => {
  const ran: (readonly string[])[] = [];
  const reboots = createReboots({ exec: busctl({ isStrict: true, ran }) });

  it("is not passed by unless that is asked for", async () => {
    const asked = reboots.schedule(at, { message: "", ignoresInhibitors: false }, signal);
    await expect(asked).rejects.toThrow("Call failed: Access denied");
    expect(ran).toEqual([]);
  });

  it("has systemd do it at that time, which is shown and cancelled in the same way", async () => {
    await reboots.schedule(at, { message: "for $HOME", ignoresInhibitors: true }, signal);
    expect(ran.map((argv) => argv.slice(argv.indexOf("--") + 1))).toEqual([
      expect.arrayContaining(["systemctl", "start", "reboot.target"]),
      ["wall", "for $$HOME", "The system will reboot at", expect.stringMatching(/^\d{4}-\d\d-\d\d .* UTC!$/)],
    ]);
    expect(await reboots.state(signal)).toMatchObject({ scheduledAt: at, kind: "reboot" });
    await reboots.cancel(signal);
    expect(await reboots.state(signal)).toMatchObject({ scheduledAt: null, kind: "" });
  });
});

it("takes whoever blocks a reboot, even weakly, for one that does", async () => {
  const row = ["shutdown", "Desktop", "a call", "block-weak", 0, 1];
  const answers = new Map<string, unknown>([
    ["ListSessions", [[]]],
    ["ListInhibitors", [[row]]],
    ["ScheduledShutdown", ["", 0]],
    ["NextElapseUSecRealtime", 0],
  ]);
  const exec: Exec = (argv) => {
    const data = argv.map((word) => answers.get(word)).find((each) => each !== undefined);
    return Promise.resolve({ exitCode: 0, stdout: JSON.stringify({ data }), stderr: "", truncated: false });
  };
  expect(await createReboots({ exec }).state(signal)).toMatchObject({ inhibitors: [{ who: "Desktop", blocks: true }] });
});
