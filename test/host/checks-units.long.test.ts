import { describe, expect } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import type { CheckStatus } from "#contract/checks.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { timersSuite } from "../ports/timers.suite.ts";
import { checkCommand, parseOutcome, runCheck } from "./support/check.ts";
import { eventually } from "./support/eventually.ts";
import { provoke } from "./support/provoke.ts";
import { containerInspected, containerListed } from "./support/recorded.ts";
import { describeOnHost } from "./support/session.ts";

/** The network is the machine's own, where others may listen. */
const port = 20_000 + (process.pid % 10_000);
const config = [
  "listen: 127.0.0.1:0",
  "probes:",
  "  list:",
  `    - { name: website, http: "http://127.0.0.1:${port}/" }`,
  `    - { name: port, tcp: "127.0.0.1:${port}" }`,
  "    - { name: own-name, dns: localhost }",
  "health:",
  "  checks:",
  "    backup_age:",
  "      targets:",
  "        - { name: database, folder: /srv/backup, pattern: '*.sql' }",
  "        - { name: files, unit: files.timer }",
  "        - { name: system, snapper: root }",
  "",
].join("\n");

/** A figure of a check. */
const figure = (details: object, name: string): unknown => Reflect.get(details, name);

/** Answers the three requests of Docker's API with what is in files. */
const fakeDocker = [
  "import http.server, socketserver",
  "class Handler(http.server.BaseHTTPRequestHandler):",
  "    def do_GET(self):",
  "        path = self.path.split('/')[2]",
  "        name = 'unhealthy' if 'filters' in path else 'list' if path.startswith('json') else path",
  "        body = open('/root/docker/' + name, 'rb').read()",
  "        self.send_response(200)",
  "        self.send_header('Content-Length', str(len(body)))",
  "        self.end_headers()",
  "        self.wfile.write(body)",
  "    def address_string(self): return 'socket'",
  "socketserver.UnixStreamServer('/run/docker.sock', Handler).serve_forever()",
];

