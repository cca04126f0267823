import type { DefaultRoutes } from "#domain/ports/network.ts";
import { listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, type Outcome, skip } from "../check.ts";

export const networkConnectivityCheck = ({ routes }: { routes: DefaultRoutes }): BuiltInCheck => ({
  id: "network_connectivity",
  name: "Network connectivity",
  category: "network",
  severity: "high",
  about:
    "Whether the host has a way out: a default route over an interface that is up. With `isolated: true` it is " +
    "meant to have none, and the check is skipped. `ignore` takes interfaces.",
  meaning: "The host has no default route, or one of several is down.",
  remedy:
    "Check the link and the default route (ip link, ip route); on a host that is meant to be isolated, set " +
    "`health.isolated: true`.",
  guardedBy: "change",
  async run({ ignore, isIsolated = false }) {
    if (isIsolated) return skip("This host is meant to be isolated: no route to other networks is expected");
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
    const fail = (message: string): Outcome => ({ status: "fail", message, details });
    if (found.length === 0) return fail("There is no default route: this host reaches only its own networks");
    if (isOut.length === 0) return fail(`The default route is down: no link on ${listNames(down)}`);
    if (down.length > 0)
      return { ...fail(`One default route is down: no link on ${listNames(down)}, another is up`), status: "warn" };
    const ways = isOut.map(({ interface: name, gateway }) => (gateway === null ? name : `${gateway} on ${name}`));
    return { status: "pass", message: `The default route leads over ${listNames(ways)}`, details };
  },
});
