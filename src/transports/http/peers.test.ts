import { expect, it } from "vitest";
import { addressGroup } from "./peers.ts";

it("a client address is grouped in any notation: IPv4 by address, IPv6 by network", () => {
  expect(addressGroup("192.0.2.1")).toBe("192.0.2.1");
  expect(addressGroup("::ffff:192.0.2.1")).toBe("192.0.2.1");
  expect(addressGroup("2001:db8::1")).toBe("2001:db8:0:0");
  expect(addressGroup("2001:0db8:0:0:1::9")).toBe("2001:db8:0:0");
  expect(addressGroup("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2");
  expect(addressGroup("::1")).toBe("0:0:0:0");
  expect(addressGroup("fe80::1%eth0")).toBe("fe80:0:0:0");
  for (const form of ["::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:c000:0201", "192.0.2.1:50000"]) {
    expect([form, addressGroup(form)]).toEqual([form, "192.0.2.1"]);
  }
  for (const form of ["2001:DB8:0:0::1", "[2001:db8::9]:443", "2001:db8:0:0:1:2:192.0.2.1"]) {
    expect([form, addressGroup(form)]).toEqual([form, "2001:db8:0:0"]);
  }
  for (const form of ["", "unknown", "_hidden", "guess-1", "guess-2"]) expect(addressGroup(form)).toBe("");
});