describeOnHost("checks of units and of what they use", { config }, (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const oneshot = (command: string) => ["[Service]", "Type=oneshot", `ExecStart=${command}`];

  provoke("timers", "a timer whose service fails, then succeeds", async (see) => {
    await session.writeUnits({
      "nightly.service": oneshot("/usr/bin/test -e /run/all-is-well"),
      "nightly.timer": ["[Timer]", "OnActiveSec=1ms", "AccuracySec=1ms", "OnUnitActiveSec=1d"],
    });
    await systemctl("start", "nightly.timer");
    await eventually(async () =>
      expect(see(await check("timers"))).toMatchObject({
        status: "fail",
        message: expect.stringContaining(
          "the last run of nightly.service, started by nightly.timer, failed (exit-code",
        ),
        details: { timers: [{ name: "nightly.timer", unit: "nightly.service", result: "exit-code" }] },
      }),
    );
    await session.shell("touch /run/all-is-well && systemctl start nightly.service");
    await eventually(async () => expect(see(await check("timers"))).toMatchObject({ status: "pass" }));
    await systemctl("stop", "nightly.timer");
  });

  describe("timers: systemd over D-Bus", () => {
    timersSuite(async () => {
      await session.writeUnits({
        "failing.service": oneshot("/bin/false"),
        "failing.timer": ["[Timer]", "OnActiveSec=1ms", "AccuracySec=1s", "OnUnitInactiveSec=1h"],
      });
      await systemctl("start", "failing.timer");
      const { timers, dispose } = createLiveUnits({
        clock: systemClock,
        policy: defaultServicePolicy,
        socket: await session.host.busSocket(),
        onStateChange: () => undefined,
      });
      return {
        list: () =>
          eventually(async () => {
            const all = await timers.list();
            const failing = all?.find(({ name }) => name === "failing.timer");
            expect(failing).toMatchObject({ unitActiveState: "failed", nextStartAt: expect.any(Number) });
            await systemctl("stop", "failing.timer");
            await systemctl("reset-failed");
            dispose();
            return all;
          }),
      };
    });
  });

  provoke(
    "unit_memory",
    "a unit that comes near to its limit and is healthy again, and no limits, as cgroup v2 tells of them",
    async (see) => {
      const look = () => runCheck(session, "unit_memory", { sysDir: "/root/with-v2" });
      expect(see(await look())).toMatchObject({ status: "skip" });
      const group = "/root/with-v2/fs/cgroup/system.slice/app.service";
      await session.host.writeFile("/root/with-v2/fs/cgroup/cgroup.controllers", "cpu io memory pids\n");
      await session.host.writeFile(`${group}/memory.max`, "1073741824\n");
      await session.host.writeFile(`${group}/memory.stat`, "inactive_file 0\nactive_file 100000000\n");
      for (const [bytes, status] of [
        [1_090_000_000, "warn"],
        [1_170_000_000, "fail"],
        [600_000_000, "pass"],
      ] as const) {
        await session.host.writeFile(`${group}/memory.current`, `${bytes}\n`);
        expect(see(await look())).toMatchObject({ status });
      }
    },
  );

  provoke(
    "file_descriptors",
    "programs with eight tenths and with all of the files open that they may have, until they end",
    async (see) => {
      const hold = (unit: string, files: number) => {
        const program = `import time; files = [open('/dev/null') for _ in range(${files})]; time.sleep(3600)`;
        const options = ["-q", `--unit=${unit}`, "-p", "LimitNOFILE=1000"];
        return session.host.exec(["systemd-run", ...options, "python3", "-c", program]);
      };
      await hold("holder", 797);
      await eventually(async () =>
        expect(see(await check("file_descriptors"))).toMatchObject({
          status: "warn",
          message: expect.stringMatching(/^python3 \(\d+\) has 80 % of its files open: 800 of 1000 \(LimitNOFILE=\)$/),
          details: { processes: [{ name: "python3", open: 800, limit: 1000, percent_used: 80 }] },
        }),
      );
      await hold("greedy", 997);
      await eventually(async () => expect(see(await check("file_descriptors"))).toMatchObject({ status: "fail" }));
      await systemctl("stop", "greedy.service", "holder.service");
      await eventually(async () =>
        expect(see(await check("file_descriptors"))).toMatchObject({ status: "pass", details: { processes: [] } }),
      );
    },
  );

  provoke("conntrack", "300 and 1200 connections in a network of its own, and settings that allow few", async (see) => {
    const look = checkCommand("conntrack", { warn: 0.1, fail: 0.4 })
      .map((word) => `'${word}'`)
      .join(" ");
    // Each datagram of its own sender is a connection. The table has room for some 260 000 wherever the kernel sets it.
    const open = (count: number) =>
      [
        "import socket",
        `for _ in range(${count}): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))`,
      ].join("\n");
    const script = [
      "set -e",
      "ip link set lo up",
      "nft 'add table ip seen; add chain ip seen out { type filter hook output priority 0; }; add rule ip seen out ct state new counter'",
      `${look}; echo`,
      `python3 -c "${open(300)}"`,
      `${look}; echo`,
      `python3 -c "${open(1200)}"`,
      look,
    ];
    await session.host.writeFile("/root/connections", `${script.join("\n")}\n`);
    const said = await session.shell("unshare --net sh /root/connections");
    const [idle, some, many] = said.split("\n").map(parseOutcome).map(see);
    expect(idle).toMatchObject({ status: "pass" });
    expect(some).toMatchObject({ status: "warn" });
    expect(many).toMatchObject({ status: "fail", message: expect.stringContaining("new connections are dropped") });
  });

  provoke(
    "containers",
    "containers that restart over and over, are unhealthy, killed for their memory, healthy, and none, as Docker tells of them",
    async (see) => {
      expect(see(await check("containers"))).toMatchObject({ status: "skip" });
      const id = "a".repeat(64);
      const answer = (path: string, body: unknown) =>
        session.host.writeFile(`/root/docker/${path}`, JSON.stringify(body));
      await session.host.writeFile("/root/docker.py", `${fakeDocker.join("\n")}\n`);
      await session.host.exec(["systemd-run", "-q", "--unit=fake-docker", "python3", "/root/docker.py"]);
      await session.shell("echo 1 > /run/docker.pid; until test -S /run/docker.sock; do sleep 0.1; done");
      for (const [State, unhealthy, state, found] of [
        ["restarting", false, { ExitCode: 1 }, { status: "fail", message: expect.stringContaining("over and over") }],
        ["running", true, {}, { status: "fail", message: expect.stringContaining("unhealthy") }],
        ["exited", false, { ExitCode: 137, OOMKilled: true }, { status: "fail" }],
        ["running", false, {}, { status: "pass", details: { total: 1, running: 1 } }],
      ] as const) {
        const line = containerListed({ Id: id, State });
        await answer("list", [line]);
        await answer("unhealthy", unhealthy ? [line] : []);
        const HostConfig = { RestartPolicy: { Name: "always", MaximumRetryCount: 0 } };
        await answer(id, containerInspected({ State: state, HostConfig }));
        expect(see(await check("containers"))).toMatchObject(found);
      }
      await systemctl("stop", "fake-docker.service");
      await session.shell("rm /run/docker.pid /run/docker.sock");
    },
  );

  /** What the check says of one of the backups. */
  const backup = async (name: string) => {
    const { details } = await check("backup_age");
    const all = figure(details, "backups") as readonly { readonly name: string; readonly status: CheckStatus }[];
    const found = all.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the check does not tell of ${name}`);
    return found;
  };

  provoke("backup_age", "a directory without a file, with one of three days ago, and with a new one", async (see) => {
    await session.shell("mkdir -p /srv/backup && touch /srv/backup/empty.sql");
    expect(see(await backup("database"))).toMatchObject({ status: "fail", last_at: null });
    await session.shell("echo all > /srv/backup/old.sql && touch -d '3 days ago' /srv/backup/old.sql");
    expect(see(await backup("database"))).toMatchObject({ status: "fail", age_hours: 72 });
    await session.shell("mkdir /srv/backup/today && echo all > /srv/backup/today/new.sql");
    expect(see(await backup("database"))).toMatchObject({ status: "pass", age_hours: 0 });
  });

  provoke("backup_age", "a timer whose service fails, then succeeds", async (see) => {
    await session.writeUnits({
      "files.service": oneshot("/usr/bin/test -e /run/disk-is-there"),
      "files.timer": ["[Timer]", "OnActiveSec=1ms", "AccuracySec=1ms", "OnUnitActiveSec=1d"],
    });
    expect(see(await backup("files"))).toMatchObject({ status: "fail", last_at: null });
    await systemctl("start", "files.timer");
    await eventually(async () =>
      expect((await check("backup_age")).message).toContain("the last run of files.service failed (exit-code"),
    );
    await session.shell("touch /run/disk-is-there && systemctl start files.service");
    await eventually(async () => expect(see(await backup("files"))).toMatchObject({ status: "pass", age_hours: 0 }));
    await systemctl("stop", "files.timer");
  });

  provoke("backup_age", "snapper without a snapshot, with one of three days ago, and with a new one", async (see) => {
    expect(see(await backup("system"))).toMatchObject({ status: "fail", last_at: null });
    await session.host.exec(["snapper", "-c", "root", "create"]);
    const info = "/.snapshots/1/info.xml";
    const old = new Date(Date.now() - 72 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
    await session.shell(`sed -i 's|<date>.*</date>|<date>${old}</date>|' ${info}`);
    expect(see(await backup("system"))).toMatchObject({ status: "fail", age_hours: 72 });
    await session.host.exec(["snapper", "-c", "root", "create"]);
    expect(see(await backup("system"))).toMatchObject({ status: "pass", age_hours: 0 });
  });

  provoke(
    "endpoints",
    "a web server, a port and a name of the settings, before and after the server starts",
    async (see) => {
      expect(see(await check("endpoints"))).toMatchObject({
        status: "fail",
        message: expect.stringMatching(/^website: .*ECONNREFUSED.*; port: .*ECONNREFUSED/),
        details: { endpoints: [{ name: "website" }, { name: "port" }, { name: "own-name", status: "pass" }] },
      });
      const server = ["python3", "-m", "http.server", "--bind", "127.0.0.1", String(port)];
      await session.host.exec(["systemd-run", "-q", "--unit=website", ...server]);
      await eventually(async () =>
        expect(see(await check("endpoints"))).toMatchObject({
          status: "pass",
          details: { endpoints: [{ name: "website", latency_ms: expect.any(Number) }, {}, {}] },
        }),
      );
      await systemctl("stop", "website.service");
    },
  );
});
