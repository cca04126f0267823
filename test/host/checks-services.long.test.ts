import { beforeAll, describe, expect } from "vitest";
import { checkCommand, parseOutcome } from "./support/check.ts";
import { eventually } from "./support/eventually.ts";
import { withKernelClock } from "./support/kernel-clock.ts";
import { nameServer } from "./support/name-server.ts";
import { provoke } from "./support/provoke.ts";
import { describeOnHost } from "./support/session.ts";

/** A figure of a check. */
const figure = (details: object, name: string): unknown => Reflect.get(details, name);

describeOnHost("checks of services, time and network", (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);

  provoke("systemd_failed", "a service that exits with 1, then is reset", async (see) => {
    await session.writeUnits({ "broken.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"] });
    expect(see(await check("systemd_failed"))).toMatchObject({ status: "pass" });
    await session.shell("systemctl start broken.service || true");
    await eventually(async () =>
      expect(see(await check("systemd_failed"))).toMatchObject({
        status: "fail",
        message: expect.stringContaining("broken.service (exit-code)"),
        details: { units: [{ name: "broken.service", result: "exit-code" }] },
      }),
    );
    await systemctl("reset-failed", "broken.service");
    await eventually(async () => expect(see(await check("systemd_failed"))).toMatchObject({ status: "pass" }));
  });

  provoke("systemd_failed", "a mount and a socket that fail, then are reset", async (see) => {
    await session.writeUnits({
      "mnt-none.mount": ["[Mount]", "What=none", "Where=/mnt/none", "Type=no-such-type"],
      // An address that no host has: it is for documentation (RFC 5737).
      "elsewhere.socket": ["[Socket]", "ListenStream=192.0.2.77:7777"],
      "elsewhere.service": ["[Service]", "ExecStart=/bin/true"],
    });
    const names = ["elsewhere.socket", "mnt-none.mount"];
    await session.shell(`systemctl start ${names.join(" ")} || true`);
    await eventually(async () => {
      const { status, details } = see(await check("systemd_failed"));
      expect([status, details]).toEqual([
        "fail",
        { units: names.map((name) => ({ name, result: expect.stringMatching(/^(resources|exit-code)$/) })) },
      ]);
    });
    await systemctl("reset-failed", ...names);
    await eventually(async () => expect(see(await check("systemd_failed"))).toMatchObject({ status: "pass" }));
  });

  provoke("unit_restart_loops", "a service that crashes on and on, then is stopped", async (see) => {
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
    expect(see(await check("unit_restart_loops"))).toMatchObject({ status: "pass" });
    await systemctl("start", "looping.service");
    await eventually(async () => {
      const { status, details } = see(await check("unit_restart_loops"));
      expect([status, details]).toMatchObject(["fail", { units: [{ name: "looping.service" }] }]);
    });
    await systemctl("stop", "looping.service");
    await systemctl("reset-failed");
    await eventually(async () => expect(see(await check("unit_restart_loops"))).toMatchObject({ status: "pass" }));
  });

  provoke("reboot_required", "what a package leaves that asks for a reboot", async (see) => {
    expect(see(await check("reboot_required"))).toMatchObject({ status: "pass" });
    await session.shell("touch /run/reboot-required && echo libc6 > /run/reboot-required.pkgs");
    expect(see(await check("reboot_required"))).toMatchObject({ status: "warn", details: { packages: ["libc6"] } });
    await session.shell("rm /run/reboot-required /run/reboot-required.pkgs");
    expect(see(await check("reboot_required"))).toMatchObject({ status: "pass" });
  });

  provoke(
    "time_sync",
    "synchronisation off and on, with a kernel that believes its clock to be wrong and to be right",
    async (see) => {
      const looksLike = (status: string, details: object) =>
        eventually(async () => expect(see(await check("time_sync"))).toMatchObject({ status, details }));
      await withKernelClock(async ({ believe }) => {
        await believe(false);
        await looksLike("skip", { can_sync: false, synchronised: false });
        await session.writeUnits({
          "clock-setter.service": [
            "[Service]",
            "ExecStart=/bin/sleep infinity",
            "[Install]",
            "WantedBy=multi-user.target",
          ],
        });
        await session.host.writeFile("/usr/lib/systemd/ntp-units.d/10-test.list", "clock-setter.service\n");
        await session.shell("systemctl stop systemd-timedated.service; timedatectl set-ntp false");
        await looksLike("fail", { can_sync: true, enabled: false, synchronised: false });
        await session.host.exec(["timedatectl", "set-ntp", "true"]);
        await looksLike("warn", { enabled: true, synchronised: false });
        await believe(true);
        await looksLike("pass", { enabled: true, synchronised: true });
        await session.host.exec(["timedatectl", "set-ntp", "false"]);
      });
    },
  );

  provoke("dns_resolution", "no name server, one that does not answer, one that does, one of two", async (see) => {
    // The container puts the machine's own name servers there.
    await session.host.writeFile("/etc/resolv.conf", "");
    expect(see(await check("dns_resolution"))).toMatchObject({ status: "skip" });
    await session.host.writeFile("/etc/resolv.conf", "nameserver 127.0.0.77\n");
    expect(see(await check("dns_resolution"))).toMatchObject({
      status: "fail",
      details: { servers: [{ address: "127.0.0.77", answered: false, code: "ECONNREFUSED" }] },
    });
    await session.host.writeFile("/usr/local/lib/name-server.py", nameServer);
    await session.host.exec(["systemd-run", "--unit=name-server", "python3", "/usr/local/lib/name-server.py"]);
    await eventually(async () => expect(see(await check("dns_resolution"))).toMatchObject({ status: "pass" }));
    await session.host.writeFile("/etc/resolv.conf", "nameserver 127.0.0.77\nnameserver 127.0.0.78\n");
    expect(see(await check("dns_resolution"))).toMatchObject({ status: "warn" });
    await systemctl("stop", "name-server.service");
    await session.host.writeFile("/etc/resolv.conf", "");
  });

  describe("network_connectivity, in a network of its own,", () => {
    /** Runs the lines of shell in a network that has a loopback device only, then looks. */
    const lookAfter = async (...lines: readonly string[]) => {
      const script = [...lines, 'exec "$@"'].join("\n");
      const look = checkCommand("network_connectivity");
      const { stdout } = await session.host.exec(["unshare", "--net", "sh", "-ec", script, "look", ...look]);
      return parseOutcome(stdout);
    };
    const link = [
      "ip link add out0 type veth peer name peer0",
      "ip addr add 192.0.2.2/24 dev out0",
      "ip link set out0 up",
    ];
    const route = "ip route add default via 192.0.2.1 dev out0";

    provoke("network_connectivity", "a network with loopback only", async (see) => {
      expect(see(await lookAfter())).toMatchObject({ status: "fail", details: { routes: [] } });
    });

    provoke("network_connectivity", "a default route over a link that is up", async (see) => {
      expect(see(await lookAfter(...link, "ip link set peer0 up", route))).toMatchObject({
        status: "pass",
        details: { routes: [{ family: "ipv4", interface: "out0", gateway: "192.0.2.1", up: true }] },
      });
    });

    provoke("network_connectivity", "a default route over a link that is down", async (see) => {
      const cut = ["ip link set peer0 up", route, "ip link set peer0 down"];
      expect(see(await lookAfter(...link, ...cut))).toMatchObject({
        status: "fail",
        details: { routes: [{ up: false }] },
      });
    });
  });
});

