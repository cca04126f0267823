import type { Answer } from "#client/index.ts";
import { countedOf } from "#kernel/text.ts";
import { showCommand } from "../core/operation-command.ts";
import { type Io, oneLine } from "../output/output.ts";
import type { Cell, Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";

type Network = Answer<"getNetwork">;
type Link = Network["links"][number];

function stateOf({ is_up: isUp, has_carrier: hasCarrier, state }: Link): Cell {
  const styles: Readonly<Record<string, Style>> = { up: "green", down: "red" };
  if (!isUp) return { text: "off", style: "dim" };
  const text = state === "unknown" ? (hasCarrier ? "up" : "down") : state;
  return { text, style: styles[text] };
}

/** The state of a link stands before its first address; each other address has a line of its own. */
function linkLines(links: readonly Link[]) {
  return links.flatMap((link) => {
    const [first, ...others] = link.addresses;
    return [{ link, address: first }, ...others.map((address) => ({ link: undefined, address }))];
  });
}

const endpoint = (address: string, port: number): string =>
  address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;

/** Why there are none is in the notes. */
function printListeners(io: Io, { listeners, listeners_total: total }: Network): void {
  if (listeners === null || total === null) return;
  io.out("\n");
  printTable(io, listeners, {
    listens: ({ address, port }) => endpoint(address, port),
    protocol: "protocol",
    unit: "unit",
  });
  if (listeners.length < total || total === 0) io.out(`${countedOf(listeners.length, total, "listening socket")}\n`);
}

function printNetwork(io: Io, network: Network): void {
  const { links, routes, routes_total: total, resolvers, notes } = network;
  printTable(io, linkLines(links), {
    link: ({ link }) => link?.name ?? "",
    state: ({ link }) => (link === undefined ? "" : stateOf(link)),
    address: ({ address }) => (address === undefined ? "" : `${address.address}/${address.prefix_length}`),
    kind: ({ link }) => link?.kind ?? "",
    mtu: ({ link }) => link?.mtu ?? "",
    speed: ({ link }) => (link === undefined || link.speed_mbps === null ? "" : `${link.speed_mbps} Mbit/s`),
    mac: ({ link }) => link?.mac ?? "",
    "part of": ({ link }) => link?.master ?? "",
  });
  io.out("\n");
  printTable(io, routes, {
    route: ({ destination, type }) => (type === "unicast" ? destination : `${type} ${destination}`),
    through: "gateway",
    link: "link",
    metric: "metric",
  });
  if (routes.length < total || total === 0) io.out(`${countedOf(routes.length, total, "route")}\n`);
  printListeners(io, network);
  const forwarded = resolvers.upstream.length > 0 ? ` (forwards to ${resolvers.upstream.join(", ")})` : "";
  io.out(`\n${oneLine(`name servers: ${resolvers.servers.join(", ") || "none"}${forwarded}`)}\n`);
  for (const note of notes) io.err(`steward: ${oneLine(note)}\n`);
}

export const addNetworkCommand = showCommand("getNetwork", "network", {
  about: "links with their addresses, routes, name servers, and listening sockets",
  print: printNetwork,
});
