import { bootHost, type Host } from "../test/host/host.ts";

/** What a timing program inside the test host prints. */
export interface Timed {
  readonly medianMs: number;
  /** Units in the answer. */
  readonly listed: number;
  readonly total: number;
}

/** The test host with as many service units as a row asks for, and the service in it. */
export interface UnitHost {
  /** Adds units until systemd has this many loaded. */
  readonly grow: (loaded: number) => Promise<void>;
  readonly timeService: (requests: number) => Promise<Timed>;
  readonly timeSystemctl: (runs: number) => Promise<Timed>;
  /** Asks for one of the added units after the other. */
  readonly timeServiceUnits: (requests: number) => Promise<Timed>;
  readonly timeStatus: (runs: number) => Promise<Timed>;
}

/** The Node of the checkout, inside. */
export const guestNode = "/opt/steward/node_modules/.bin/node";
const listUnits = ["systemctl", "list-units", "--all", "--type=service", "-o", "json"] as const;
const growTimeoutMs = 300_000;
/** Of so many added units one has a process that runs; the rest have done their work. */
const oneRunsOf = 5;

const unitName = (index: number): string => `bench-${String(index).padStart(4, "0")}.service`;

function describeUnit(index: number): string {
  const work =
    index % oneRunsOf === 0
      ? ["Type=exec", "ExecStart=/usr/bin/sleep infinity"]
      : ["Type=oneshot", "RemainAfterExit=yes", "ExecStart=/usr/bin/true"];
  const install = ["[Install]", "WantedBy=multi-user.target"];
  return ["[Unit]", `Description=Benchmark unit ${index}`, "[Service]", ...work, ...install, ""].join("\n");
}

/** Both sides are measured inside by programs of the same kind, so that neither pays for getting in. */
async function time(host: Host, argv: readonly string[], env: Readonly<Record<string, string>>): Promise<Timed> {
  const [script = "", ...args] = argv;
  const { stdout } = await host.exec([guestNode, `/opt/steward/bench/guest/${script}`, ...args], { env });
  return JSON.parse(stdout) as Timed;
}

async function addUnits(host: Host, from: number, to: number): Promise<void> {
  const names: string[] = [];
  for (let index = from; index < to; index += 1) {
    names.push(unitName(index));
    await host.writeFile(`/etc/systemd/system/${unitName(index)}`, describeUnit(index));
  }
  if (names.length === 0) return;
  await host.exec(["systemctl", "daemon-reload"]);
  await host.exec(["systemctl", "start", ...names], { timeoutMs: growTimeoutMs });
}

/** Boots the test host, starts the service with limits off and stops it all when `use` is over. */
export async function withUnitHost<T>(say: (text: string) => void, use: (host: UnitHost) => Promise<T>): Promise<T> {
  const host = await bootHost({ log: say });
  try {
    const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
    const timeSystemctl = (runs: number) => time(host, ["time-command.ts", String(runs), ...listUnits], {});
    let added = 0;
    const names = (): readonly string[] => Array.from({ length: added }, (_, index) => unitName(index));
    return await use({
      async grow(loaded) {
        const { listed } = await timeSystemctl(1);
        const wanted = added + Math.max(0, loaded - listed);
        say(`adding ${wanted - added} units to ${listed}`);
        await addUnits(host, added, wanted);
        added = wanted;
      },
      timeService: (requests) =>
        time(host, ["time-requests.ts", `${service.url}/api/v1/system/services?limit=1000`, String(requests)], {
          STEWARD_API_KEY: service.adminKey,
        }),
      timeSystemctl,
      timeServiceUnits: (requests) =>
        time(host, ["time-units.ts", String(requests), `${service.url}/api/v1/system/services`, ...names()], {
          STEWARD_API_KEY: service.adminKey,
        }),
      timeStatus: (runs) => time(host, ["time-units.ts", String(runs), "systemctl", ...names()], {}),
    });
  } finally {
    await host.stop();
  }
}
