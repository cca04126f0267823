import type { BigJournal } from "../journals/million.ts";
import { bigJournal, runJournalctl, whyNoLogRows } from "../log-queries.ts";
import { compare, type Line, type Row, type RowOptions, type Subject } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { fetchBody, timeEach } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

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
  work: `${work}, another window each time`,
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

/** Of a service that has just been started: it knows nothing of the journal yet. */
const first: Subject = {
  work: "histogram of 150 buckets by priority, the first question to a service that was just started",
  peer: counting,
  unit: "ms",
  judged: "ours",
  goal: { is: "less than", value: 1000 },
};

async function measureFirst(journal: BigJournal, options: RowOptions): Promise<Line> {
  const [asked] = cases;
  if (asked === undefined) throw new Error("cannot measure: there is no case");
  let number = -1;
  const sides = {
    ours: () =>
      withWorkspace(async (workspace) => {
        const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
        number += 1;
        return timeEach([{ url: addressOf(server, journal, asked, number), headers: server.headers }]);
      }),
    peer: async () => {
      const argv = ["--output-fields=PRIORITY", ...windowOf(journal, number).argv, ...asked.argv];
      return (await runJournalctl(journal.dir, argv)).ms;
    },
  };
  return compare(first, sides, options);
}

async function measureAll(journal: BigJournal, options: RowOptions): Promise<readonly Line[]> {
  const lines: Line[] = [await measureFirst(journal, options)];
  await withWorkspace(async (workspace) => {
    const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
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
  });
  return lines;
}

const rowOf = (name: string, entries: number, isOnlyNamed: boolean): Row => {
  const size = `${entries / 1_000_000} million entries`;
  const named = <L extends { readonly work: string }>(line: L): L => ({ ...line, work: `${size}: ${line.work}` });
  return {
    name,
    summary: `histograms and facets of ${size} against counting what journalctl prints`,
    ...(isOnlyNamed && { isOnlyNamed }),
    async measure(options) {
      const missing = whyNoLogRows();
      if (missing !== undefined)
        return [first, ...cases.map(({ subject }) => subject)].map((subject) =>
          named({ ...subject, skipped: missing }),
        );
      return (await measureAll(await bigJournal(entries, options.say), options)).map(named);
    },
  };
};

export const logsExplored = rowOf("logs-explored", 1_000_000, false);
export const logsExploredTenMillion = rowOf("logs-explored-ten-million", 10_200_000, true);
