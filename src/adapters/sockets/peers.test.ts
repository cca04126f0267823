import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createPeerLookup, peerIn } from "./peers.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A connection on this machine, as the side that accepts it has it. */
async function accepted(host: string, from?: string): Promise<{ readonly socket: Socket; readonly client: Socket }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const taken = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const client = connect({ host, port, ...(from !== undefined && { localAddress: from }) });
  const socket = await taken;
  closers.push(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  return { socket, client };
}

describe("the user of a local TCP peer", () => {
  it.each([
    ["over IPv4", "127.0.0.1", undefined],
    ["from another address of loopback", "127.0.0.1", "127.7.8.9"],
    ["over IPv6", "::1", undefined],
  ])("is found %s", async (_, host, from) => {
    const { socket } = await accepted(host, from);
    expect(await createPeerLookup()(socket)).toBe(process.getuid?.());
  });

  it("is found for many connections at once", async () => {
    const lookup = createPeerLookup();
    const all = await Promise.all(Array.from({ length: 50 }, () => accepted("127.0.0.1")));
    const users = await Promise.all(all.map(({ socket }) => lookup(socket)));
    expect(new Set(users)).toEqual(new Set([process.getuid?.()]));
  });

  it("is unknown once the connection is closed", async () => {
    const { socket, client } = await accepted("127.0.0.1");
    const ends = { ...endsOf(socket) };
    const gone = new Promise((resolve) => socket.once("close", resolve));
    client.destroy();
    socket.resume();
    await gone;
    expect(await createPeerLookup()(ends)).toBeUndefined();
  });
});

const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket) => ({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
});

it("the user of a local TCP peer is read from the line of the client, not of the server", () => {
  const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:10DE 0100007F:C001 01 00000000:00000000 00:00000000 00000000   998        0 20 1 0 20 4 0 10 -1
   1: 0100007F:C001 0100007F:10DE 01 00000000:00000000 00:00000000 00000000  1001        0 21 1 0 20 4 0 10 -1
   2: 0100007F:C002 0100007F:10DE 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 0 10 -1
   3: 0000000000000000FFFF00000100007F:C003 0000000000000000FFFF00000100007F:10DE 01 00000000:00000000 00:00000000 00000000  1002        0 22 1 0 20 4 0 10 -1
   4: 00000000000000000000000001000000:C001 00000000000000000000000001000000:10DE 01 00000000:00000000 00:00000000 00000000  1003        0 23 1 0 20 4 0 10 -1
`;
  const from = (remotePort: number, address = "127.0.0.1") =>
    peerIn(text, { remoteAddress: address, remotePort, localAddress: address, localPort: 0x10de });
  expect([from(0xc001), from(0xc002), from(0xc003), from(0xc004)]).toEqual([1001, undefined, 1002, undefined]);
  expect([from(0xc001, "::1"), from(0xc001, "::ffff:127.0.0.1")]).toEqual([1003, 1001]);
});
