import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { createNameServers } from "#adapters/resolver/index.ts";
import { createDefaultRoutes } from "#adapters/routes/index.ts";
import { createLinks } from "#adapters/routes/links.ts";
import { createListeningSockets, describeListener } from "#adapters/sockets/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import { createListeners } from "#adapters/systemd/listeners.ts";
import { fakeLink } from "../fakes/links.ts";
import { fakeOpenPort, fakeSocketOwner } from "../fakes/listening-sockets.ts";
import { directoryPerTest, directoryWith, writeFiles } from "./support/directories.ts";
import { notInstalled, printing } from "./support/programs.ts";

const { signal } = new AbortController();
const at = directoryPerTest();
const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

describe("default routes", () => {
  /** Whatever this machine has. */
  const noOther = () => Promise.resolve([]);
  const procNet = directoryWith({
    route:
      "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" +
      "lo\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
      "nosuch0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n",
  });

  it("are listed with their gateway and the state of their interface", async () => {
    expect(await createDefaultRoutes(procNet, noOther).list()).toEqual([
      { family: "ipv4", interface: "lo", gateway: "192.0.2.1", isUp: true },
      { family: "ipv4", interface: "nosuch0", gateway: null, isUp: false },
    ]);
    expect(await createDefaultRoutes("/nonexistent", noOther).list()).toEqual([]);
  });
});

describe("links", () => {
  const values = {
    ...{ ifindex: "7", operstate: "up", flags: "0x1003", carrier: "1", mtu: "1500", address: "02:00:00:00:00:01" },
    ...{ speed: "-1", type: "1", uevent: "INTERFACE=steward-x\nIFINDEX=7\nDEVTYPE=vlan\n" },
  };
  const root = directoryWith({
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [`class/net/steward-x/${name}`, `${value}\n`])),
    // No link: a file that the driver of bonds has there.
    "class/net/bonding_masters": "\n",
    route: "Iface\nsteward-x\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n",
  });
  symlinkSync("../br0", join(root, "class/net/steward-x/master"));

  it("are listed with routes, and the loopback of this machine is one", async () => {
    const links = createLinks({ sysDir: root, procNet: root });
    expect(await links.links()).toEqual([fakeLink("steward-x", { kind: "vlan", master: "br0" })]);
    expect(await links.routes()).toMatchObject([{ destination: "default", gateway: "192.0.2.1" }]);
    const loopback = { name: "lo", kind: "loopback", mac: null };
    expect(await createLinks().links()).toContainEqual(expect.objectContaining(loopback));
  });

  it("that the kernel does not show fail with what is missing", async () => {
    await expect(createLinks({ sysDir: join(root, "nothing") }).links()).rejects.toMatchObject({
      details: { missing: expect.stringContaining("class/net"), retryable: false },
    });
  });
});

describe("listeners by ss", () => {
  const table = [
    "tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* cgroup:/system.slice/web.service/worker",
    "tcp LISTEN 0 511 0.0.0.0:80 0.0.0.0:* cgroup:/system.slice/web.service/worker",
    "udp UNCONN 0 0 [::1]:53 [::]:* cgroup:unreachable:2a",
    "tcp LISTEN 0 5 *:22 *:* cgroup:unreachable:ff",
    "tcp LISTEN 0 5 127.0.0.1:7 *:* cgroup:/user.slice/user-1000.slice/session-3.scope",
  ].join("\n");

  it("have their units, by the port", async () => {
    const groups = () => new Map([["2a", "/system.slice/dns.service"]]);
    expect(await createListeners({ exec: printing(table), groups }).list(signal)).toEqual([
      { protocol: "tcp", address: "127.0.0.1", port: 7, unit: "session-3.scope" },
      { protocol: "tcp", address: "::", port: 22, unit: null },
      { protocol: "udp", address: "::1", port: 53, unit: "dns.service" },
      { protocol: "tcp", address: "0.0.0.0", port: 80, unit: "web.service" },
    ]);
  });

  it.each<[string, Exec, boolean]>([
    ["is not installed", notInstalled, false],
    ["fails", printing("", { exitCode: 1 }), true],
  ])("are unavailable where ss %s", async (_, exec, retryable) => {
    const listed = createListeners({ exec }).list(signal);
    await expect(listed).rejects.toMatchObject({ details: { missing: "ss", retryable } });
  });
});

