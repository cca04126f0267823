import { expect, it } from "vitest";
import { lastingVerbs, refusalOf, unitFileVerbs, unitVerbs } from "#domain/ports/units.ts";
import { createServicePolicy, defaultServicePolicy, instanceStates, type ServiceLists } from "./service-policy.ts";

const unit = (name: string, given: { names?: readonly string[]; activeState?: string } = {}) => ({
  name,
  names: [name],
  activeState: "active",
  ...given,
});
const isRefused = (lists: ServiceLists, name: string, given?: Parameters<typeof unit>[1]): boolean =>
  createServicePolicy(lists).refusal(unit(name, given)) !== undefined;

it.each([
  "debug-shell",
  "rescue",
  "initrd-switch-root",
  "steward-reboot",
  "steward-task@ask-0",
  "steward-task-20260101-000000-000-00000000-abc",
  "systemd-poweroff",
  "systemd-soft-reboot",
  "systemd-logind",
  "systemd-something-new",
  "systemd-journal-gatewayd",
  "systemd-tmpfiles-setup",
  "systemd-journald@evil",
  "packagekit-offline-update",
  "dbus",
  "user@0",
])("the service policy refuses %s unless the settings allow it", (stem) => {
  const name = `${stem}.service`;
  expect(defaultServicePolicy.refusal(unit(name))).toMatchObject({
    reason: expect.stringContaining(name),
    setting: "services.allow",
    remedy: expect.stringContaining(`add ${name} to services.allow in the settings to permit this`),
  });
  expect(isRefused({ allow: [stem] }, name)).toBe(false);
  expect(isRefused({ allow: ["*"] }, name)).toBe(false);
});

it.each(["nginx", "ssh", "steward", "systemd-resolved", "systemd-journald", "user", "my-debug-shell", "cron"])(
  "the service policy permits %s",
  (stem) => {
    expect(defaultServicePolicy.refusal(unit(`${stem}.service`, { activeState: "inactive" }))).toBeUndefined();
  },
);

it("the service policy permits an instance of a template only while it runs or has failed", () => {
  for (const activeState of instanceStates) expect(isRefused({}, "pg@15.service", { activeState })).toBe(false);
  expect(defaultServicePolicy.refusal(unit("modprobe@sctp.service", { activeState: "inactive" }))).toEqual({
    reason: "Steward restarts an instance of a template only while it runs or has failed, and this one is inactive",
    setting: "services.allow",
    remedy: "start it with systemctl, or add modprobe@sctp.service to services.allow in the settings to permit this",
  });
  expect(isRefused({ allow: ["backup@*"] }, "backup@home.service", { activeState: "inactive" })).toBe(false);
});

it("the service policy judges a unit by each of its names", () => {
  const names = ["ok.service", "debug-shell.service"];
  expect(isRefused({}, "ok.service", { names })).toBe(true);
  expect(isRefused({}, "debug-shell.service", { names })).toBe(true);
  // What is allowed is the unit itself, not another name of it.
  expect(isRefused({ allow: ["ok"] }, "debug-shell.service", { names })).toBe(true);
  expect(isRefused({ deny: ["web"] }, "nginx.service", { names: ["nginx.service", "web.service"] })).toBe(true);
});

it.each<[ServiceLists, string, boolean]>([
  [{ deny: ["nginx"] }, "nginx.service", true],
  [{ deny: ["nginx.service"] }, "nginx.service", true],
  [{ deny: ["vpn-*"] }, "vpn-home.service", true],
  [{ deny: ["vpn-*"] }, "vpn-home.socket", false],
  [{ deny: ["*.mount"] }, "srv.mount", true],
  [{ deny: ["*"], allow: ["nginx"] }, "nginx.service", false],
  [{ deny: ["*"], allow: ["nginx"] }, "cron.service", true],
  [{ deny: ["nginx"], allow: ["nginx"] }, "nginx.service", true],
  [{ deny: ["nginx"], allow: ["*"] }, "nginx.service", true],
  [{ deny: ["n*"], allow: ["*"] }, "nginx.service", true],
  [{ deny: ["a.b"] }, "axb.service", false],
])("the service policy %j decides on %s", (lists, name, refused) => {
  expect(isRefused(lists, name)).toBe(refused);
});

it("the service policy names the denying entry", () => {
  expect(createServicePolicy({ deny: ["vpn-*"] }).refusal(unit("vpn-home.service"))).toMatchObject({
    reason: 'the setting services.deny has "vpn-*"',
    setting: "services.deny",
  });
});

const confirmable = ["dbus", "dbus-broker", "dbus-daemon", "systemd-logind"];
const isLasting = (verb: string): boolean => lastingVerbs.some((each) => each === verb);

it.each(confirmable)("the service policy lets %s be changed with a confirmation, except permanently", (stem) => {
  const refusal = defaultServicePolicy.refusal(unit(`${stem}.service`));
  for (const verb of [...unitVerbs, ...unitFileVerbs]) {
    const said = [false, true].map((isConfirmed) => refusalOf({ refusal }, { isConfirmed }, verb));
    expect([verb, ...said.map((each) => each?.isConfirmable ?? each?.setting)]).toEqual(
      isLasting(verb) ? [verb, "services.allow", "services.allow"] : [verb, true, undefined],
    );
  }
});

it("the service policy lets nothing else be confirmed, nor what an alias or the settings refuse", () => {
  const confirmed = (lists: ServiceLists, name: string, names: readonly string[] = [name]) => {
    const refusal = createServicePolicy(lists).refusal(unit(name, { names }));
    return refusal !== undefined && refusalOf({ refusal }, { isConfirmed: true }, "restart") === undefined;
  };
  for (const stem of ["debug-shell", "user@0", "systemd-poweroff", "steward-task@ask-0", "systemd-something-new"])
    expect([stem, confirmed({}, `${stem}.service`)]).toEqual([stem, false]);
  expect(confirmed({}, "dbus.service", ["dbus.service", "debug-shell.service"])).toBe(false);
  expect(confirmed({ deny: ["dbus"] }, "dbus.service")).toBe(false);
  expect(confirmed({}, "dbus.service")).toBe(true);
});
