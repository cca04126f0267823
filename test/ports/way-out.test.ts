import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/package/project.ts";

const link = "ip link set lo up && ip link add w0 type veth peer name w1 && ip link set w0 up && ip link set w1 up && ";
const inNetwork = (script: string): readonly [string, readonly string[]] => ["unshare", ["--net", "sh", "-c", script]];
const probe = spawnSync(...(inNetwork(`${link}true`) as [string, string[]]));
const missing = probe.status === 0 ? undefined : "needs root and ip, to make networks";
if (missing !== undefined) process.stdout.write(`skipped: ways out of a network: ${missing}\n`);

/** Lists the default routes in a network of its own, with a link w0 that has addresses, after some commands of ip. */
function routesAfter(...commands: readonly string[]): unknown {
  const addresses = ["ip addr add 192.0.2.5/24 dev w0", "ip -6 addr add 2001:db8::5/64 dev w0 nodad"];
  const list = `import { createDefaultRoutes } from "#adapters/routes/index.ts";
    console.log(JSON.stringify(await createDefaultRoutes().list()));`;
  const script = `${link}${[...addresses, ...commands].join(" && ")} && exec "$NODE" --input-type=module -e "$LIST"`;
  const output = execFileSync(...(inNetwork(script) as [string, string[]]), {
    cwd: root,
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", NODE: process.execPath, LIST: list },
    encoding: "utf8",
  });
  return JSON.parse(output);
}

describe.skipIf(missing !== undefined)("the way out, as the kernel finds it", () => {
  const out = (family: string) => ({ family, interface: "w0", gateway: null, isUp: true });

  it.each([
    ["a default route", ["ip route add default dev w0"]],
    ["the two half routes of a VPN", ["ip route add 0.0.0.0/1 dev w0", "ip route add 128.0.0.0/1 dev w0"]],
    [
      "a default route in another table with a rule",
      ["ip route add default dev w0 table 100", "ip rule add from all lookup 100"],
    ],
  ])("is %s", (_, commands) => {
    expect(routesAfter(...commands)).toEqual([out("ipv4")]);
  });

  it("of IPv6 may be a default route in another table with a rule", () => {
    expect(routesAfter("ip -6 route add default dev w0 table 100", "ip -6 rule add from all lookup 100")).toEqual([
      out("ipv6"),
    ]);
  });

  it.each([
    ["nothing but the own network", []],
    ["half of the addresses", ["ip route add 0.0.0.0/1 dev w0"]],
    ["a blackhole", ["ip route add blackhole default"]],
    ["a default route that refuses", ["ip route add unreachable default"]],
    ["a table that no rule names", ["ip route add default dev w0 table 100"]],
  ])("is not %s", (_, commands) => {
    expect(routesAfter(...commands)).toEqual([]);
  });
});
