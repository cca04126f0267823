import { createClient } from "#client/index.ts";
import { bootHost, type Host } from "../../test/host/host.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { buildMany, keptOrigins, makePackageSources } from "../../test/host/support/package-sources.ts";
import { compare, type Row, type Subject } from "../row.ts";

const count = 200;
const payloadBytes = 2 ** 20;
const mostRounds = 5;
const timeoutMs = 300_000;
const version = "1:1.0";

const snapshotOfUpdates: Subject = {
  work: `snapshot before an update of ${count} packages of 1 MiB in a local repository`,
  peer: "`apt-get download` of the same files",
  unit: "ms",
  judged: "ours",
  goal: { is: "at most", value: 30_000 },
};

async function prepare(host: Host, shell: (line: string) => Promise<string>): Promise<void> {
  await buildMany({ host, shell }, count, payloadBytes);
  await makePackageSources({ host, shell }, []);
  await shell("dpkg -i /srv/packages/main/many-*_1.0_all.deb >/dev/null");
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function measureOn(host: Host, options: Parameters<Row["measure"]>[0]) {
  const shell = async (line: string): Promise<string> => (await host.exec(["sh", "-c", line], { timeoutMs })).stdout;
  options.say(`building and installing ${count} packages`);
  await prepare(host, shell);
  const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
  const api = createClient({ url: service.url, key: service.adminKey });
  const names = Array.from({ length: count }, (_, at) => `many-${at}=${version}`);
  const ours = async (): Promise<number> => {
    await shell("rm -rf /var/lib/steward-tasks/snapshots");
    const ms = await timed(() => api.createSnapshot({ body: {} }));
    const [kept = ""] = await keptOrigins({ shell });
    if (kept !== `${count} "origin":"repository"`) throw new Error(`cannot compare: ours has kept ${kept}`);
    return ms;
  };
  const peer = async (): Promise<number> => {
    await shell("rm -rf /srv/downloads && mkdir /srv/downloads && chown _apt /srv/downloads");
    const ms = await timed(() => shell(`cd /srv/downloads && apt-get --quiet download ${names.join(" ")}`));
    const found = Number(await shell("ls /srv/downloads | wc -l"));
    if (found !== count) throw new Error(`cannot compare: apt has downloaded ${found} files`);
    return ms;
  };
  const notes = () => [
    "ours also hashes and syncs each file, and keeps all of /etc; nothing is kept from the round before",
    `each side leaves the same ${count} files`,
  ];
  const rounds = Math.min(options.rounds, mostRounds);
  return [await compare(snapshotOfUpdates, { ours, peer, notes }, { ...options, rounds })];
}

export const snapshot: Row = {
  name: "snapshot",
  summary: "time of the snapshot before an update of 200 packages, in the test host, against apt-get download",
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) return [{ ...snapshotOfUpdates, skipped: `the test host needs ${missing.join("; ")}` }];
    const host = await bootHost({ log: options.say, fileSystem: "ext4" });
    try {
      return await measureOn(host, options);
    } finally {
      await host.stop();
    }
  },
};
