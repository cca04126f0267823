import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, NullableInteger, NullableString, optional } from "./schema.ts";

const families = ["ipv4", "ipv6"] as const;

const LinkAddress = Type.Object({
  family: Choice(families),
  address: Type.String(),
  prefix_length: Type.Integer(),
  scope: Type.String({ description: "`global`, `link`, `host`, …" }),
  ...optional({
    peer: Type.String({ description: "The address at the other end of a link between two. Else absent." }),
    label: Type.String({
      description: "The label of the address (`eth0:1`) where it is not the name of the link. Else absent.",
    }),
  }),
});

export const NetworkLink = Type.Object({
  name: Type.String({ description: "Name that the kernel gives it, such as `eth0`." }),
  kind: Type.String({
    description:
      "`ether`, `loopback`, or the kernel's word for what it is: `bridge`, `bond`, `vlan`, `wlan`, `wireguard`, …",
  }),
  state: Type.String({
    description: "Operational state of the kernel: `up`, `down`, `unknown` for kinds without one, …",
  }),
  is_up: Type.Boolean({ description: "Whether it is switched on." }),
  has_carrier: Type.Boolean({ description: "Whether something is connected to it." }),
  mtu: Type.Integer({ description: "Largest packet in bytes." }),
  mac: NullableString("Hardware address; null for none."),
  speed_mbps: NullableInteger("Null where it is not known, as for most virtual links and those without a carrier."),
  master: NullableString("Bridge or bond that it belongs to; null for none."),
  addresses: Type.Array(LinkAddress, { description: "None without a carrier." }),
});
export type NetworkLink = Static<typeof NetworkLink>;

export const NetworkRoute = Type.Object({
  family: Choice(families),
  destination: Type.String({ description: "A network or address; `default` for all others." }),
  type: Type.String({ description: "`unicast`, `unreachable` where packets are refused or dropped" }),
  gateway: NullableString("Null where the destination is reached directly."),
  link: NullableString("Null where packets go nowhere."),
  metric: Type.Integer({ description: "The lowest is used." }),
});
export type NetworkRoute = Static<typeof NetworkRoute>;

export const NetworkListener = Type.Object({
  protocol: Choice(["tcp", "udp"]),
  address: Type.String({ description: "`0.0.0.0` and `::` are all addresses; `::` mostly those of IPv4 too." }),
  port: Type.Integer(),
  unit: NullableString("systemd unit whose processes wait there, or that of a user; null where it is not known."),
});
export type NetworkListener = Static<typeof NetworkListener>;

export const NetworkState = Type.Object({
  links: Type.Array(NetworkLink),
  routes: Type.Array(NetworkRoute, {
    description: "Of the main table, the first 1000; of several next hops the first.",
  }),
  routes_total: Type.Integer(),
  resolvers: Type.Object({
    servers: Type.Array(Type.String(), { description: "Name servers of /etc/resolv.conf, in their order." }),
    upstream: Type.Array(Type.String(), {
      description: "Those that systemd-resolved forwards to; empty where it does not run.",
    }),
  }),
  listeners: Type.Unsafe<Static<typeof NetworkListener>[] | null>({
    type: ["array", "null"],
    items: NetworkListener,
    description: "Ordered by port, the first 1000; UDP sockets without a peer among them. Null where `notes` say why.",
  }),
  listeners_total: NullableInteger("Null where they are not known."),
  notes: Type.Array(Type.String(), { description: "What cannot be seen, and why." }),
});
export type NetworkState = Static<typeof NetworkState>;

export const network = {
  getNetwork: {
    method: "GET",
    path: "/system/network",
    tag: "System",
    summary: "Links, addresses, routes, name servers and listening sockets of the host",
    description:
      "As the network namespace of this service has them. Addresses are those that `ip` shows; without it those of links that are up and have a carrier. Each listening socket has the unit of its processes (by `ss`; without it they are not known, and the rest is told).",
    scope: "system:read",
    effect: "read",
    response: NetworkState,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
