import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseIpv4, parseIpv6 } from "./links.ts";

const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT";

describe("routes of the kernel", () => {
  it("of IPv4 have networks, gateways and unreachable targets", () => {
    const text = [
      head,
      "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0",
      "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
      "*\t006433C6\t00000000\t0001\t0\t0\t7\t00FFFFFF\t0\t0\t0",
      "eth1\t000200C0\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0",
      "odd",
    ].join("\n");
    const route = { family: "ipv4", type: "unicast", gateway: null, link: "eth0", metric: 0 };
    expect(parseIpv4(text)).toEqual([
      { ...route, destination: "default", gateway: "192.0.2.1", metric: 100 },
      { ...route, destination: "192.0.2.0/24" },
      { ...route, destination: "198.51.100.0/24", type: "unreachable", link: null, metric: 7 },
    ]);
  });

  it("of IPv6 are those that lead elsewhere", () => {
    const none = "0".repeat(32);
    const text = [
      `20010db8${"0".repeat(24)} 40 ${none} 00 ${none} 00000100 1 0 00000001 eth0`,
      `${none} 00 ${none} 00 fe80${"0".repeat(27)}1 00000400 1 0 00000003 eth0`,
      `${none} 00 ${none} 00 ${none} ffffffff 1 0 00200200 lo`,
      `${none.slice(1)}1 80 ${none} 00 ${none} 00000000 3 0 80200001 lo`,
      `ff${none.slice(2)} 08 ${none} 00 ${none} 00000100 1 0 00000001 eth0`,
      "odd",
    ].join("\n");
    const route = { family: "ipv6", type: "unicast", link: "eth0" };
    expect(parseIpv6(text)).toEqual([
      { ...route, destination: "2001:db8::/64", gateway: null, metric: 256 },
      { ...route, destination: "default", gateway: "fe80::1", metric: 1024 },
    ]);
  });

  it("are routes or none, whatever the files hold", () => {
    const word = fc.oneof(fc.constantFrom("0".repeat(32), "00000003", "40", "eth0", "ffffffff"), fc.string());
    const text = fc
      .array(fc.array(word, { maxLength: 11 }).map((words) => words.join(" ")))
      .map((all) => all.join("\n"));
    fc.assert(
      fc.property(text, (lines) => {
        for (const { destination, metric } of [...parseIpv4(lines), ...parseIpv6(lines)]) {
          expect(destination).toMatch(/^default$|\/\d+$/);
          expect(Number.isFinite(metric)).toBe(true);
        }
      }),
    );
  });
});