describe("listening sockets", () => {
  const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
  const row = (local: string, remote: string, state: string, inode: number): string =>
    `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100 0 0 10 0\n`;
  const [all4, all6] = ["0".repeat(8), "0".repeat(32)];
  const writeProcess = (root: string, pid: string, parent: string, cgroup: string, inode: number): void => {
    writeFiles(root, {
      [`${pid}/comm`]: "a web\n",
      [`${pid}/status`]: `Name:\ta web\nPid:\t${pid}\nPPid:\t${parent}\nTracerPid:\t1\n`,
      [`${pid}/cgroup`]: `0::${cgroup}\n`,
    });
    mkdirSync(join(root, pid, "fd"));
    symlinkSync(`socket:[${inode}]`, join(root, pid, "fd/3"));
  };

  it("are listed by families of addresses and without them, with the owners that are there", async () => {
    writeFiles(at(), {
      "sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
      "net/tcp": header + row(`${all4}:0050`, `${all4}:0000`, "0A", 4711),
      "net/udp6": header + row(`${all6}:0035`, `${all6}:0000`, "07", 4712),
    });
    writeProcess(at(), "42", "1", "/system.slice/nginx.service", 4711);
    writeFiles(at(), { "42/comm": "nginx\n" });
    const sockets = createListeningSockets(at());
    const expected = [fakeOpenPort(), { protocol: "udp", port: 53, address: "::", families: ["ipv4"], inode: 4712 }];
    expect(await sockets.open()).toEqual(expected);
    expect([...(await sockets.owners([4711, 4712, 0]))]).toEqual([[4711, fakeSocketOwner("nginx")]]);
    const beyondLoopback = { isLoopback: false, mayBeGivenOut: false };
    expect(await sockets.listening()).toEqual(
      expected.map(({ protocol, port, address, inode }) => ({ protocol, port, address, inode, ...beyondLoopback })),
    );
    expect(await createListeningSockets("/nonexistent").open()).toEqual([]);
    const listener = (host: string, port: number) => describeListener({ host, port }, at());
    expect(await listener("127.0.0.1", 80)).toBe("nginx (nginx.service)");
    rmSync(join(at(), "42"), { recursive: true });
    expect([await listener("0.0.0.0", 80), await listener("127.0.0.1", 81)]).toEqual([
      "a program of user 0",
      "another program",
    ]);
  });

  it.each([
    ["the first process", "1", "0", "init.scope", true],
    ["one that it started", "42", "1", "web.service", true],
    ["one that another one of the unit started", "43", "42", "web.service", false],
    ["one in no unit", "44", "1", null, true],
  ])("have owners that are distinguished by their parents: %s", async (_, pid, parent, unit, isMain) => {
    writeProcess(at(), pid, parent, unit === null ? "/" : `/system.slice/${unit}`, 7);
    expect((await createListeningSockets(at()).owners([7])).get(7)).toEqual({ program: "a web", unit, isMain });
  });

  it("are those on loopback too, and TCP ports that the kernel may have given out, where all are asked for", async () => {
    const tcp = [row("0100007F:1538", `${all4}:0000`, "0A", 1), row(`${all4}:9C40`, `${all4}:0000`, "0A", 2)];
    const udp = row(`${all4}:9C40`, `${all4}:0000`, "07", 3);
    writeFiles(at(), { "net/tcp": header + tcp.join(""), "net/udp": header + udp });
    expect(await createListeningSockets(at()).listening()).toEqual([
      { protocol: "tcp", port: 5432, address: "127.0.0.1", inode: 1, isLoopback: true, mayBeGivenOut: false },
      { protocol: "tcp", port: 40_000, address: "0.0.0.0", inode: 2, isLoopback: false, mayBeGivenOut: true },
    ]);
  });

  it("of this machine are those beyond loopback, and no UDP socket whose port the kernel chose", async () => {
    const [everywhere, inside] = ["0.0.0.0", "127.0.0.1"].map((address) => createServer().listen(0, address));
    const asking = createSocket("udp4");
    asking.bind(0, "0.0.0.0");
    if (everywhere === undefined || inside === undefined) throw new Error("there are two servers");
    closes.push(
      () => everywhere.close(),
      () => inside.close(),
      () => asking.close(),
    );
    await Promise.all([everywhere, inside, asking].map((each) => once(each, "listening")));
    const sockets = createListeningSockets();
    const open = await sockets.open();
    const of = (protocol: string, address: unknown) =>
      open.find((each) => each.protocol === protocol && each.port === (address as { port: number }).port);
    const found = of("tcp", everywhere.address());
    expect(found).toMatchObject({ address: "0.0.0.0", families: ["ipv4"] });
    expect([of("tcp", inside.address()), of("udp", asking.address())]).toEqual([undefined, undefined]);
    const inode = found?.inode ?? 0;
    const own = readFileSync("/proc/self/comm", "utf8").trim();
    expect((await sockets.owners([inode])).get(inode)?.program).toBe(own);
  });
});

