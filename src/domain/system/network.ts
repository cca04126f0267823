import type { NetworkLink, NetworkState, network } from "#contract/network.ts";
import type { Handlers } from "#contract/operation.ts";
import type { NameServers } from "#domain/ports/network.ts";
import {
  type Link,
  type Links,
  type Listener,
  type Listeners,
  NetworkUnavailable,
} from "#domain/ports/network-state.ts";
import { onHost } from "./service.ts";

export interface NetworkPorts {
  readonly links: Links;
  readonly listeners: Listeners;
  readonly nameServers: Pick<NameServers, "list">;
  /** Of systemd-resolved, which others ask in their place; none where it does not run. */
  readonly upstream: Pick<NameServers, "list">;
}

const mostRoutes = 1_000;
/** Anybody on the host can have very many, at the higher ports. */
const mostListeners = 1_000;

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

function noteOn(listeners: readonly Listener[]): readonly string[] {
  const isUnknown = listeners.length > 0 && listeners.every(({ unit }) => unit === null);
  return isUnknown ? ["the host does not say to which units the listening sockets belong"] : [];
}

export function networkHandlers(ports: NetworkPorts): Handlers<typeof network> {
  /** What is missing for them hides nothing else. @returns why they are not known, in place of them. */
  const listening = async (signal: AbortSignal): Promise<readonly Listener[] | string> => {
    try {
      return await ports.listeners.list(signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof NetworkUnavailable)) throw error;
      return `listening sockets are not known: ${error.message}`;
    }
  };

  return {
    getNetwork: (_, context) =>
      onHost("read the network", async (): Promise<NetworkState> => {
        const signal = context.signal();
        const [links, routes, servers, upstream, listeners] = await Promise.all([
          ports.links.links(),
          ports.links.routes(),
          ports.nameServers.list(),
          ports.upstream.list(),
          listening(signal),
        ]);
        const known = typeof listeners === "string" ? null : listeners;
        return {
          links: links.map(toLink),
          routes: routes.slice(0, mostRoutes).map((route) => ({ ...route })),
          routes_total: routes.length,
          resolvers: { servers: [...servers], upstream: [...upstream] },
          listeners: known?.slice(0, mostListeners).map((listener) => ({ ...listener })) ?? null,
          listeners_total: known?.length ?? null,
          notes: typeof listeners === "string" ? [listeners] : [...noteOn(listeners)],
        };
      }),
  };
}
