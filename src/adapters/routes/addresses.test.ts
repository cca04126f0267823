import { expect, it } from "vitest";
import { parseAddresses } from "./addresses.ts";

it("addresses are read from ip with their labels, peers and scopes, also of links that are down", () => {
  const address = (given: Record<string, unknown>) => ({ family: "inet", prefixlen: 24, scope: "global", ...given });
  const links = [
    {
      ifname: "eth0",
      operstate: "DOWN",
      addr_info: [
        address({ local: "192.0.2.7", label: "eth0" }),
        address({ local: "192.0.2.8", label: "eth0:web", scope: "link" }),
        address({ local: "10.0.0.1", address: "10.0.0.2", prefixlen: 32, label: "eth0" }),
        { family: "inet6", local: "fe80::1", prefixlen: 64, scope: "link" },
        { family: "bridge", local: "x" },
      ],
    },
    { ifname: "eth1", addr_info: [] },
    {},
  ];
  const ipv4 = { family: "ipv4", prefixLength: 24, scope: "global" };
  expect(parseAddresses(JSON.stringify(links))).toEqual(
    new Map([
      [
        "eth0",
        [
          { ...ipv4, address: "192.0.2.7" },
          { ...ipv4, address: "192.0.2.8", label: "eth0:web", scope: "link" },
          { ...ipv4, address: "10.0.0.1", peer: "10.0.0.2", prefixLength: 32 },
          { family: "ipv6", address: "fe80::1", prefixLength: 64, scope: "link" },
        ],
      ],
      ["eth1", []],
    ]),
  );
  for (const text of ["", "{}", "[", "null"]) expect(parseAddresses(text)).toBeUndefined();
});
