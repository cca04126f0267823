import { createBusctl } from "#adapters/exec/busctl.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { type HostNames, HostSettingsUnavailable } from "#domain/ports/host-settings.ts";
import { isString } from "#kernel/values.ts";

const name = "org.freedesktop.hostname1";
const object = "/org/freedesktop/hostname1";
const answersNobody = "false";

/** systemd-hostnamed, asked by busctl. */
export function createHostNames({ exec }: { readonly exec: Exec }): HostNames {
  const fail = (why: string) => new HostSettingsUnavailable("systemd-hostnamed", `systemd-hostnamed: ${why}`);
  const bus = createBusctl({ exec, fail });
  return {
    async state(signal) {
      const found = await bus.properties(signal, name, object, name);
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
        await bus.call(signal, name, object, name, "SetStaticHostname", "sb", hostname, answersNobody);
      if (pretty !== undefined)
        await bus.call(signal, name, object, name, "SetPrettyHostname", "sb", pretty, answersNobody);
    },
  };
}
