import { freePort } from "../plugin-peers.ts";
import type { Session } from "../session.ts";
import { type Fault, failed, start, stop, writeDaemon } from "./fault.ts";

const readsSettings = `
import json
settings = json.load(open("/etc/worker.json"))
`;
const listens = (port: string): string => `
import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", ${port}))
s.listen()
while True:
    s.accept()[0].close()
`;
/** Fails at its start, as its data is damaged. */
const opensBooks = `
import sys
print("cannot open /srv/books/ledger.db: file is not a database", file=sys.stderr)
sys.exit(3)
`;

/** Ports of services that the settings probe. */
export interface ProbedPorts {
  readonly front: number;
  readonly till: number;
}

/** Services that fail by themselves. */
export const serviceFaults: readonly Fault[] = [
  {
    name: "wrong-option",
    what: "a service is given an option that its program does not have",
    check: "systemd_failed",
    found: /catalog\.service/,
    cause: "the line of the program: unknown option --colour",
    evidence: { Journal: /catalog\.service .*unknown option --colour/i },
    async provoke(session) {
      await session.writeUnits({ "catalog.service": ["[Service]", "ExecStart=/usr/bin/python3 --colour"] });
      await start(session, "catalog.service");
    },
    repair: stop("catalog.service"),
  },
  {
    name: "crash-loop",
    what: "a service is restarted over and over, since its settings are missing",
    check: "unit_restart_loops",
    found: /worker\.service/,
    cause: "the line of the program: no such file, /etc/worker.json",
    evidence: { Journal: /worker\.service .*No such file or directory: '\/etc\/worker\.json'/ },
    async provoke(session) {
      await writeDaemon(session, "worker", readsSettings, ["Restart=always", "RestartSec=100ms"]);
      await session.host.writeFile(
        "/etc/systemd/system/worker.service.d/limit.conf",
        "[Unit]\nStartLimitIntervalSec=0\n",
      );
      await session.host.exec(["systemctl", "daemon-reload"]);
      await start(session, "worker.service");
    },
    repair: stop("worker.service"),
  },
  {
    name: "port-conflict",
    what: "a service cannot listen, as another one has its port",
    check: "systemd_failed",
    found: /ticker\.service/,
    cause: "the service that has the port: squatter.service",
    evidence: {
      Journal: /ticker\.service .*Address already in use/,
      "Ports at which programs listen": /^tcp 127\.0\.0\.1:\d+ squatter\.service$/m,
    },
    async provoke(session) {
      const port = String(await freePort());
      await writeDaemon(session, "squatter", listens(port));
      await writeDaemon(session, "ticker", listens(port));
      await start(session, "squatter.service");
      await start(session, "ticker.service");
    },
    repair: stop("ticker.service", "squatter.service"),
  },
  {
    name: "timer-failed",
    what: "what a timer starts each night fails",
    check: "timers",
    found: /nightly-copy\.service/,
    cause: "the line of the program: cannot create regular file '/mnt/nas/orders.db'",
    evidence: { Journal: /nightly-copy\.service .*cannot create regular file '\/mnt\/nas\/orders\.db'/ },
    async provoke(session) {
      await session.writeUnits({
        "nightly-copy.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/cp /etc/hostname /mnt/nas/orders.db"],
        "nightly-copy.timer": ["[Timer]", "OnCalendar=*-*-* 03:00:00"],
      });
      await start(session, "nightly-copy.timer");
      await start(session, "nightly-copy.service");
    },
    repair: stop("nightly-copy.timer", "nightly-copy.service"),
  },
  {
    name: "backup-failed",
    what: "the job that makes the backup fails",
    check: "backup_age",
    found: /the last run of shop-backup\.service failed/,
    cause: "the line of the program: Permission denied, /etc/backup/key",
    evidence: { Journal: /shop-backup\.service .*\/etc\/backup\/key: Permission denied/ },
    async provoke(session) {
      await session.host.writeFile("/etc/backup/key", "not for everybody\n", 0o600);
      await session.writeUnits({
        "shop-backup.service": ["[Service]", "Type=oneshot", "User=nobody", "ExecStart=/bin/cat /etc/backup/key"],
      });
      await start(session, "shop-backup.service");
    },
    repair: stop("shop-backup.service"),
  },
  {
    name: "mount-missing",
    what: "the program is not installed that mounts a file system of the network",
    check: "systemd_failed",
    found: /srv-orders\.mount/,
    cause: "the line of mount: the helper program of NFS is missing",
    evidence: {
      "Units whose state changed recently":
        /srv-orders\.mount: failed .*nas\.example\.org:\/orders on \/srv\/orders \(nfs\)/,
      Journal: /srv-orders\.mount .*unknown filesystem type 'nfs'/,
    },
    async provoke(session) {
      await session.writeUnits({
        "srv-orders.mount": ["[Mount]", "What=nas.example.org:/orders", "Where=/srv/orders", "Type=nfs"],
      });
      await start(session, "srv-orders.mount");
    },
    repair: stop("srv-orders.mount"),
  },
  {
    name: "settings-of-a-daemon",
    what: "the settings of Prometheus have a syntax error",
    check: "systemd_failed",
    found: /prometheus\.service/,
    cause: "the line of Prometheus: its file and the line in it",
    evidence: { Journal: /prometheus\.service .*\/etc\/prometheus\/prometheus\.yml: yaml: line \d/ },
    async provoke(session) {
      await session.host.writeFile("/etc/prometheus/prometheus.yml", "global:\n  scrape_interval: 15s\n scrape: [\n");
      await session.host.writeFile("/etc/systemd/system/prometheus.service.d/once.conf", "[Service]\nRestart=no\n");
      await session.host.exec(["systemctl", "daemon-reload"]);
      await start(session, "prometheus.service");
    },
    repair: stop("prometheus.service"),
  },
];

/** Services that the settings probe, and that no check names. */
export const probedFaults = (ports: () => ProbedPorts): readonly Fault[] => [
  {
    name: "stopped-by-a-call",
    what: "somebody stops a service by a call of the API, and its address no longer answers",
    check: "endpoints",
    found: /front: /,
    cause: "the call and whose key it had: stopService front by night shift",
    evidence: { "Changes through this service recently": /stopService front(?:\.service)? by night shift/ },
    async provoke(session) {
      await writeDaemon(session, "front", listens(String(ports().front)));
      await start(session, "front.service");
      const { key } = await session.api.createKey({ body: { name: "night shift", scopes: ["services:stop"] } });
      const reply = await fetch(`${session.service.url}/api/v1/system/services/front/stop`, {
        method: "POST",
        headers: { "X-API-Key": key, "Content-Type": "application/json" },
        body: "{}",
      });
      if (!reply.ok) throw new Error(`cannot stop front.service: ${await reply.text()}`);
    },
    repair: (session) => start(session, "front.service").then(() => undefined),
  },
  {
    name: "behind-an-address",
    what: "an address does not answer, since the service behind it cannot open its data",
    check: "endpoints",
    found: /^till: /,
    cause: "the service till.service, and its line: /srv/books/ledger.db",
    evidence: {
      "Units whose state changed recently": /till\.service: failed/,
      Journal: /till\.service .*\/srv\/books\/ledger\.db/,
    },
    async provoke(session) {
      await writeDaemon(session, "till", opensBooks);
      await start(session, "till.service");
      await failed(session, "till.service");
    },
    async repair(session: Session) {
      await writeDaemon(session, "till", listens(String(ports().till)));
      await start(session, "till.service");
    },
  },
];
