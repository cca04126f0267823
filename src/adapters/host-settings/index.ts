import { createBusctl } from "#adapters/exec/busctl.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type HostNames, HostSettingsUnavailable, type TimeSettings } from "#domain/ports/host-settings.ts";
import { isString } from "#kernel/values.ts";

/** The last argument of calls: that polkit asks no person. */
const answersNobody = "false";

const hostnamed = "org.freedesktop.hostname1";
const hostnamedObject = "/org/freedesktop/hostname1";

/** systemd-hostnamed, asked by busctl. */
export function createHostNames({ exec }: { readonly exec: Exec }): HostNames {
  const fail = (why: string) => new HostSettingsUnavailable("systemd-hostnamed", `systemd-hostnamed: ${why}`);
  const bus = createBusctl({ exec, fail });
  return {
    async state(signal) {
      const found = await bus.properties(signal, hostnamed, hostnamedObject, hostnamed);
      const text = (property: string): string => {
        const value = found.get(property);
        if (!isString(value)) throw fail(`it does not say ${property}`);
        return value;
      };
      return { current: text("Hostname"), permanent: text("StaticHostname"), pretty: text("PrettyHostname") };
    },
    async set({ hostname, pretty }, signal) {
      // Setting the permanent name changes that of the kernel, too.
      if (hostname !== undefined)
        await bus.call(
          signal,
          hostnamed,
          hostnamedObject,
          hostnamed,
          "SetStaticHostname",
          "sb",
          hostname,
          answersNobody,
        );
      if (pretty !== undefined)
        await bus.call(signal, hostnamed, hostnamedObject, hostnamed, "SetPrettyHostname", "sb", pretty, answersNobody);
    },
  };
}

const timedated = "org.freedesktop.timedate1";
const timedatedObject = "/org/freedesktop/timedate1";

/** systemd-timedated, asked by busctl. */
export function createTimeSettings({ exec }: { readonly exec: Exec }): TimeSettings {
  const fail = (why: string) => new HostSettingsUnavailable("systemd-timedated", `systemd-timedated: ${why}`);
  const bus = createBusctl({ exec, fail });
  return {
    async state(signal) {
      const found = await bus.properties(signal, timedated, timedatedObject, timedated);
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
      const [zones] = await bus.call(signal, timedated, timedatedObject, timedated, "ListTimezones");
      if (!Array.isArray(zones)) throw fail("it does not list the time zones");
      return zones.filter(isString);
    },
    async set({ timezone, ntp }, signal) {
      if (timezone !== undefined)
        await bus.call(signal, timedated, timedatedObject, timedated, "SetTimezone", "sb", timezone, answersNobody);
      if (ntp !== undefined)
        await bus.call(signal, timedated, timedatedObject, timedated, "SetNTP", "bb", String(ntp), answersNobody);
    },
  };
}
