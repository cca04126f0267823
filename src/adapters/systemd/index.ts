import { existsSync, readFileSync } from "node:fs";
import type { Probe } from "#domain/ports/probe.ts";
import type { UnitDetails } from "#domain/ports/unit-details.ts";
import type { Timers, Units } from "#domain/ports/units.ts";
import type { ServicePolicy } from "#domain/system/service-policy.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import type { ObserveCall } from "./connection.ts";
import { createLiveUnits } from "./live.ts";
import { createOfflineDetails, createOfflineUnits } from "./offline.ts";

export interface HostUnits {
  readonly units: Units;
  readonly timers: Timers;
  readonly details: UnitDetails;
  readonly probe: Probe;
  readonly dispose: Dispose;
}

const isBootedWithSystemd = (): boolean => existsSync("/run/systemd/system");

/** Over D-Bus where systemd runs, else from the unit files on disk. */
export function createHostUnits(ports: {
  clock: Clock;
  policy: ServicePolicy;
  onStateChange: (state: { up: boolean; reason?: string }) => void;
  observe?: ObserveCall | undefined;
}): HostUnits {
  if (!isBootedWithSystemd()) {
    return {
      units: createOfflineUnits(),
      timers: { list: () => Promise.resolve(undefined) },
      details: createOfflineDetails(),
      probe: () => Promise.resolve({ healthy: false, expected: false, reason: "systemd is not running on this host" }),
      dispose: () => undefined,
    };
  }
  const live = createLiveUnits(ports);
  return {
    units: live,
    timers: live.timers,
    details: live.details,
    async probe() {
      await live.ping();
      return { healthy: true, expected: true };
    },
    dispose: live.dispose,
  };
}

/** The service unit that this process runs in, by its control group (cgroups(7)); undefined when it runs in none. */
export function ownServiceUnit(cgroupFile = "/proc/self/cgroup"): string | undefined {
  const lines = readFileSync(cgroupFile, "utf8").split("\n");
  const line =
    lines.find((entry) => entry.startsWith("0::/") && entry !== "0::/") ??
    lines.find((entry) => entry.includes(":name=systemd:"));
  const last = line?.split("/").at(-1);
  return last?.endsWith(".service") ? last : undefined;
}
