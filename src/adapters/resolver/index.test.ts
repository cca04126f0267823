import { expect, it } from "vitest";
import { parseNameServers } from "./index.ts";

it("the servers of resolv.conf are read in order, as the resolver of the system does", () => {
  const text = [
    "# nameserver 192.0.2.9",
    "; nameserver 192.0.2.8",
    "search example.test",
    "nameserver 192.0.2.1 # first",
    "nameserver\t2001:db8::1",
    "nameservers 192.0.2.7",
    "nameserver not-an-address",
    "nameserver fe80::1%eth0",
    "nameserver 192.0.2.4",
    "options timeout:1",
  ].join("\n");
  expect(parseNameServers(text)).toEqual(["192.0.2.1", "2001:db8::1", "fe80::1%eth0"]);
  expect(parseNameServers("")).toEqual([]);
});
