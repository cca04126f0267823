import {
  addressOf,
  askOurs,
  bigJournal,
  compareWindows,
  cursorsIn,
  pageSize,
  questionsOf,
  requireSameEntries,
  runJournalctl,
  startGatewayd,
  timeJournalctl,
  whyNoLogRows,
} from "../log-queries.ts";
import { compare, type Line, type Row, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { fetchBody, timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
const requests = 50;
const runs = 15;
/** Requests to each server before the first round: both have been running for a while when they are measured. */
const warmUpRequests = 300;
const work = `\`GET /system/logs?limit=${pageSize}\`, newest of a million entries, with key, limits, metrics`;
const kib = (bytes: number): string => `${Math.round(bytes / 1024)} KiB`;

const againstGateway: Subject = {
  work,
  peer: "`systemd-journal-gatewayd`, the same entries over HTTP",
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: 10 },
};

const againstGatewayElsewhere: Subject = { ...againstGateway, work: `${work}, of another window each time` };

export const logsTail: Row = {
  name: "logs-tail",
  summary: "latency of the newest 1000 of a million entries against systemd-journal-gatewayd",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined)
      return [againstGateway, againstGatewayElsewhere].map((subject) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    const { tail } = questionsOf(journal);
    return withWorkspace(async (workspace) => {
      const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const peer = await startGatewayd(workspace, journal.dir);
      const startedAt = performance.now();
      const first = await askOurs(ours, tail);
      const firstMs = performance.now() - startedAt;
      const its = await fetchBody(`${peer.url}/entries`, peer.headers);
      requireSameEntries(first.logs, cursorsIn(its));
      const measureOurs = async (): Promise<number> => {
        const { medianMs } = await timeRequests(addressOf(ours, tail), ours.headers, requests);
        ours.forgetOutput();
        return medianMs;
      };
      await timeRequests(addressOf(ours, tail), ours.headers, warmUpRequests);
      await timeRequests(`${peer.url}/entries`, peer.headers, warmUpRequests);
      const notes = () => [
        `the first answer after the start, which opens the files, took ${firstMs.toFixed(0)} ms`,
        "every round asks for the same entries, and ours keeps those that it has written for an earlier answer",
        `an answer of ours is ${kib(first.bytes)}, with the nine fields of the contract; the peer's ${kib(Buffer.byteLength(its))}, with all fields: it has no option to leave any out`,
      ];
      const measurePeer = async () => (await timeRequests(`${peer.url}/entries`, peer.headers, requests)).medianMs;
      return [
        await compare(againstGateway, { ours: measureOurs, peer: measurePeer, notes }, options),
        await compareWindows(againstGatewayElsewhere, { journal, ours, peer }, options),
      ];
    });
  },
};

/** The fields that ours are made from. */
const shownFields = [
  "_SYSTEMD_UNIT",
  "UNIT",
  "PRIORITY",
  "MESSAGE",
  "SYSLOG_IDENTIFIER",
  "_PID",
  "_HOSTNAME",
  "_BOOT_ID",
  "_TRANSPORT",
];

const variants = [
  { peer: "`journalctl -n 1000 -o json` as a process", argv: [], goal: { is: "at least", value: 4 } },
  { peer: "the same with `--output-fields` of ours only", argv: [`--output-fields=${shownFields.join(",")}`] },
] as const;

export const logsTailProcess: Row = {
  name: "logs-tail-process",
  summary: "the same against journalctl as a process, with all fields and with ours only",
  async measure(options) {
    const subjects = variants.map(({ argv, ...subject }) => {
      return { argv, subject: { work, unit: "ms", judged: "peer/ours", ...subject } as const satisfies Subject };
    });
    const missing = whyNoLogRows();
    if (missing !== undefined) return subjects.map(({ subject }) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    const { tail } = questionsOf(journal);
    return withWorkspace(async (workspace) => {
      const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      await timeRequests(addressOf(ours, tail), ours.headers, warmUpRequests);
      const lines: Line[] = [];
      for (const { subject, argv } of subjects) {
        const command = [...tail.argv, ...argv];
        const [answer, listed] = [await askOurs(ours, tail), await runJournalctl(journal.dir, command, { keep: true })];
        requireSameEntries(answer.logs, cursorsIn(listed.output.toString("utf8")));
        const sides = {
          ours: async () => (await timeRequests(addressOf(ours, tail), ours.headers, requests)).medianMs,
          peer: () => timeJournalctl(journal.dir, command, runs),
          notes: () => [`an answer of ours is ${kib(answer.bytes)}, the peer prints ${kib(listed.bytes)}`],
        };
        lines.push(await compare(subject, sides, options));
      }
      return lines;
    });
  },
};
