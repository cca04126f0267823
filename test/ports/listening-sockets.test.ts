import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createListeningSockets } from "#adapters/sockets/index.ts";
import type { OpenPort } from "#domain/ports/network.ts";
import { createFakeListeningSockets, fakeOpenPort, fakeSocketOwner } from "../fakes/listening-sockets.ts";

const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, remote: string, state: string, inode: number): string =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100 0 0 10 0\n`;
const all4 = "00000000";
const all6 = "0".repeat(32);

let procDir: string;
beforeAll(() => {
  procDir = mkdtempSync(join(tmpdir(), "steward-sockets-"));
  mkdirSync(join(procDir, "net"));
  mkdirSync(join(procDir, "sys/net/ipv4"), { recursive: true });
  writeFileSync(join(procDir, "sys/net/ipv4/ip_local_port_range"), "32768\t60999\n");
  writeFileSync(join(procDir, "net/tcp"), header + row(`${all4}:0050`, `${all4}:0000`, "0A", 4711));
  writeFileSync(join(procDir, "net/udp6"), header + row(`${all6}:0035`, `${all6}:0000`, "07", 4712));
  mkdirSync(join(procDir, "42/fd"), { recursive: true });
  writeFileSync(join(procDir, "42/comm"), "nginx\n");
  writeFileSync(join(procDir, "42/status"), "Name:\tnginx\nPid:\t42\nPPid:\t1\n");
  writeFileSync(join(procDir, "42/cgroup"), "0::/system.slice/nginx.service\n");
  symlinkSync("socket:[4711]", join(procDir, "42/fd/3"));
});
afterAll(() => rmSync(procDir, { recursive: true }));

const expected: readonly OpenPort[] = [
  fakeOpenPort(),
  { protocol: "udp", port: 53, address: "::", families: ["ipv4"], inode: 4712 },
];

describe.each([
  ["fake", () => createFakeListeningSockets(expected, { 4711: "nginx" }), () => createFakeListeningSockets([])],
  ["procfs", () => createListeningSockets(procDir), () => createListeningSockets("/nonexistent")],
])("listening sockets: %s", (_, make, makeNone) => {
  it("are listed", async () => {
    expect(await make().open()).toEqual(expected);
  });

  it("have owners, unless they are elsewhere", async () => {
    expect([...(await make().owners([4711, 4712, 0]))]).toEqual([[4711, fakeSocketOwner("nginx")]]);
  });

  it("are listed without kinds of addresses too", async () => {
    expect(await make().listening()).toEqual(
      expected.map(({ protocol, port, address, inode }) => {
        return { protocol, port, address, inode, isLoopback: false, mayBeGivenOut: false };
      }),
    );
  });

  it("may be none", async () => {
    expect(await makeNone().open()).toEqual([]);
  });
});

describe("owners of listening sockets", () => {
  it.each([
    ["the first process", "1", "0", "init.scope", true],
    ["one that it started", "42", "1", "web.service", true],
    ["one that another one of the unit started", "43", "42", "web.service", false],
    ["one in no unit", "44", "1", null, true],
  ])("are told by their parents: %s", async (_, pid, parent, unit, isMain) => {
    const dir = mkdtempSync(join(tmpdir(), "steward-sockets-"));
    try {
      mkdirSync(join(dir, pid, "fd"), { recursive: true });
      writeFileSync(join(dir, pid, "comm"), "a web\n");
      writeFileSync(join(dir, pid, "status"), `Name:\ta web\nPid:\t${pid}\nPPid:\t${parent}\nTracerPid:\t1\n`);
      writeFileSync(join(dir, pid, "cgroup"), unit === null ? "0::/\n" : `0::/system.slice/${unit}\n`);
      symlinkSync("socket:[7]", join(dir, pid, "fd/3"));
      const owners = await createListeningSockets(dir).owners([7]);
      expect(owners.get(7)).toEqual({ program: "a web", unit, isMain });
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("all listening sockets", () => {
  it("are those on loopback too, and TCP ports that the kernel may have given out", async () => {
    const dir = mkdtempSync(join(tmpdir(), "steward-sockets-"));
    try {
      mkdirSync(join(dir, "net"));
      const rows = [row("0100007F:1538", `${all4}:0000`, "0A", 1), row(`${all4}:9C40`, `${all4}:0000`, "0A", 2)];
      writeFileSync(join(dir, "net/tcp"), header + rows.join(""));
      writeFileSync(join(dir, "net/udp"), header + row(`${all4}:9C40`, `${all4}:0000`, "07", 3));
      expect(await createListeningSockets(dir).listening()).toEqual([
        { protocol: "tcp", port: 5432, address: "127.0.0.1", inode: 1, isLoopback: true, mayBeGivenOut: false },
        { protocol: "tcp", port: 40_000, address: "0.0.0.0", inode: 2, isLoopback: false, mayBeGivenOut: true },
      ]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("listening sockets of this machine", () => {
  it("are those beyond loopback, with this process as their owner", async () => {
    const everywhere = createServer().listen(0, "0.0.0.0");
    const inside = createServer().listen(0, "127.0.0.1");
    try {
      await Promise.all([once(everywhere, "listening"), once(inside, "listening")]);
      const portOf = (server: typeof inside): number => {
        const address = server.address();
        return typeof address === "object" && address !== null ? address.port : 0;
      };
      const sockets = createListeningSockets();
      const open = await sockets.open();
      const found = open.find(({ port, protocol }) => protocol === "tcp" && port === portOf(everywhere));
      expect(found).toMatchObject({ address: "0.0.0.0", families: ["ipv4"] });
      expect(open.filter(({ port, protocol }) => protocol === "tcp" && port === portOf(inside))).toEqual([]);
      const inode = found?.inode ?? 0;
      const own = readFileSync("/proc/self/comm", "utf8").trim();
      expect((await sockets.owners([inode])).get(inode)?.program).toBe(own);
    } finally {
      everywhere.close();
      inside.close();
    }
  });

  it("do not count a UDP socket whose port the kernel chose", async () => {
    const asking = createSocket("udp4");
    try {
      asking.bind(0, "0.0.0.0");
      await once(asking, "listening");
      const { port } = asking.address();
      const open = await createListeningSockets().open();
      expect(open.filter((each) => each.protocol === "udp" && each.port === port)).toEqual([]);
    } finally {
      asking.close();
    }
  });
});
