import { readFileSync } from "node:fs";
import { bootHost } from "../test/host/host.ts";
import { packageLists } from "./packages/lists.ts";

/** What the timing program inside the test host prints. */
export interface TimedUpdates {
  readonly medianMs: number;
  /** `name version` of each, in order. */
  readonly updates: readonly string[];
  readonly security: readonly string[];
}

/** The test host with the lists of a whole distribution, a thousand more packages installed, and the service in it. */
export interface PackageHost {
  readonly timeService: (requests: number) => Promise<TimedUpdates>;
  /** `apt list --upgradable`, with the caches that apt keeps for itself or without them. */
  readonly timeApt: (runs: number, caches: "kept" | "none") => Promise<TimedUpdates>;
  /** restarts the service and waits until its health checks have run, which ask apt as well. */
  readonly restartService: () => Promise<void>;
}

const guestNode = "/opt/steward/node_modules/.bin/node";
const script = "/opt/steward/bench/guest/time-updates.ts";
const repository = "/srv/packages";
const statusFile = "/var/lib/dpkg/status";
const withoutCaches = ["--option=Dir::Cache::pkgcache=", "--option=Dir::Cache::srcpkgcache="] as const;
const timeoutMs = 300_000;
/** Limits are counted and never reached. */
const config = "rate_limits:\n  per_minute: 1000000000\n  per_hour: 1000000000\n";
const sources = ["bookworm", "bookworm-security"].map(
  (suite) => `deb [trusted=yes] copy:${repository} ${suite} main\n`,
);

/** Boots the test host, gives it packages, starts the service and stops it all when `use` is over. */
export async function withPackageHost<T>(
  say: (text: string) => void,
  use: (host: PackageHost) => Promise<T>,
): Promise<T> {
  const lists = packageLists();
  const bind = [{ source: lists.repository, target: repository, readOnly: true }];
  const host = await bootHost({ log: say, bind });
  try {
    await host.exec(["rm", "-rf", "/etc/apt/sources.list.d"]);
    await host.writeFile("/etc/apt/sources.list", sources.join(""));
    const status = `${(await host.readFile(statusFile)).trimEnd()}\n\n${readFileSync(lists.status, "utf8")}`;
    await host.writeFile(statusFile, status, 0o644);
    say("reading the lists of packages");
    await host.exec(["apt-get", "--quiet", "update"], { timeoutMs });
    const service = await host.startService({ config });
    const time = async (args: readonly string[]): Promise<TimedUpdates> => {
      const env = { STEWARD_API_KEY: service.adminKey };
      const { stdout } = await host.exec([guestNode, script, ...args], { env, timeoutMs });
      return JSON.parse(stdout) as TimedUpdates;
    };
    const haveChecksRun = async (): Promise<void> => {
      const answer = await fetch(`${service.url}/api/v1/health/checks`, { headers: { "X-API-Key": service.adminKey } });
      if (!answer.ok) throw new Error(`cannot wait for the health checks: HTTP ${answer.status}`);
      await answer.text();
    };
    return await use({
      timeService: (requests) => time(["service", `${service.url}/api/v1/updates/check`, String(requests)]),
      timeApt: (runs, caches) => time(["apt", String(runs), ...(caches === "none" ? withoutCaches : [])]),
      async restartService() {
        await service.restart();
        await haveChecksRun();
      },
    });
  } finally {
    await host.stop();
  }
}
