import { createNameServers } from "#adapters/resolver/index.ts";
import { createLinks } from "#adapters/routes/links.ts";
import { createListeners } from "#adapters/systemd/listeners.ts";
import { type NetworkPorts, networkHandlers } from "#domain/system/network.ts";
import type { TracedParts } from "../tracing/tracing.ts";

const upstreamFile = "/run/systemd/resolve/resolv.conf";

export const createNetworkPart = (ports: NetworkPorts) => ({ handlers: networkHandlers(ports) });

export const buildNetworkPart = (traced: Pick<TracedParts, "exec">) =>
  createNetworkPart({
    links: createLinks(traced),
    listeners: createListeners(traced),
    nameServers: createNameServers(),
    upstream: createNameServers({ file: upstreamFile }),
  });
