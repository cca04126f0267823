import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectionLimits, watchConnections } from "./connections.ts";

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number;
  destroyed = false;
  constructor(remoteAddress: string | undefined, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit("close");
  }
}

function start(
  limits: { readonly total: number; readonly perAddress: number },
  trustedProxies: readonly string[] = [],
) {
  const server = new EventEmitter();
  let full = 0;
  const onFull = (): void => {
    full += 1;
  };
  // What is used of a server and of sockets is that they emit events.
  const connections = watchConnections(server as unknown as Server, { limits, trustedProxies, onFull });
  let port = 0;
  const open = (address: string | undefined): FakeSocket => {
    port += 1;
    const socket = new FakeSocket(address, port);
    server.emit("connection", socket);
    return socket;
  };
  const begin = (socket: FakeSocket): EventEmitter => {
    const response = new EventEmitter();
    server.emit("request", { socket }, response);
    return response;
  };
  const admit = (socket: FakeSocket): void => connections.admitted(socket as unknown as Socket);
  return { server, connections, open, begin, admit, full: () => full };
}

const live = (sockets: readonly FakeSocket[]): number => sockets.filter(({ destroyed }) => !destroyed).length;

describe("connections", () => {
  it.each([
    ["one address", ["192.0.2.1", "192.0.2.1"]],
    ["an address in either notation", ["192.0.2.1", "::ffff:192.0.2.1"]],
    ["one IPv6 network", ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2"]],
    ["loopback", ["127.0.0.1", "127.8.9.10", "::1"]],
  ])("of %s have one share", (_, addresses) => {
    const { open } = start({ total: 100, perAddress: 10 });
    const sockets = Array.from({ length: 40 }, (_each, at) => open(addresses[at % addresses.length]));
    expect(live(sockets)).toBe(10);
    expect(live(sockets.slice(-10))).toBe(10);
    expect(open("198.51.100.1").destroyed).toBe(false);
  });

  it("of a trusted proxy may be all", () => {
    const { open } = start({ total: 20, perAddress: 10 }, ["10.0.0.0/8", "2001:db8::1"]);
    expect(live(Array.from({ length: 30 }, () => open("10.1.2.3")))).toBe(20);
    expect(live(Array.from({ length: 30 }, () => open("10.1.2.4")))).toBeLessThanOrEqual(20);
  });

  it("are closed in this order: anonymous and idle, anonymous, idle; never with an authorized request", () => {
    const { open, begin, admit } = start({ total: 100, perAddress: 4 });
    const [busy, idle, asking, silent] = [open("::1"), open("::1"), open("::1"), open("::1")] as const;
    admit(busy);
    begin(busy);
    admit(idle);
    begin(asking);
    const ended: FakeSocket[] = [];
    for (const socket of [silent, asking]) {
      const next = open("::1");
      admit(next);
      begin(next);
      ended.push(socket);
      expect(ended.map(({ destroyed }) => destroyed)).toEqual(ended.map(() => true));
      expect(idle.destroyed).toBe(false);
    }
    const last = open("::1");
    admit(last);
    begin(last);
    expect(idle.destroyed).toBe(true);
    expect(open("::1").destroyed).toBe(true);
    expect(busy.destroyed).toBe(false);
  });

  it("that have just been made are left the time to show a key where a flood of others is busy", () => {
    const { open, begin } = start({ total: 100, perAddress: 10 });
    const flood = Array.from({ length: 9 }, () => open("::1"));
    for (const socket of flood) begin(socket);
    const newcomer = open("::1");
    const others = Array.from({ length: 4 }, () => open("::1"));
    expect([newcomer.destroyed, live(others), live(flood)]).toEqual([false, 4, 5]);
  });

  it("are idle again after their answers, and do not count once closed", () => {
    const { open, begin, admit, connections } = start({ total: 100, perAddress: 2 });
    const [one, two] = [open("192.0.2.1"), open("192.0.2.1")] as const;
    admit(one);
    admit(two);
    const responses = [begin(one), begin(one), begin(two)] as const;
    expect(open("192.0.2.1").destroyed).toBe(true);
    responses[0].emit("close");
    expect(open("192.0.2.1").destroyed).toBe(true);
    responses[1].emit("close");
    expect(open("192.0.2.1").destroyed).toBe(false);
    expect(one.destroyed).toBe(true);
    two.destroy();
    expect(open("192.0.2.1").destroyed).toBe(false);
    expect(connections.count()).toBe(2);
  });

  it("over TLS count from their first packet", () => {
    const { open, server, admit } = start({ total: 100, perAddress: 2 });
    const below = open("192.0.2.1");
    const above = new FakeSocket(below.remoteAddress, below.remotePort);
    server.emit("secureConnection", above);
    admit(above);
    for (let count = 0; count < 10; count += 1) open("192.0.2.1");
    expect(below.destroyed).toBe(false);
  });

  it("keep the shares of addresses in any order of events", () => {
    const limits = { total: 24, perAddress: 12 };
    const address = fc.constantFrom("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "127.0.0.1", "127.0.0.2");
    const event = fc.tuple(fc.constantFrom("open", "open", "open", "begin", "close"), address, fc.nat(99));
    fc.assert(
      fc.property(fc.array(event, { maxLength: 400 }), (events) => {
        const { open, begin, admit } = start(limits);
        const administrator = open("198.51.100.7");
        admit(administrator);
        begin(administrator);
        const sockets: FakeSocket[] = [];
        for (const [what, from, which] of events) {
          const socket = sockets[which % Math.max(1, sockets.length)];
          if (what === "open") sockets.push(open(from));
          else if (what === "begin" && socket !== undefined) begin(socket);
          else socket?.destroy();
          const open_ = sockets.filter(({ destroyed }) => !destroyed);
          expect(open_.length + 1).toBeLessThanOrEqual(limits.total);
          for (const each of ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
            expect(open_.filter(({ remoteAddress }) => remoteAddress === each).length).toBeLessThanOrEqual(12);
          expect(open_.filter(({ remoteAddress }) => remoteAddress?.startsWith("127.")).length).toBeLessThanOrEqual(12);
        }
        expect(administrator.destroyed).toBe(false);
        expect(open("203.0.113.9").destroyed).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

describe("limits of connections", () => {
  it.each([0, 129, 160, 700, 1024, 65_536])("have shares for the Unix sockets with %s file descriptors", (files) => {
    const { tcp, members, administrator } = connectionLimits(files);
    for (const { total, perAddress } of [tcp, members, administrator]) {
      expect(total).toBeGreaterThanOrEqual(4);
      expect(perAddress).toBeLessThanOrEqual(total);
    }
    expect(tcp.total).toBeLessThanOrEqual(4096);
  });
});
