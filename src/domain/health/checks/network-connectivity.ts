import type { DefaultRoutes } from "#domain/ports/network.ts";
import { listNames } from "#kernel/text.ts";
import type { Check } from "../check.ts";
import { createIgnore } from "../ignore.ts";

/** Whether the host has a way out: a default route over an interface that is up. `ignore` takes interfaces. */
export function networkConnectivityCheck({ routes }: { routes: DefaultRoutes }): Check {
  return {
    id: "network_connectivity",
    name: "Network connectivity",
    category: "network",
    severity: "high",
    async run({ ignore }) {
      const isIgnored = createIgnore(ignore);
      const found = (await routes.list()).filter((route) => !isIgnored(route.interface));
      const details = {
        routes: found.map(({ family, interface: name, gateway, isUp }) => ({
          family,
          interface: name,
          gateway,
          up: isUp,
        })),
      };
      const isOut = found.filter(({ isUp }) => isUp);
      const down = [...new Set(found.filter(({ isUp }) => !isUp).map((route) => route.interface))];
      if (found.length === 0)
        return {
          status: "fail",
          message: "There is no default route: this host reaches only its own networks",
          details,
        };
      if (isOut.length === 0)
        return { status: "fail", message: `The way out is down: no link on ${listNames(down)}`, details };
      if (down.length > 0)
        return {
          status: "warn",
          message: `One way out is down: no link on ${listNames(down)}, another is up`,
          details,
        };
      const ways = isOut.map(({ interface: name, gateway }) => (gateway === null ? name : `${gateway} on ${name}`));
      return { status: "pass", message: `The default route leads over ${listNames(ways)}`, details };
    },
  };
}
