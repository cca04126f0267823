import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createHostNames } from "#adapters/hostname/index.ts";
import { HostSettingsUnavailable } from "#domain/ports/host-settings.ts";
import { createFakeHostNames } from "../fakes/host-names.ts";

const { signal } = new AbortController();

/** hostnamed behind busctl, with answers in the form of systemd 252; that of a real host is asked in test/host. */
function busctl(answered = true): Exec {
  const now = new Map([
    ["Hostname", "web1"],
    ["StaticHostname", "web1"],
    ["PrettyHostname", ""],
  ]);
  return (argv) => {
    const properties = (): string => {
      const entries = [...now].map(([name, data]) => [name, { type: "s", data }]);
      return JSON.stringify({ type: "a{sv}", data: [Object.fromEntries(entries)] });
    };
    const value = argv.at(-2) ?? "";
    if (argv.includes("SetStaticHostname")) now.set("Hostname", value).set("StaticHostname", value);
    if (argv.includes("SetPrettyHostname")) now.set("PrettyHostname", value);
    const stdout = answered && argv.includes("GetAll") ? properties() : "";
    const stderr = answered ? "" : "Failed to connect to bus: No such file or directory";
    return Promise.resolve({ exitCode: answered ? 0 : 1, stdout, stderr, truncated: false });
  };
}

describe.each([
  ["fake", createFakeHostNames, () => Object.assign(createFakeHostNames(), { available: false })],
  ["hostnamed", () => createHostNames({ exec: busctl() }), () => createHostNames({ exec: busctl(false) })],
])("host names: %s", (_, make, makeSilent) => {
  it("are shown and changed, each by itself", async () => {
    const names = make();
    expect(await names.state(signal)).toEqual({ current: "web1", permanent: "web1", pretty: "" });
    await names.set({ hostname: "web2" }, signal);
    expect(await names.state(signal)).toEqual({ current: "web2", permanent: "web2", pretty: "" });
    await names.set({ pretty: "Web – der zweite" }, signal);
    expect(await names.state(signal)).toEqual({ current: "web2", permanent: "web2", pretty: "Web – der zweite" });
  });

  it("are unavailable where nobody answers", async () => {
    const names = makeSilent();
    await expect(names.state(signal)).rejects.toThrow(HostSettingsUnavailable);
    await expect(names.set({ hostname: "web2" }, signal)).rejects.toThrow(HostSettingsUnavailable);
  });
});
