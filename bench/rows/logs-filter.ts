import {
  addressOf,
  bigJournal,
  type LogQuestion,
  pageSize,
  questionsOf,
  requireSameTotal,
  timeJournalctl,
  whyNoLogRows,
} from "../log-queries.ts";
import { compare, type Line, type Row, type RowOptions, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;

/** What is asked, and how often each side is asked in a round. */
interface Case {
  readonly subject: Subject;
  readonly question: keyof ReturnType<typeof questionsOf>;
  readonly requests: number;
  readonly runs: number;
}

const filterCase: Case = {
  subject: {
    work: "unit, priority and half of the time of a million entries, exact `total`",
    peer: "`journalctl -u -p --since --until -o json`, lines counted",
    unit: "ms",
    judged: "peer/ours",
    goal: { is: "at least", value: 10 },
  },
  question: "filter",
  requests: 30,
  runs: 5,
};

const grepCases: readonly Case[] = [
  {
    subject: {
      work: "`grep` for a rare word over a million messages, exact `total`",
      peer: "`journalctl -g -o json`, lines counted",
      unit: "ms",
      judged: "peer/ours",
      goal: { is: "at least", value: 2 },
    },
    question: "rareWord",
    requests: 3,
    runs: 1,
  },
  {
    subject: {
      work: "`grep` with an expression over a million messages, exact `total`",
      peer: "`journalctl -g -o json`, lines counted",
      unit: "ms",
      judged: "peer/ours",
      goal: { is: "at least", value: 2 },
    },
    question: "expression",
    requests: 3,
    runs: 1,
  },
];

/** The arguments as a shell would take them. */
const describe = ({ argv }: LogQuestion): string => argv.map((word) => `'${word}'`).join(" ");

async function measureCases(cases: readonly Case[], options: RowOptions): Promise<readonly Line[]> {
  const missing = whyNoLogRows();
  if (missing !== undefined) return cases.map(({ subject }) => ({ ...subject, skipped: missing }));
  const journal = await bigJournal(entries, options.say);
  const questions = questionsOf(journal);
  return withWorkspace(async (workspace) => {
    const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
    const lines: Line[] = [];
    for (const { subject, question: name, requests, runs } of cases) {
      const question = questions[name];
      const total = await requireSameTotal(server, journal.dir, question);
      const sides = {
        ours: async () => (await timeRequests(addressOf(server, question), server.headers, requests)).medianMs,
        peer: () => timeJournalctl(journal.dir, question.argv, runs),
        notes: () => [
          `${describe(question)}: both find ${total} entries; ours gives the newest ${Math.min(total, pageSize)} and the number of all, the peer prints all`,
        ],
      };
      lines.push(await compare(subject, sides, options));
    }
    return lines;
  });
}

export const logsFilter: Row = {
  name: "logs-filter",
  summary: "unit, priority and window over a million entries, counted exactly, against journalctl",
  measure: (options) => measureCases([filterCase], options),
};

export const logsGrep: Row = {
  name: "logs-grep",
  summary: "searches over a million messages against journalctl -g",
  measure: (options) => measureCases(grepCases, options),
};
