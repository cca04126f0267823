import { describe, expect, it } from "vitest";
import { takeManagerVariables } from "./index.ts";

describe("takeManagerVariables", () => {
  it("removes the variables of systemd from the environment", () => {
    const environment = { PATH: "/bin", NOTIFY_SOCKET: "/run/notify", WATCHDOG_USEC: "30000000", WATCHDOG_PID: "42" };
    expect(takeManagerVariables(environment, 42)).toEqual({ address: "/run/notify", watchdogMs: 30_000 });
    expect(environment).toEqual({ PATH: "/bin" });
  });

  it.each([
    ["for another process", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "1" }],
    ["of nothing", { WATCHDOG_USEC: "0" }],
    ["of no number", { WATCHDOG_USEC: "-5" }],
    ["that is not there", {}],
  ])("has no watchdog %s", (_, variables) => {
    const environment = { NOTIFY_SOCKET: "@abstract", ...variables };
    expect(takeManagerVariables(environment, 42)).toEqual({ address: "@abstract", watchdogMs: undefined });
    expect(environment).toEqual({});
  });

  it.each([{}, { NOTIFY_SOCKET: "" }, { NOTIFY_SOCKET: "relative" }, { NOTIFY_SOCKET: "vsock:2:1" }])(
    "has no notify socket with %j",
    (environment) => {
      expect(takeManagerVariables({ ...environment, WATCHDOG_USEC: "1" }, 42)).toBeUndefined();
    },
  );
});
