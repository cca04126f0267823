import { createHostNames } from "#adapters/hostname/index.ts";
import { createTimeSettings } from "#adapters/timedate/settings.ts";
import type { PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { HostNames, TimeSettings } from "#domain/ports/host-settings.ts";
import { hostSettingsHandlers } from "#domain/system/host-settings.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot } from "#root/through-root.ts";

export const createHostSettingsPart = (
  ports: Pick<PartContext, "clock"> & { readonly time: TimeSettings; readonly names: HostNames },
) => ({ handlers: hostSettingsHandlers(ports) });

export function buildHostSettingsPart(
  { clock }: PartContext,
  { traced, rootSide }: { readonly traced: Pick<TracedParts, "exec">; readonly rootSide: RootSide | undefined },
) {
  // Reading takes no rights; polkit lets the service change nothing of it.
  const time = throughRoot(createTimeSettings(traced), rootSide, (request) => ({
    set: (change, signal) => request("host.set_time", change, signal),
  }));
  const names = throughRoot(createHostNames(traced), rootSide, (request) => ({
    set: (change, signal) => request("host.set_hostname", change, signal),
  }));
  return createHostSettingsPart({ clock, time, names });
}
