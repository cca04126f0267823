import type { BigJournal } from "../journals/million.ts";
import { bigJournal, runJournalctl, whyNoLogRows } from "../log-queries.ts";
import { compare, type Line, type Row, type Subject } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { fetchBody, timeEach } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
const requests = 20;

/** What is counted of a window that was not asked for before, and the arguments of journalctl that select the same. */
interface Case {
  readonly subject: Subject;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

const counting = "`journalctl -o json --output-fields=PRIORITY`, lines counted";

const subjectOf = (work: string, least: number): Subject => ({
  work: `${work}, a million entries, another window each time`,
  peer: counting,
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: least },
});

const nginx = { query: { unit: "nginx.service" }, argv: ["--unit=nginx.service"] };
const warnings = { query: { ...nginx.query, priority: "4" }, argv: [...nginx.argv, "--priority=4"] };
const histogram = { path: "histogram", query: { buckets: "150" } };

const cases: readonly Case[] = [
  { subject: subjectOf("histogram of 150 buckets by priority", 100), ...histogram, argv: [] },
  {
    subject: subjectOf("the same of one unit", 100),
    ...histogram,
    query: { ...histogram.query, ...nginx.query },
    argv: nginx.argv,
  },
  {
    subject: subjectOf("the same of one unit and warnings or worse", 100),
    ...histogram,
    query: { ...histogram.query, ...warnings.query },
    argv: warnings.argv,
  },
  {
    subject: subjectOf("facets of five fields of one unit", 100),
    path: "facets",
    query: { ...nginx.query, fields: "unit,priority,identifier,hostname,boot" },
    argv: nginx.argv,
  },
];

/** The window of a number: each ends some minutes earlier. */
function windowOf({ firstMicros, lastMicros }: BigJournal, number: number) {
  const [since, until] = [Math.floor(firstMicros / 1_000_000), Math.floor(lastMicros / 1_000_000) - number * 60];
  return {
    query: { since: new Date(since * 1000).toISOString(), until: new Date(until * 1000).toISOString() },
    argv: [`--since=@${since}`, `--until=@${until}`],
  };
}

function addressOf({ url }: Server, journal: BigJournal, { path, query }: Case, number: number): string {
  const asked = new URLSearchParams({ ...windowOf(journal, number).query, ...query });
  return `${url}/api/v1/system/logs/${path}?${asked.toString()}`;
}

/** @throws Error unless both count the same entries. */
async function requireSameCount(server: Server, journal: BigJournal, asked: Case, number: number): Promise<number> {
  const { total } = JSON.parse(await fetchBody(addressOf(server, journal, asked, number), server.headers)) as {
    readonly total: number;
  };
  const { lines } = await runJournalctl(journal.dir, [
    "--output-fields=PRIORITY",
    ...windowOf(journal, number).argv,
    ...asked.argv,
  ]);
  if (total !== lines) throw new Error(`cannot compare: ours counts ${total} entries, the peer ${lines}`);
  return total;
}

export const logsExplored: Row = {
  name: "logs-explored",
  summary: "histograms and facets of a million entries against counting what journalctl prints",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return cases.map(({ subject }) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const lines: Line[] = [];
      let number = 0;
      for (const each of cases) {
        const total = await requireSameCount(server, journal, each, number);
        const next = (): number => (number += 1);
        const sides = {
          ours: () => {
            const { headers } = server;
            return timeEach(
              Array.from({ length: requests }, () => ({ url: addressOf(server, journal, each, next()), headers })),
            );
          },
          peer: async () => {
            const argv = ["--output-fields=PRIORITY", ...windowOf(journal, next()).argv, ...each.argv];
            return (await runJournalctl(journal.dir, argv)).ms;
          },
          notes: () => [`both count ${total} entries in the first window`],
        };
        lines.push(await compare(each.subject, sides, options));
      }
      return lines;
    });
  },
};
