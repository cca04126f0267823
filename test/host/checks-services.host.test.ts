import { describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

/** Gives every question back as an answer without records. */
const nameServer = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.77", 53))
while True:
    data, peer = s.recvfrom(512)
    s.sendto(data[:2] + bytes([0x81, 0x80]) + data[4:], peer)
`;

/** Looks at the routes of the network that it is started in. */
const connectivity = `
const { networkConnectivityCheck } = await import("#domain/health/checks/network-connectivity.ts");
const { createDefaultRoutes } = await import("#adapters/routes/index.ts");
const check = networkConnectivityCheck({ routes: createDefaultRoutes() });
process.stdout.write(JSON.stringify(await check.run({ ignore: [] }, new AbortController().signal)));
`;

/** A figure of a check. */
const figure = (details: object, name: string): unknown => Reflect.get(details, name);

/** Looks at the certificate of the file that the test makes. */
const certificates = `
const { tlsCertificatesCheck } = await import("#domain/health/checks/tls-certificates.ts");
const { certificateFiles } = await import("#adapters/tls/certificates.ts");
const check = tlsCertificatesCheck({ files: certificateFiles, paths: ["/root/cert.pem"], clock: { now: Date.now } });
process.stdout.write(JSON.stringify(await check.run({ ignore: [] }, new AbortController().signal)));
`;

describeOnHost("checks of services, time and network", (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);

  it("systemd_failed sees a service that fails, and that it was reset", async () => {
    await session.writeUnits({ "broken.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"] });
    expect(await check("systemd_failed")).toMatchObject({ status: "pass" });
    await session.shell("systemctl start broken.service || true");
    await eventually(async () =>
      expect(await check("systemd_failed")).toMatchObject({
        status: "fail",
        message: expect.stringContaining("broken.service (exit-code)"),
        details: { units: [{ name: "broken.service", result: "exit-code" }] },
      }),
    );
    await systemctl("reset-failed", "broken.service");
    await eventually(async () => expect(await check("systemd_failed")).toMatchObject({ status: "pass" }));
  });

  it("unit_restart_loops sees a service that crashes on and on, and that it was stopped", async () => {
    await session.writeUnits({
      "looping.service": [
        "[Unit]",
        "StartLimitIntervalSec=0",
        "[Service]",
        "ExecStart=/bin/false",
        "Restart=always",
        "RestartSec=200ms",
      ],
    });
    expect(await check("unit_restart_loops")).toMatchObject({ status: "pass" });
    await systemctl("start", "looping.service");
    await eventually(async () => {
      const { status, details } = await check("unit_restart_loops");
      expect([status, details]).toMatchObject(["fail", { units: [{ name: "looping.service" }] }]);
    }, 30_000);
    await systemctl("stop", "looping.service");
    await systemctl("reset-failed");
    await eventually(async () => expect(await check("unit_restart_loops")).toMatchObject({ status: "pass" }));
  });

  it("reboot_required sees that a package asked for a reboot", async () => {
    expect(await check("reboot_required")).toMatchObject({ status: "pass" });
    await session.shell("touch /run/reboot-required && echo libc6 > /run/reboot-required.pkgs");
    expect(await check("reboot_required")).toMatchObject({ status: "warn", details: { packages: ["libc6"] } });
    await session.shell("rm /run/reboot-required /run/reboot-required.pkgs");
    expect(await check("reboot_required")).toMatchObject({ status: "pass" });
  });

  it("time_sync sees whether it is switched on", async () => {
    await session.writeUnits({
      "clock-setter.service": ["[Service]", "ExecStart=/bin/sleep infinity", "[Install]", "WantedBy=multi-user.target"],
    });
    await session.host.writeFile("/usr/lib/systemd/ntp-units.d/10-test.list", "clock-setter.service\n");
    await session.shell("systemctl stop systemd-timedated.service; timedatectl set-ntp true");
    await eventually(async () =>
      expect(await check("time_sync")).toMatchObject({ details: { can_sync: true, enabled: true } }),
    );
    const { status, details } = await check("time_sync");
    // Whether the clock is right is up to the machine around the host.
    expect(status).toBe(figure(details, "synchronised") === true ? "pass" : "warn");
    await session.host.exec(["timedatectl", "set-ntp", "false"]);
    await eventually(async () =>
      expect(await check("time_sync")).toMatchObject({
        status: figure(details, "synchronised") === true ? "pass" : "fail",
        details: { can_sync: true, enabled: false },
      }),
    );
  });

  it("dns_resolution sees name servers that do not answer", async () => {
    // The container puts the machine's own name servers there.
    await session.host.writeFile("/etc/resolv.conf", "");
    expect(await check("dns_resolution")).toMatchObject({ status: "skip" });
    await session.host.writeFile("/etc/resolv.conf", "nameserver 127.0.0.77\n");
    expect(await check("dns_resolution")).toMatchObject({
      status: "fail",
      details: { servers: [{ address: "127.0.0.77", answered: false, code: "ECONNREFUSED" }] },
    });
    await session.host.writeFile("/usr/local/lib/name-server.py", nameServer);
    await session.host.exec(["systemd-run", "--unit=name-server", "python3", "/usr/local/lib/name-server.py"]);
    await eventually(async () => expect(await check("dns_resolution")).toMatchObject({ status: "pass" }));
    await session.host.writeFile("/etc/resolv.conf", "nameserver 127.0.0.77\nnameserver 127.0.0.78\n");
    expect(await check("dns_resolution")).toMatchObject({ status: "warn" });
    await systemctl("stop", "name-server.service");
    await session.host.writeFile("/etc/resolv.conf", "");
  });

  describe("network_connectivity, in a network of its own,", () => {
    /** Runs the lines of shell in a network that has a loopback device only, then looks. */
    const lookAfter = async (...lines: readonly string[]): Promise<unknown> => {
      await session.host.writeFile("/usr/local/lib/connectivity.mjs", connectivity);
      const look =
        'cd /opt/steward && node_modules/.bin/node --input-type=module -e "$(cat /usr/local/lib/connectivity.mjs)"';
      const { stdout } = await session.host.exec(["unshare", "--net", "sh", "-ec", [...lines, look].join("\n")]);
      return JSON.parse(stdout);
    };
    const link = [
      "ip link add out0 type veth peer name peer0",
      "ip addr add 192.0.2.2/24 dev out0",
      "ip link set out0 up",
    ];
    const route = "ip route add default via 192.0.2.1 dev out0";

    it("fails without a default route", async () => {
      expect(await lookAfter()).toMatchObject({ status: "fail", details: { routes: [] } });
    });

    it("passes with one", async () => {
      expect(await lookAfter(...link, "ip link set peer0 up", route)).toMatchObject({
        status: "pass",
        details: { routes: [{ family: "ipv4", interface: "out0", gateway: "192.0.2.1", up: true }] },
      });
    });

    it("fails when its link is down", async () => {
      const cut = ["ip link set peer0 up", route, "ip link set peer0 down"];
      expect(await lookAfter(...link, ...cut)).toMatchObject({ status: "fail", details: { routes: [{ up: false }] } });
    });
  });

  it("journal_size and tls_certificates look at what the host has", async () => {
    const { status, details } = await check("journal_size");
    expect(status).toBe("pass");
    expect(figure(details, "disk_bytes")).toBeGreaterThan(0);
    expect(["pass", "skip"]).toContain((await check("tls_certificates")).status);
  });

  it.each([
    ["fail", 1],
    ["warn", 20],
    ["pass", 90],
  ] as const)("tls_certificates says %s of one with %i days left", async (status, days) => {
    const make = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -keyout /root/key.pem -out /root/cert.pem";
    await session.shell(`${make} -days ${days} 2>&1`);
    const look = ["node_modules/.bin/node", "--input-type=module", "-e", certificates];
    const { stdout } = await session.host.exec(["env", "--chdir=/opt/steward", ...look]);
    expect(JSON.parse(stdout)).toMatchObject({ status, details: { certificates: [{ subject: "CN=test" }] } });
  });
});
