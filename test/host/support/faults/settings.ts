import { at, buildPackage, packageFile } from "../package-sources.ts";
import { type Fault, start, stop } from "./fault.ts";

const unitOf = (name: string) => ({
  [`${name}.service`]: ["[Service]", `ExecStart=/usr/bin/python3 -u /usr/share/${name}/main.py`, "SuccessExitStatus=0"],
});
/** Writes the program of a version, starts the service and does not care whether it runs. */
const startsWith = (name: string, program: string): readonly string[] => [
  `cat > /usr/share/${name}/main.py <<'END'\n${program}\nEND`,
  "systemctl daemon-reload",
  `systemctl restart ${name}.service`,
];

/** Packages and settings of the host. */
export const settingsFaults: readonly Fault[] = [
  {
    name: "upgrade-breaks-a-service",
    what: "the new version of a package refuses a setting that the old one took",
    check: "systemd_failed",
    found: /labels\.service/,
    cause: "the package labels, upgraded from 1.0 to 1.1, and the line of its service",
    evidence: {
      "Packages changed recently": /upgrade labels 1\.0 -> 1\.1/,
      Journal: /labels\.service .*unknown setting cache_mode in \/etc\/labels\.conf/,
    },
    async provoke(session) {
      const config = "cache_mode = fast\n";
      const units = unitOf("labels");
      const old = at("labels", "1.0", {
        config,
        units,
        place: "loose",
        postinst: startsWith("labels", "import time\ntime.sleep(10000)"),
      });
      const refuses = 'import sys\nsys.exit("labels: unknown setting cache_mode in /etc/labels.conf")';
      const newer = at("labels", "1.1", { config, units, place: "loose", postinst: startsWith("labels", refuses) });
      for (const each of [old, newer]) {
        await buildPackage(session, each);
        await session.host.exec(["apt-get", "install", "-y", "--quiet", packageFile(each)]);
      }
    },
    repair: stop("labels.service"),
  },
  {
    name: "package-half-configured",
    what: "the script that sets a package up calls a program that is not there",
    check: "apt_status",
    found: /ledger/,
    cause:
      "the package ledger, and that its script failed; not what the script printed, which is in a log of apt for root alone",
    evidence: {
      "Result of the check": /"name":"ledger"/,
      "Packages changed recently": /install ledger 1\.0.*(?:error|returned an error code)/i,
    },
    async provoke(session) {
      const ledger = at("ledger", "1.0", { place: "loose", postinst: ["make-ledger --init"] });
      await buildPackage(session, ledger);
      await session.host.exec(["apt-get", "install", "-y", "--quiet", packageFile(ledger)], { allowFailure: true });
    },
    async repair(session) {
      await session.host.exec(["dpkg", "--purge", "--force-remove-reinstreq", "ledger"]);
    },
  },
  {
    name: "source-of-packages-malformed",
    what: "a line of the sources of packages is malformed",
    check: "security_updates",
    found: /shop\.list/,
    cause: "the file and the line: /etc/apt/sources.list.d/shop.list, 1",
    evidence: { "Result of the check": /Malformed entry 1 in list file \/etc\/apt\/sources\.list\.d\/shop\.list/ },
    async provoke(session) {
      await session.host.writeFile("/etc/apt/sources.list.d/shop.list", "deb https://packages.example.org\n");
    },
    async repair(session) {
      await session.host.exec(["rm", "/etc/apt/sources.list.d/shop.list"]);
    },
  },
  {
    name: "settings-of-sshd",
    what: "a drop-in of sshd has an option that there is not",
    check: "ssh_config",
    found: /50-shop\.conf/,
    cause: "the file and the line: /etc/ssh/sshd_config.d/50-shop.conf, 1",
    evidence: { "Result of the check": /\/etc\/ssh\/sshd_config\.d\/50-shop\.conf.*line 1/ },
    async provoke(session) {
      await session.host.writeFile("/etc/ssh/sshd_config.d/50-shop.conf", "PermitRootLogins no\n");
    },
    async repair(session) {
      await session.host.exec(["rm", "/etc/ssh/sshd_config.d/50-shop.conf"]);
    },
  },
  {
    name: "name-server-gone",
    what: "resolv.conf names a server that does not answer",
    check: "dns_resolution",
    found: /127\.0\.0\.78/,
    cause: "the server 127.0.0.78",
    evidence: { "Result of the check": /127\.0\.0\.78/ },
    async provoke(session) {
      await session.host.writeFile("/etc/resolv.conf", "nameserver 127.0.0.78\n");
    },
    async repair(session) {
      await session.host.writeFile("/etc/resolv.conf", "");
    },
  },
  {
    name: "clock-not-set",
    what: "the service that sets the clock is switched off",
    check: "time_sync",
    found: /synchronisation is off/,
    cause: "the line of timedated: somebody has set NTP to disabled",
    evidence: {
      "Result of the check": /"enabled":false/,
      Journal: /systemd-timedated\.service .*Set NTP to (?:be )?disabled/,
    },
    async provoke(session) {
      await session.writeUnits({
        "clock-setter.service": [
          "[Unit]",
          "Description=Sets the clock",
          "[Service]",
          "ExecStart=/bin/sleep infinity",
          "[Install]",
          "WantedBy=multi-user.target",
        ],
      });
      await session.host.writeFile("/usr/lib/systemd/ntp-units.d/10-test.list", "clock-setter.service\n");
      await start(session, "clock-setter.service");
      await session.shell("systemctl restart systemd-timedated.service && timedatectl set-ntp false");
    },
    async repair(session) {
      await session.host.exec(["rm", "/usr/lib/systemd/ntp-units.d/10-test.list"]);
    },
  },
];
