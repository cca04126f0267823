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
    peer: Type.String({ description: "The address of the peer, on a point-to-point link. Else absent." }),
    label: Type.String({
      description: "The label of the address (`eth0:1`) if it differs from the name of the link. Else absent.",
    }),
  }),
});

export const NetworkLink = Type.Object({
  name: Type.String({ description: "Kernel name, such as `eth0`." }),
  kind: Type.String({
    description:
      "`ether`, `loopback`, or a more specific kind reported by the kernel: `bridge`, `bond`, `vlan`, `wlan`, `wireguard`, …",
  }),
  state: Type.String({
    description: "Operational state reported by the kernel: `up`, `down`, `unknown` for kinds without one, …",
  }),
  is_up: Type.Boolean({ description: "Whether the link is administratively up." }),
  has_carrier: Type.Boolean({ description: "Whether the link has a carrier." }),
  mtu: Type.Integer({ description: "MTU in bytes." }),
  mac: NullableString("Hardware address; null if there is none."),
  speed_mbps: NullableInteger(
    "Speed in Mbit/s; null if unknown, as for most virtual links and for links without a carrier.",
  ),
  master: NullableString("Bridge or bond that it belongs to; null if there is none."),
  addresses: Type.Array(LinkAddress, { description: "Empty if there is no carrier." }),
});
export type NetworkLink = Static<typeof NetworkLink>;

export const NetworkRoute = Type.Object({
  family: Choice(families),
  destination: Type.String({ description: "Destination network or address; `default` for all others." }),
  type: Type.String({ description: "`unicast`, `unreachable` where packets are refused or dropped" }),
  gateway: NullableString("Null if the destination is reached directly."),
  link: NullableString("Null if packets are dropped or refused."),
  metric: Type.Integer({ description: "Metric; the route with the lowest is used." }),
});
export type NetworkRoute = Static<typeof NetworkRoute>;

export const NetworkListener = Type.Object({
  protocol: Choice(["tcp", "udp"]),
  address: Type.String({
    description: "`0.0.0.0` and `::` stand for all addresses; `::` usually includes those of IPv4.",
  }),
  port: Type.Integer(),
  unit: NullableString(
    "systemd unit, of the system or of a user, whose processes listen there; null if it is unknown.",
  ),
});
export type NetworkListener = Static<typeof NetworkListener>;

export const NetworkState = Type.Object({
  links: Type.Array(NetworkLink),
  routes: Type.Array(NetworkRoute, {
    description: "Routes of the main table, the first 1000; of several next hops the first.",
  }),
  routes_total: Type.Integer(),
  resolvers: Type.Object({
    servers: Type.Array(Type.String(), { description: "Name servers of /etc/resolv.conf, in their order." }),
    upstream: Type.Array(Type.String(), {
      description: "Name servers that systemd-resolved forwards to; empty if it does not run.",
    }),
  }),
  listeners: Type.Unsafe<Static<typeof NetworkListener>[] | null>({
    type: ["array", "null"],
    items: NetworkListener,
    description:
      "Ordered by port, the first 1000, including UDP sockets without a peer. Null if unknown; `notes` then give the reason.",
  }),
  listeners_total: NullableInteger("Null if it is unknown."),
  notes: Type.Array(Type.String(), { description: "What is missing from the answer, and why." }),
});
export type NetworkState = Static<typeof NetworkState>;

export const network = {
  getNetwork: {
    method: "GET",
    path: "/system/network",
    tag: "System",
    summary: "Links, addresses, routes, name servers and listening sockets of the host",
    description:
      "As seen in the network namespace of this service. Addresses are those that `ip` shows; without it, those of links that are up and have a carrier. Listening sockets and the units of their processes come from `ss`; without it, they are unknown and the rest is shown.",
    scope: "system:read",
    effect: "read",
    response: NetworkState,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
