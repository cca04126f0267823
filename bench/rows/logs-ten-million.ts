import { median } from "../harness.ts";
import {
  addressOf,
  askOurs,
  bigJournal,
  type LogQuestion,
  pageSize,
  questionsOf,
  runJournalctl,
  whyNoLogRows,
} from "../log-queries.ts";
import { compare, type Line, type Row, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 10_200_000;
const [tailRequests, tailRuns] = [30, 5];
/** Of what takes long. */
const mostRounds = 3;

const subjectOf = (work: string, peer: string, least: number): Subject => ({
  work: `10.2 million entries in 60 files: ${work}`,
  peer,
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: least },
});

const tail = subjectOf("newest 1000 of another window each time", "`journalctl --until -n 1000 -o json`", 8);

interface Case {
  readonly subject: Subject;
  readonly question: Exclude<keyof ReturnType<typeof questionsOf>, "tail">;
}

const cases: readonly Case[] = [
  {
    subject: subjectOf("half of them of one unit, exact `total`", "`journalctl -u -o json`, lines counted", 30),
    question: "busiestUnit",
  },
  {
    subject: subjectOf("`priority=6`, exact `total`", "`journalctl -p 6 -o json`, lines counted", 30),
    question: "info",
  },
  {
    subject: subjectOf("unit, priority, window, exact `total`", "`journalctl -u -p --since --until -o json`", 30),
    question: "filter",
  },
  { subject: subjectOf("`grep` for a rare word", "`journalctl -g -o json`, lines counted", 20), question: "rareWord" },
  {
    subject: subjectOf("`grep` for a common word", "`journalctl -g -o json`, lines counted", 20),
    question: "commonWord",
  },
  {
    subject: subjectOf("`grep` with an expression", "`journalctl -g -o json`, lines counted", 10),
    question: "expression",
  },
];

/** Asks for what stood before one moment after another, none of them twice. */
function* windows(firstMicros: number, lastMicros: number): Generator<LogQuestion> {
  for (let number = 1; ; number += 1) {
    const part = 0.05 + 0.95 * ((number * 0.618_033_988_75) % 1);
    const until = Math.floor((firstMicros + (lastMicros - firstMicros) * part) / 1_000_000);
    yield {
      query: { since: "1970-01-01T00:00:00Z", until: new Date(until * 1000).toISOString() },
      argv: [`--until=@${until}`, `--lines=${pageSize}`],
    };
  }
}

export const logsTenMillion: Row = {
  name: "logs-ten-million",
  summary: "log queries on 10.2 million entries in 60 files against journalctl; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined)
      return [tail, ...cases.map(({ subject }) => subject)].map((subject) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    const questions = questionsOf(journal);
    const others = windows(journal.firstMicros, journal.lastMicros);
    const next = (): LogQuestion => others.next().value as LogQuestion;
    const medianOf = async (count: number, measure: () => Promise<number>): Promise<number> => {
      const times: number[] = [];
      for (let index = 0; index < count; index += 1) times.push(await measure());
      return median(times);
    };
    return withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const ask = async (question: LogQuestion) =>
        (await timeRequests(addressOf(server, question), server.headers, 1)).medianMs;
      const lines: Line[] = [
        await compare(
          tail,
          {
            ours: () => medianOf(tailRequests, () => ask(next())),
            peer: () => medianOf(tailRuns, async () => (await runJournalctl(journal.dir, next().argv)).ms),
            notes: () => ["no side is asked for the same entries twice"],
          },
          options,
        ),
      ];
      for (const { subject, question: name } of cases) {
        const question = questions[name];
        const firstMs = await ask(question);
        const { total } = await askOurs(server, question);
        const { lines: listed } = await runJournalctl(journal.dir, question.argv);
        if (total !== listed) throw new Error(`cannot compare: ours finds ${total} entries, journalctl ${listed}`);
        const sides = {
          ours: () => ask(question),
          peer: async () => (await runJournalctl(journal.dir, question.argv)).ms,
          notes: () => [`both find ${total} entries; the first time took ours ${firstMs.toFixed(0)} ms`],
        };
        lines.push(await compare(subject, sides, { ...options, rounds: Math.min(options.rounds, mostRounds) }));
      }
      return lines;
    });
  },
};
