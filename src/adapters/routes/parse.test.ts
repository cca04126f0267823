import { expect, it } from "vitest";
import { parseIpv4Routes, parseIpv6Routes } from "./index.ts";

const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

it("default routes: those of IPv4 are found, and no others", () => {
  const text =
    head +
    "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0   \n" +
    "wg0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n" +
    "tun0\t00000000\t010200C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n" +
    "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n" +
    "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
  expect(parseIpv4Routes(text)).toEqual([
    { interface: "eth0", gateway: "192.0.2.1" },
    { interface: "wg0", gateway: null },
  ]);
  expect(parseIpv4Routes(head)).toEqual([]);
  expect(parseIpv4Routes("")).toEqual([]);
});

it("default routes: those of IPv6 are found, without the one that rejects everything", () => {
  const zero = "0".repeat(32);
  const text =
    `${zero} 00 ${zero} 00 20010db8000000000000000000000001 00000400 00000003 00000000 00000003     eth0\n` +
    `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo\n` +
    `20010db8000000000000000000000000 40 ${zero} 00 ${zero} 00000100 00000001 00000000 00000001     eth0\n`;
  expect(parseIpv6Routes(text)).toEqual([{ interface: "eth0", gateway: "2001:db8::1" }]);
  expect(parseIpv6Routes("")).toEqual([]);
});
