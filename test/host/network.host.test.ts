import { expect, it } from "vitest";
import type { ErrorBody } from "#contract/error-body.ts";
import type { NetworkState } from "#contract/network.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

interface Shown {
  readonly ifname: string;
  readonly mtu: number;
  readonly flags: readonly string[];
  readonly addr_info: readonly {
    readonly local: string;
    readonly prefixlen: number;
    readonly scope: string;
    readonly address?: string;
    readonly label?: string;
  }[];
}

describeOnHost("the network", { privateNetwork: true }, (session) => {
  const { shell } = session;
  const ask = async (): Promise<unknown> =>
    JSON.parse(
      await shell(`curl -s -H 'X-API-Key: ${session.service.adminKey}' '${session.service.url}/api/v1/system/network'`),
    );
  const state = async (): Promise<NetworkState> => {
    const answer = (await ask()) as NetworkState | ErrorBody;
    if ("error" in answer) throw new Error(JSON.stringify(answer));
    return answer;
  };

  it("has the links, addresses and routes of ip", async () => {
    await shell(
      [
        "ip link set lo up && ip link add steward0 type veth peer name peer0 && ip link set peer0 up && ip link set steward0 mtu 1400 up",
        "ip addr add 192.0.2.7/24 dev steward0 && ip addr add 2001:db8::7/64 dev steward0 nodad",
        "ip addr add 198.18.0.8/24 scope link label steward0:web dev steward0 && ip addr add 10.0.0.1 peer 10.0.0.2/32 dev steward0",
        // Neither has a carrier, and one is down.
        "ip addr add 198.51.100.9/24 dev peer0 && ip link add down0 type veth peer name down1 && ip addr add 203.0.113.9/32 dev down0",
        "ip link add br7 type bridge && ip link set steward0 master br7",
        "ip route add blackhole 198.51.100.0/24 metric 7 && ip route add 203.0.113.0/24 via 192.0.2.1",
      ].join(" && "),
    );
    const theirs = JSON.parse(await shell("ip -json address show")) as Shown[];
    const { links, routes, routes_total: total } = await state();
    expect(
      links.map(({ name, mtu, is_up: isUp, addresses }) => [
        ...[name, mtu, isUp],
        addresses.map(({ address, prefix_length: length, scope, peer, label }) => [
          address,
          length,
          scope,
          peer,
          label,
        ]),
      ]),
    ).toEqual(
      theirs
        .toSorted((a, b) => (a.ifname < b.ifname ? -1 : 1))
        .map(({ ifname, mtu, flags, addr_info: addresses }) => [
          ...[ifname, mtu, flags.includes("UP")],
          addresses.map(({ local, prefixlen, scope, address, label }) => [
            ...[local, prefixlen, scope, address],
            label === ifname ? undefined : label,
          ]),
        ]),
    );
    expect(links.find(({ name }) => name === "steward0")).toMatchObject({ kind: "ether", master: "br7", mtu: 1400 });
    const lines = `${await shell("ip -4 route show")}${await shell("ip -6 route show")}`.trim().split("\n");
    expect([total, routes.length]).toEqual([lines.length, lines.length]);
    expect(routes).toContainEqual(
      expect.objectContaining({
        destination: "203.0.113.0/24",
        gateway: "192.0.2.1",
        link: "steward0",
        type: "unicast",
      }),
    );
    expect(routes).toContainEqual(
      expect.objectContaining({ destination: "198.51.100.0/24", gateway: null, type: "unreachable", metric: 7 }),
    );
    await shell("ip link delete steward0 && ip link delete br7 && ip route delete blackhole 198.51.100.0/24 metric 7");
  });

  it("has listening sockets with their units", async () => {
    const program = (words: string): readonly string[] => [
      "[Service]",
      `ExecStart=/usr/bin/python3 -c "import socket,time; ${words}; time.sleep(1000)"`,
    ];
    await session.writeUnits({
      "tcp4.service": program("s=socket.create_server(('127.0.0.1', 7001))"),
      "tcp6.service": program("s=socket.create_server(('::', 7002), family=socket.AF_INET6, dualstack_ipv6=True)"),
      "udp4.service": program("s=socket.socket(type=socket.SOCK_DGRAM); s.bind(('0.0.0.0', 7003))"),
      "a.socket": ["[Socket]", "ListenStream=[::1]:7004", "Accept=yes"],
      "a@.service": ["[Service]", "ExecStart=/bin/true"],
    });
    await shell("systemctl start tcp4 tcp6 udp4 a.socket");
    await eventually(async () => {
      const { listeners, notes } = await state();
      expect(notes).toEqual([]);
      expect(listeners?.filter(({ port }) => port >= 7001 && port <= 7004)).toEqual([
        { protocol: "tcp", address: "127.0.0.1", port: 7001, unit: "tcp4.service" },
        { protocol: "tcp", address: "::", port: 7002, unit: "tcp6.service" },
        { protocol: "udp", address: "0.0.0.0", port: 7003, unit: "udp4.service" },
        { protocol: "tcp", address: "::1", port: 7004, unit: expect.stringMatching(/^(a\.socket|init\.scope)$/) },
      ]);
      const own = Number(new URL(session.service.url).port);
      expect(listeners?.find(({ port }) => port === own)).toMatchObject({ unit: "steward.service" });
    });
    await shell("systemctl stop tcp4 tcp6 udp4 a.socket");
  });

  it("has a note instead of listening sockets where ss is not installed", async () => {
    const path = (await shell("readlink -f $(command -v ss)")).trim();
    await shell(`mv ${path} ${path}.away`);
    const { links, listeners, notes } = await state();
    await shell(`mv ${path}.away ${path}`);
    expect(links.length).toBeGreaterThan(0);
    expect([listeners, notes]).toEqual([null, [expect.stringContaining("ss is not installed")]]);
  });
});
