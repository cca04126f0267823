import { createHostNames } from "#adapters/hostname/index.ts";
import { createTimeSettings } from "#adapters/timedate/settings.ts";
import type { PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { HostNames, TimeSettings } from "#domain/ports/host-settings.ts";
import { hostSettingsHandlers } from "#domain/system/host-settings.ts";
import { namesThroughRoot, timeThroughRoot } from "#root/host-through-root.ts";
import type { RootSide } from "#root/request.ts";

export const createHostSettingsPart = (
  ports: Pick<PartContext, "clock"> & { readonly time: TimeSettings; readonly names: HostNames },
) => ({ handlers: hostSettingsHandlers(ports) });

export function buildHostSettingsPart(
  { clock }: PartContext,
  { traced, rootSide }: { readonly traced: Pick<TracedParts, "exec">; readonly rootSide: RootSide | undefined },
) {
  const time = createTimeSettings(traced);
  const names = createHostNames(traced);
  if (rootSide === undefined) return createHostSettingsPart({ clock, time, names });
  const { request } = rootSide;
  return createHostSettingsPart({
    clock,
    time: timeThroughRoot(time, request),
    names: namesThroughRoot(names, request),
  });
}
