import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createTimeSettings } from "#adapters/timedate/settings.ts";
import { HostSettingsUnavailable, type TimeSettings } from "#domain/ports/host-settings.ts";
import { createFakeTimeSettings } from "../fakes/time-settings.ts";

const { signal } = new AbortController();

/** timedated behind busctl, with answers in the form of systemd 252; that of a real host is asked in test/host. */
function busctl(answered = true): Exec {
  const now: Record<string, { type: string; data: unknown }> = {
    Timezone: { type: "s", data: "Etc/UTC" },
    LocalRTC: { type: "b", data: false },
    CanNTP: { type: "b", data: true },
    NTP: { type: "b", data: true },
    NTPSynchronized: { type: "b", data: true },
    TimeUSec: { type: "t", data: 1_795_465_192_000_000 },
  };
  return (argv) => {
    const answer = (data: unknown, type = "") => ({ stdout: JSON.stringify({ type, data }), stderr: "" });
    const texts = (): { stdout: string; stderr: string } => {
      if (!answered) return { stdout: "", stderr: "Call failed: The name org.freedesktop.timedate1 was not provided" };
      if (argv.includes("GetAll")) return answer([now]);
      if (argv.includes("ListTimezones")) return answer([["Europe/Berlin", "Etc/UTC"]]);
      const value = argv.at(-2);
      if (argv.includes("SetTimezone")) now["Timezone"] = { type: "s", data: value };
      if (argv.includes("SetNTP")) now["NTP"] = { type: "b", data: value === "true" };
      return { stdout: "", stderr: "" };
    };
    return Promise.resolve({ exitCode: answered ? 0 : 1, ...texts(), truncated: false });
  };
}

const silent = (): TimeSettings => Object.assign(createFakeTimeSettings(), { available: false });

describe.each([
  ["fake", () => createFakeTimeSettings(), silent],
  ["timedated", () => createTimeSettings({ exec: busctl() }), () => createTimeSettings({ exec: busctl(false) })],
])("time settings: %s", (_, make, makeSilent) => {
  it("are shown and changed, each by itself", async () => {
    const time = make();
    const before = {
      ...{ timezone: "Etc/UTC", canSync: true, isSyncEnabled: true, isSynchronised: true, isRtcLocal: false },
    };
    expect(await time.state(signal)).toEqual(before);
    expect(await time.timezones(signal)).toContain("Europe/Berlin");
    await time.set({ timezone: "Europe/Berlin" }, signal);
    expect(await time.state(signal)).toEqual({ ...before, timezone: "Europe/Berlin" });
    await time.set({ ntp: false }, signal);
    expect(await time.state(signal)).toMatchObject({ timezone: "Europe/Berlin", isSyncEnabled: false });
  });

  it("are unavailable where nobody answers", async () => {
    const time = makeSilent();
    await expect(time.state(signal)).rejects.toThrow(HostSettingsUnavailable);
    await expect(time.timezones(signal)).rejects.toThrow(HostSettingsUnavailable);
    await expect(time.set({ ntp: true }, signal)).rejects.toThrow(HostSettingsUnavailable);
  });
});

/** All properties, of which one is this. */
const withSync = (value: string): string => {
  const switches = ["CanNTP", "NTP", "LocalRTC"].map((name) => `"${name}":{"data":true}`).join(",");
  return `{"data":[{"Timezone":{"data":"Etc/UTC"},${switches},"NTPSynchronized":{"data":${value}}}]}`;
};

it.each([
  "",
  "{}",
  "[]",
  '{"data":[]}',
  '{"data":[{"Timezone":"Etc/UTC"}]}',
  '{"data":[{"Timezone":{"data":7}}]}',
  withSync('"maybe"'),
  withSync("1"),
])("does not take %j for an answer of timedated", async (stdout) => {
  const exec: Exec = () => Promise.resolve({ exitCode: 0, stdout, stderr: "", truncated: false });
  await expect(createTimeSettings({ exec }).state(signal)).rejects.toThrow(HostSettingsUnavailable);
});
