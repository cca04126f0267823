import { bootHost } from "../../test/host/host.ts";
import { missingRequirements } from "../../test/host/requirements.ts";
import { compareAll, type Row, type Subject } from "../row.ts";

const guestNode = "/opt/steward/node_modules/.bin/node";
const lines = 100;
const mostRounds = 5;
const timeoutMs = 120_000;

const subjectOf = (which: string): Subject => ({
  work: `a line written with \`logger\` → \`/ws/logs\` client, ${which}`,
  peer: "`journalctl -f -o json`",
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: 5 },
});
const subjects = [subjectOf("median"), subjectOf("99th percentile")];

/** What the timing program inside the test host prints. */
interface Timed {
  readonly lost: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

export const logsLatency: Row = {
  name: "logs-latency",
  summary: "time from logger to a client of the log stream against journalctl -f, in the test host",
  async measure(options) {
    const missing = missingRequirements();
    if (missing.length > 0) {
      const skipped = `the test host needs ${missing.join("; ")}`;
      return subjects.map((subject) => ({ ...subject, skipped }));
    }
    const host = await bootHost({ log: options.say });
    try {
      const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
      const url = `${service.url.replace(/^http/, "ws")}/api/v1/ws/logs`;
      const time = async (side: "stream" | "journalctl"): Promise<readonly number[]> => {
        const argv = [guestNode, "/opt/steward/bench/guest/time-lines.ts", side, url, String(lines)];
        const { stdout } = await host.exec(argv, { env: { STEWARD_API_KEY: service.adminKey }, timeoutMs });
        const { lost, medianMs, p99Ms } = JSON.parse(stdout) as Timed;
        if (lost > 0) throw new Error(`cannot compare: ${lost} of ${lines} lines did not arrive with ${side}`);
        return [medianMs, p99Ms];
      };
      const rounds = Math.min(options.rounds, mostRounds);
      const notes = () => [
        `${lines} lines in each of ${rounds} rounds, 10 to 290 ms after one another`,
        "both readers, the writer and the clock are one process in the test host",
      ];
      const sides = { ours: () => time("stream"), peer: () => time("journalctl"), notes };
      return await compareAll(subjects, sides, { ...options, rounds });
    } finally {
      await host.stop();
    }
  },
};
