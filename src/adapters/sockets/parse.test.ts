import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openPorts } from "./open-ports.ts";
import { hasGlobalIpv6, parsePortRange, parseSockets, states, toAddress } from "./parse.ts";

/** As the kernel printed them; the addresses are of no host. */
const tcp = [
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
  "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1001 1 0000000000000000 100 0 0 10 0",
  "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1002 1 0000000000000000 100 0 0 10 0",
  "   2: 020200C0:0016 090200C0:C001 01 00000000:00000000 00:00000000 00000000     0        0 1003 1 0000000000000000 20 4 30 10 -1",
].join("\n");
const tcp6 = [
  "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
  "   0: B80D0120000000000000000001000000:01BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 1004 1 0000000000000000 100 0 0 10 0",
  "   1: 00000000000000000000000001000000:0277 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1005 1 0000000000000000 100 0 0 10 0",
  "   2: 0000000000000000FFFF00000100007F:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1006 1 0000000000000000 100 0 0 10 0",
  "   3: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1007 1 0000000000000000 100 0 0 10 0",
].join("\n");
const udp = [
  "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops",
  "  100: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 2001 2 0000000000000000 0",
  "  101: 00000000:9C40 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 2002 2 0000000000000000 0",
  "  102: 020200C0:007B 090200C0:007B 01 00000000:00000000 00:00000000 00000000     0        0 2003 2 0000000000000000 0",
  "  103: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 2004 2 0000000000000000 0",
].join("\n");

const facts = { givenOut: { first: 32768, last: 60999 }, hasGlobalIpv6: true };
const open = (given = facts) =>
  openPorts(
    { listening: parseSockets(`${tcp}\n${tcp6}`, states.listen), unconnected: parseSockets(udp, states.close) },
    given,
  );

describe("open ports", () => {
  it("are those reachable from outside, over which address family", () => {
    expect(open().map(({ port, protocol }) => `${port}/${protocol}`)).toEqual([
      "22/tcp",
      "443/tcp",
      "80/tcp",
      "53/udp",
    ]);
    expect(open().map(({ address }) => address)).toEqual(["0.0.0.0", "2001:db8::1", "::", "0.0.0.0"]);
    expect(open().map(({ inode }) => inode)).toEqual([1002, 1004, 1007, 2001]);
    expect(open().map(({ families }) => families)).toEqual([["ipv4"], ["ipv6"], ["ipv4", "ipv6"], ["ipv4"]]);
    expect(open({ ...facts, hasGlobalIpv6: false }).map(({ families }) => families)[2]).toEqual(["ipv4"]);
    const few = { ...facts, givenOut: { first: 50_000, last: 60_000 } };
    expect(open(few).map(({ port }) => port)).toContain(40_000);
  });
});

describe("/proc/net", () => {
  it("has every IPv4 address, the ephemeral range, and whether there is a global IPv6 address", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (bytes) => {
        const hex = Buffer.from(bytes).reverse().toString("hex").toUpperCase();
        expect(toAddress(hex)).toBe([...bytes].join("."));
      }),
    );
    expect(parsePortRange("1024\t2048\n")).toEqual({ first: 1024, last: 2048 });
    expect(parsePortRange("")).toEqual({ first: 32768, last: 60999 });
    const loopback = "00000000000000000000000000000001 01 80 10 80       lo\n";
    const link = "fe800000000000000000000000000001 02 40 20 80     eth0\n";
    const global = "20010db8000000000000000000000001 02 40 00 80     eth0\n";
    expect([loopback + link, loopback + link + global, ""].map(hasGlobalIpv6)).toEqual([false, true, false]);
  });

  it("is read whatever it holds", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseSockets(`${text} 0A `, states.listen)).toEqual([]);
      }),
    );
  });
});
