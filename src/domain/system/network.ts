import type { NetworkLink, NetworkState, network } from "#contract/network.ts";
import type { Handlers } from "#contract/operation.ts";
import type { NameServers } from "#domain/ports/network.ts";
import type { Link, Links, Listeners } from "#domain/ports/network-state.ts";
import { onHost } from "./service.ts";

export interface NetworkPorts {
  readonly links: Links;
  readonly listeners: Listeners;
  readonly nameServers: Pick<NameServers, "list">;
  /** Of systemd-resolved, which others ask in their place; none where it does not run. */
  readonly upstream: Pick<NameServers, "list">;
}

const mostRoutes = 1_000;

const toLink = ({ isUp, hasCarrier, speedMbps, addresses, ...link }: Link): NetworkLink => ({
  ...link,
  is_up: isUp,
  has_carrier: hasCarrier,
  speed_mbps: speedMbps,
  addresses: addresses.map(({ prefixLength, ...each }) => ({
    ...each,
    prefix_length: prefixLength,
  })),
});

export function networkHandlers(ports: NetworkPorts): Handlers<typeof network> {
  return {
    getNetwork: (_, context) =>
      onHost("read the network", async (): Promise<NetworkState> => {
        const signal = context.signal();
        const [links, routes, servers, upstream, listeners] = await Promise.all([
          ports.links.links(),
          ports.links.routes(),
          ports.nameServers.list(),
          ports.upstream.list(),
          ports.listeners.list(signal),
        ]);
        const isUnknown = listeners.length > 0 && listeners.every(({ unit }) => unit === null);
        return {
          links: links.map(toLink),
          routes: routes.slice(0, mostRoutes).map((route) => ({ ...route })),
          routes_total: routes.length,
          resolvers: { servers: [...servers], upstream: [...upstream] },
          listeners: listeners.map((listener) => ({ ...listener })),
          notes: isUnknown ? ["the host does not say to which units the listening sockets belong"] : [],
        };
      }),
  };
}
