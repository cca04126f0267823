import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import { bootHost, type Host } from "./host.ts";
import { installedPrograms } from "./program.ts";
import type { Suite } from "./recipe.ts";
import { eventually } from "./support/eventually.ts";
import { nameServer } from "./support/name-server.ts";
import { makePackageSources } from "./support/package-sources.ts";
import { missingImage } from "./support/session.ts";

/** Runs of each check: as many as make a problem hard. */
const rounds = 3;
const out = "out0";
const nameServerUnit = "quiet-name-server.service";

type Found = Pick<HealthCheckResult, "check_id" | "status" | "message">;
/** What a check may say of a quiet host, and why that is true. */
type Reasons = Readonly<Record<string, { readonly says: RegExp; readonly reason: string }>>;

/** They judge the machine that runs the tests, which has other work. */
const ofTheMachine = ["cpu_load", "memory", "pressure"];

const ofBooted: Reasons = {
  ssh_config: {
    says: /^sshd: a password is enough to log in, .*PasswordAuthentication no$/,
    reason: "Debian lets users log in with a password alone",
  },
  firewall: {
    says: /^22\/tcp \(sshd\) is open to the network/,
    reason: "sshd is open to the network, and Debian installs no rules",
  },
};

const ofContainer: Reasons = {
  security_updates: {
    says: /^There are no package lists/,
    reason: "images of containers come without package lists, so nobody knows which updates are out",
  },
};

/** A network with a way out that leads nowhere, and a name server that answers. */
const networkLines = [
  "ip link set lo up",
  `ip link add ${out} type veth peer name peer0`,
  `ip link set peer0 up && ip addr add 192.0.2.2/24 dev ${out} && ip link set ${out} up`,
  `ip route add default via 192.0.2.1 dev ${out}`,
];

const table = (results: readonly Found[]): string =>
  results.map(({ check_id: id, status, message }) => `  ${status.padEnd(4)} ${id.padEnd(24)} ${message}\n`).join("");

type Ask = <T>(path: string) => Promise<T>;

/** Runs every check several times. @returns the results of all runs. */
async function runAll(ask: Ask): Promise<readonly Found[]> {
  const { results } = await ask<HealthCheckList>("/health/checks");
  const all: Found[] = [...results];
  for (let round = 1; round < rounds; round += 1)
    for (const { check_id: id } of results) all.push(await ask<Found>(`/health/checks/${id}`));
  return all;
}

/**
 * Prints what each check said last, and expects that whatever warned or failed in any run had a true reason to, and that each reason
 * is still needed.
 */
function expectQuiet(name: string, results: readonly Found[], reasons: Reasons): void {
  const bad = results.filter(
    ({ check_id: id, status }) => !ofTheMachine.includes(id) && (status === "warn" || status === "fail"),
  );
  const why = [...new Set(bad.map(({ check_id: id }) => id))].map(
    (id) => `  ${id}: ${reasons[id]?.reason ?? "no reason is known"}\n`,
  );
  process.stdout.write(`${name}:\n${table(results.slice(-results.length / rounds))}${why.join("")}`);
  const unexpected = bad.filter(({ check_id: id, message }) => reasons[id]?.says.test(message) !== true);
  expect(unexpected.map(({ check_id: id, status, message }) => [id, status, message])).toEqual([]);
  expect(bad.map(({ check_id: id }) => id)).toEqual(expect.arrayContaining(Object.keys(reasons)));
}

/** Asks a service inside the host, which has a network of its own. @param enter words that enter further namespaces. */
const asker =
  (host: Host, url: string, key: string, enter: readonly string[] = []): Ask =>
  async <T>(path: string) => {
    const words = ["curl", "--silent", "--fail", "--show-error", "-H", `X-API-Key: ${key}`, `${url}/api/v1${path}`];
    return JSON.parse((await host.exec([...enter, ...words], { timeoutMs: 120_000 })).stdout) as T;
  };