describeOnHost("checks with settings of their own", (session) => {
  const folder = "/etc/steward/tls";
  const makeFor = async (days: number): Promise<void> => {
    const make = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -addext subjectAltName=IP:127.0.0.1";
    await session.shell(`${make} -keyout ${folder}/key.pem -out ${folder}/cert.pem -days ${days} 2>&1`);
    await session.shell(`chown root:steward ${folder}/key.pem && chmod 640 ${folder}/key.pem`);
  };
  let url: string;
  beforeAll(async () => {
    await session.host.exec(["mkdir", folder]);
    await makeFor(1);
    const config = [
      `tls: { cert: ${folder}/cert.pem, key: ${folder}/key.pem }`,
      "health: { checks: { journal_size: { warn: 0.03, fail: 0.06 } } }",
      "",
    ].join("\n");
    ({ url } = await session.host.startService({ config, env: { STEWARD_RATE_LIMITS: "off" } }));
  });

  /** Nobody has vouched for the certificate. */
  const check = async (id: string) => {
    const key = `X-API-Key: ${session.service.adminKey}`;
    const ask = ["curl", "-sS", "--insecure", "-H", key, `${url}/api/v1/health/checks/${id}`];
    return parseOutcome((await session.host.exec(ask)).stdout);
  };

  provoke("tls_certificates", "the certificate of the service with 1, 20 and 90 days left", async (see) => {
    for (const [status, days] of [
      ["fail", 1],
      ["warn", 20],
      ["pass", 90],
    ] as const) {
      await makeFor(days);
      // It goes on showing the one that it began with; the check looks at the file, which is shown next.
      expect(see(await check("tls_certificates"))).toMatchObject({
        status,
        details: { certificates: [{ path: `${folder}/cert.pem`, subject: "CN=test" }] },
      });
    }
  });

  provoke("journal_size", "a journal that grows beyond what settings allow, then is vacuumed", async (see) => {
    await session.host.writeFile("/etc/systemd/journald.conf.d/test.conf", "[Journal]\nRateLimitIntervalSec=0\n");
    await session.host.exec(["systemctl", "restart", "systemd-journald"]);
    const grow = (megabytes: number) =>
      session.shell(`head -c ${megabytes}M /dev/urandom | base64 -w 1000 | systemd-cat && journalctl --sync`);
    const { status, details } = see(await check("journal_size"));
    expect([status, Number(figure(details, "disk_bytes")) > 0]).toEqual(["pass", true]);
    await grow(30);
    expect(see(await check("journal_size"))).toMatchObject({ status: "warn" });
    await grow(40);
    expect(see(await check("journal_size"))).toMatchObject({ status: "fail" });
    // journald may just be rotating by itself, and a file that is being archived is not vacuumed.
    await eventually(async () => {
      await session.host.exec(["journalctl", "--rotate", "--vacuum-size=1M"]);
      expect(see(await check("journal_size"))).toMatchObject({ status: "pass" });
    });
  });
});