describe("name servers", () => {
  /** A server on this machine that gives every question back with a response code of RFC 1035 and no records. */
  async function startServer(rcode: number) {
    const server = createSocket("udp4");
    closes.push(() => server.close());
    server.on("message", (question, { port, address }) => {
      const answer = Buffer.from(question);
      answer.writeUInt16BE(0x8180 | rcode, 2);
      server.send(answer, port, address);
    });
    server.bind(0, "127.0.0.1");
    await once(server, "listening");
    writeFiles(at(), { "resolv.conf": "nameserver 127.0.0.1\n" });
    return createNameServers({ file: at("resolv.conf"), port: server.address().port });
  }

  it.each([
    ["answers", 0, ".", { isAnswered: true }],
    ["says that a closed network has no root", 3, ".", { isAnswered: true }],
    ["fails", 2, ".", { isAnswered: false, code: "ESERVFAIL" }],
    ["knows no such name", 3, "host.test", { isAnswered: false, code: "ENOTFOUND" }],
    ["refuses", 5, "host.test", { isAnswered: false, code: "EREFUSED" }],
  ])("one that %s is distinguished from others", async (_, rcode, name, expected) => {
    const servers = await startServer(rcode);
    expect(await servers.list()).toEqual(["127.0.0.1"]);
    expect(await servers.ask("127.0.0.1", name, signal)).toMatchObject(expected);
  });

  it("are no longer asked once the caller has given up", async () => {
    const servers = await startServer(0);
    const over = new AbortController();
    // An address of documentation, where nobody answers (RFC 5737).
    const asked = servers.ask("192.0.2.1", ".", over.signal);
    over.abort();
    expect(await asked).toMatchObject({ isAnswered: false });
  });

  it("are none without resolv.conf", async () => {
    expect(await createNameServers({ file: "/nonexistent" }).list()).toEqual([]);
  });
});

describe("the SSH server", () => {
  const text = "port 22\npermitrootlogin without-password\nhostkey /etc/a\nhostkey /etc/b\n";
  const options = { port: "22", permitrootlogin: "without-password", hostkey: "/etc/a\n/etc/b" };
  const refusal = "/etc/ssh/sshd_config: line 3: Bad configuration option: Foo";
  const failing = (stderr: string): Exec => printing("", { exitCode: 255, stderr });
  const notStarted = failing("Missing privilege separation directory: /run/sshd\n");

  it.each<[string, Exec, object, unknown]>([
    ["its options", printing(text), {}, { is: "valid", options, matches: [] }],
    ["why it would not start", failing(`${refusal}\nterminating\n`), {}, { is: "refused", message: refusal }],
    [
      "that only root may ask it",
      printing(text),
      { isRoot: false },
      { is: "unknown", reason: "only root may ask sshd for its configuration" },
    ],
    [
      "that it has not been started",
      notStarted,
      {},
      { is: "unknown", reason: expect.stringContaining("has not been started") },
    ],
    ["nothing where it is not installed", printing(text), { path: "/nonexistent/sshd" }, undefined],
  ])("reports %s", async (_, exec, given, expected) => {
    const server = createSshServer({ exec, path: process.execPath, settings: [], isRoot: true, ...given });
    expect(await server.config(signal)).toEqual(expected);
  });
});