/** Boots a Debian as an administrator has it after its installation: with sshd, a network, a name server and package lists. */
async function bootQuiet(suite: Suite): Promise<Host> {
  const host = await bootHost({ suite, privateNetwork: true });
  const shell = async (line: string): Promise<string> => (await host.exec(["sh", "-c", line])).stdout;
  await shell(networkLines.join(" && "));
  await host.writeFile("/usr/local/lib/name-server.py", nameServer);
  await host.exec(["systemd-run", `--unit=${nameServerUnit}`, "python3", "/usr/local/lib/name-server.py"]);
  await host.writeFile("/etc/resolv.conf", "nameserver 127.0.0.77\n");
  await makePackageSources({ host, shell }, []);
  await host.exec(["systemctl", "unmask", "ssh.service"]);
  await host.exec(["systemctl", "start", "ssh.service"]);
  return host;
}

const bareRoot = "/srv/bare";
const bareAddress = "127.0.0.1:8471";

/**
 * Starts the service as the first process of a container: a tree of its own, and all namespaces, but neither systemd nor a bus, a
 * journal, or package lists.
 */
async function startContainer(host: Host): Promise<Ask> {
  const [node, program] = installedPrograms;
  const inside = [
    ...networkLines,
    "python3 /usr/local/lib/name-server.py &",
    `exec env STEWARD_LISTEN=${bareAddress} STEWARD_RATE_LIMITS=off STEWARD_STATE_DIR=/var/lib/steward ${node} ${program} serve`,
  ];
  const lines = [
    `btrfs -q subvolume snapshot / ${bareRoot}`,
    `rm -rf ${bareRoot}/var/lib/apt/lists/* ${bareRoot}/var/log/journal ${bareRoot}/var/lib/steward ${bareRoot}/run/*`,
    `mkdir -p ${bareRoot}/opt/steward ${bareRoot}/var/lib/steward`,
    `cat > ${bareRoot}/inside <<'END'\n${inside.join("\n")}\nEND`,
    `cat > /root/container <<'END'
set -e
mount --bind ${bareRoot} ${bareRoot}
cd ${bareRoot}
mount --rbind /opt/steward opt/steward
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount --rbind /dev dev
mount -t tmpfs tmpfs run
pivot_root . mnt
umount -l /mnt
exec sh -e /inside
END`,
    "systemd-run --quiet --unit=bare.service unshare --mount --pid --ipc --uts --net --cgroup --fork --kill-child --propagation private sh /root/container",
  ];
  await host.exec(["sh", "-ec", lines.join("\n")]);
  const key = await eventually(() => host.readFile(`${bareRoot}/var/lib/steward/admin.key`));
  const shim = (await host.exec(["systemctl", "show", "--value", "--property=MainPID", "bare.service"])).stdout.trim();
  const first = (await host.exec(["pgrep", "--parent", shim])).stdout.trim();
  const ask = asker(host, `http://${bareAddress}`, key.trim(), ["nsenter", "--target", first, "--net"]);
  await eventually(() => ask("/health"));
  return ask;
}

const suites: readonly (readonly [Suite, string])[] = [
  ["bookworm", "Debian 12"],
  ["trixie", "Debian 13"],
];

for (const [suite, name] of suites) {
  const missing = await missingImage(suite);
  if (missing !== undefined) process.stdout.write(`skipped: a quiet ${name}: ${missing}\n`);
  describe.skipIf(missing !== undefined)(`a quiet ${name}`, () => {
    let host: Host | undefined;
    beforeAll(async () => {
      host = await bootQuiet(suite);
    });
    afterAll(() => host?.stop());

    it("has no check that warns or fails without a known reason", async () => {
      if (host === undefined) throw new Error("the host has not been booted");
      const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
      expectQuiet(name, await runAll(asker(host, service.url, service.adminKey)), ofBooted);
    });

    it("has no such check in a container that runs the service alone either", async () => {
      if (host === undefined) throw new Error("the host has not been booted");
      const bare = await startContainer(host);
      expectQuiet(`a container on ${name}`, await runAll(bare), ofContainer);
    });
  });
}
