import { createBusctl } from "#adapters/exec/busctl.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { HostSettingsUnavailable, type TimeSettings } from "#domain/ports/host-settings.ts";
import { isString } from "#kernel/values.ts";

const name = "org.freedesktop.timedate1";
const object = "/org/freedesktop/timedate1";
const answersNobody = "false";

/** systemd-timedated, asked by busctl. */
export function createTimeSettings({ exec }: { readonly exec: Exec }): TimeSettings {
  const fail = (why: string) => new HostSettingsUnavailable("systemd-timedated", `systemd-timedated: ${why}`);
  const bus = createBusctl({ exec, fail });
  return {
    async state(signal) {
      const found = await bus.properties(signal, name, object, name);
      const timezone = found.get("Timezone");
      if (!isString(timezone)) throw fail("it does not say the time zone");
      const is = (property: string): boolean => {
        const value = found.get(property);
        if (typeof value !== "boolean") throw fail(`it does not say ${property}`);
        return value;
      };
      return {
        timezone,
        canSync: is("CanNTP"),
        isSyncEnabled: is("NTP"),
        isSynchronised: is("NTPSynchronized"),
        isRtcLocal: is("LocalRTC"),
      };
    },
    async timezones(signal) {
      const [zones] = await bus.call(signal, name, object, name, "ListTimezones");
      if (!Array.isArray(zones)) throw fail("it does not list the time zones");
      return zones.filter(isString);
    },
    async set({ timezone, ntp }, signal) {
      if (timezone !== undefined)
        await bus.call(signal, name, object, name, "SetTimezone", "sb", timezone, answersNobody);
      if (ntp !== undefined) await bus.call(signal, name, object, name, "SetNTP", "bb", String(ntp), answersNobody);
    },
  };
}
