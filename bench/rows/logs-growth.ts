import { summarise } from "../harness.ts";
import { addressOf, bigJournal, questionsOf, requireSameTotal, timeJournalctl, whyNoLogRows } from "../log-queries.ts";
import { compare, type Line, type MeasuredLine, type Row, type RowOptions, type Subject, toLine } from "../row.ts";
import { startSteward } from "../servers.ts";
import { timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const sizes = [10_000, 100_000, 1_000_000] as const;
const [least, most] = [sizes[0], sizes[2]];
/** Growth is read from three sizes, each of which takes a few rounds. */
const mostRounds = 3;
const warmUpRequests = 20;

interface Kind {
  readonly question: keyof ReturnType<typeof questionsOf>;
  readonly what: string;
  readonly peer: string;
  /** What a hundred times as many entries may cost: nothing for the newest, and no more than in proportion for the rest. */
  readonly mostTimes: number;
  readonly requests: number;
}

const kinds: readonly Kind[] = [
  { question: "tail", what: "newest 1000", peer: "`journalctl -n 1000 -o json`", mostTimes: 2, requests: 30 },
  { question: "unit", what: "one unit", peer: "`journalctl -u -o json`", mostTimes: most / least, requests: 20 },
  {
    question: "priority",
    what: "`priority=3`",
    peer: "`journalctl -p 3 -o json`",
    mostTimes: most / least,
    requests: 20,
  },
  { question: "rareWord", what: "`grep`", peer: "`journalctl -g -o json`", mostTimes: most / least, requests: 3 },
];

const subjectOf = ({ what, peer }: Kind, entries: number): Subject => ({
  work: `logs, ${what} of ${entries.toLocaleString("en").replaceAll(",", " ")} entries`,
  peer,
  unit: "ms",
  judged: "peer/ours",
});

/** Every kind of query on a journal of one size. */
async function measureSize(entries: number, options: RowOptions): Promise<readonly MeasuredLine[]> {
  const journal = await bigJournal(entries, options.say);
  const questions = questionsOf(journal);
  return withWorkspace(async (workspace) => {
    const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
    const lines: MeasuredLine[] = [];
    for (const kind of kinds) {
      const question = questions[kind.question];
      const address = addressOf(server, question);
      if (kind.question !== "tail") await requireSameTotal(server, journal.dir, question);
      await timeRequests(address, server.headers, kind.requests === 3 ? 1 : warmUpRequests);
      const sides = {
        ours: async () => (await timeRequests(address, server.headers, kind.requests)).medianMs,
        peer: () => timeJournalctl(journal.dir, question.argv, 1),
      };
      lines.push(await compare(subjectOf(kind, entries), sides, options));
    }
    return lines;
  });
}

/** How much more time the largest journal takes than the smallest. */
function describeGrowth(kind: Kind, small: MeasuredLine, large: MeasuredLine): Line {
  const times = (side: "ours" | "peer"): number => large.summary[side] / small.summary[side];
  return toLine(
    {
      work: `logs, ${kind.what}: time for ${most / least} times the entries`,
      peer: kind.peer,
      unit: "times",
      judged: "ours",
      goal: { is: "at most", value: kind.mostTimes },
    },
    summarise([{ ours: times("ours"), peer: times("peer") }], "peer/ours"),
  );
}

export const logsGrowth: Row = {
  name: "logs-growth",
  summary: "cost of log queries on journals of 10 000 to 1 000 000 entries",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return kinds.map((kind) => ({ ...subjectOf(kind, most), skipped: missing }));
    const rounds = Math.min(options.rounds, mostRounds);
    const bySize: (readonly MeasuredLine[])[] = [];
    for (const entries of sizes) bySize.push(await measureSize(entries, { ...options, rounds }));
    const [small = [], large = []] = [bySize[0], bySize[sizes.length - 1]];
    const growth = kinds.flatMap((kind, at) => {
      const [first, last] = [small[at], large[at]];
      return first === undefined || last === undefined ? [] : [describeGrowth(kind, first, last)];
    });
    return [...kinds.flatMap((_, at) => bySize.flatMap((lines) => lines[at] ?? [])), ...growth];
  },
};
