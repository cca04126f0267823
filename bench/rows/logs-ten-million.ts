import { median } from "../harness.ts";
import {
  addressOf,
  askOurs,
  bigJournal,
  compareWindows,
  createWindows,
  cursorsIn,
  type LogQuestion,
  type NewQuestion,
  newQuestions,
  requireSameEntries,
  runJournalctl,
  startGatewayd,
  whyNoLogRows,
} from "../log-queries.ts";
import { compare, type Line, type Row, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { timeEach } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 10_200_000;
const [tailRequests, tailRuns] = [30, 5];

const subjectOf = (work: string, peer: string, least: number): Subject => ({
  work: `10.2 million entries in 60 files: ${work}`,
  peer,
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: least },
});

const newest = "newest 1000 of another window each time";
const tail = subjectOf(newest, "`journalctl --until -n 1000 -r -o json`", 8);
const tailOverHttp = subjectOf(newest, "`systemd-journal-gatewayd`, the same windows over HTTP", 15);

const anyUnit: Subject = {
  ...subjectOf("`unit=*`, exact `total`", "`journalctl -u '*' -o json`, lines counted", 1),
  judged: "ours",
  goal: { is: "less than", value: 30 },
};

interface Case {
  readonly subject: Subject;
  readonly question: NewQuestion;
}

const cases: readonly Case[] = [
  {
    subject: subjectOf("half of them of one unit, exact `total`", "`journalctl -u -o json`, lines counted", 30),
    question: newQuestions.unit,
  },
  { subject: anyUnit, question: newQuestions.anyUnit },
  {
    subject: subjectOf("`priority=6`, exact `total`", "`journalctl -p 6 -o json`, lines counted", 30),
    question: newQuestions.priority,
  },
  {
    subject: subjectOf("unit, priority, window, exact `total`", "`journalctl -u -p --since --until -o json`", 30),
    question: newQuestions.filter,
  },
  {
    subject: subjectOf("`grep` for a rare word", "`journalctl -g -o json`, lines counted", 20),
    question: newQuestions.rareWord,
  },
  {
    subject: subjectOf("`grep` for a common word", "`journalctl -g -o json`, lines counted", 20),
    question: newQuestions.commonWord,
  },
  {
    subject: subjectOf("`grep` with an expression", "`journalctl -g -o json`, lines counted", 10),
    question: newQuestions.expression,
  },
];

/** Fields of which the peer prints one: what it prints besides is not what it is measured for. */
const oneField = "--output-fields=PRIORITY";

export const logsTenMillion: Row = {
  name: "logs-ten-million",
  summary: "log queries on 10.2 million entries in 60 files against journalctl and gatewayd; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined)
      return [tailOverHttp, tail, ...cases.map(({ subject }) => subject)].map((subject) => ({
        ...subject,
        skipped: missing,
      }));
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const peer = await startGatewayd(workspace, journal.dir);
      const ask = (questions: readonly LogQuestion[]) =>
        timeEach(questions.map((question) => ({ url: addressOf(ours, question), headers: ours.headers })));
      const next = createWindows(journal);
      const first = next();
      const { output } = await runJournalctl(journal.dir, first.argv, { keep: true });
      requireSameEntries((await askOurs(ours, first)).logs, cursorsIn(output.toString("utf8")).toReversed());
      const lines: Line[] = [
        await compareWindows(tailOverHttp, { journal, ours, peer }, options),
        await compare(
          tail,
          {
            ours: () => ask(Array.from({ length: tailRequests }, next)),
            peer: async () => {
              const times: number[] = [];
              for (let run = 0; run < tailRuns; run += 1)
                times.push((await runJournalctl(journal.dir, next().argv)).ms);
              return median(times);
            },
            notes: () => ["no side is asked for the same entries twice"],
          },
          options,
        ),
      ];
      for (const { subject, question } of cases) {
        let number = 0;
        const asked = question(journal, number);
        const firstMs = await ask([asked]);
        const { ms: peerMs, lines: listed } = await runJournalctl(journal.dir, [...asked.argv, oneField]);
        const { total } = await askOurs(ours, asked);
        if (total !== listed) throw new Error(`cannot compare: ours finds ${total} entries, journalctl ${listed}`);
        options.say(
          `${subject.work}: both find ${total} entries, ours in ${firstMs.toFixed(0)} ms, the peer in ${peerMs.toFixed(0)} ms`,
        );
        const sides = {
          ours: () => {
            number += 1;
            return ask([question(journal, number)]);
          },
          peer: () => Promise.resolve(peerMs),
          notes: () => [
            `both find ${total} entries; ours is asked another question each time, of which the first took ${firstMs.toFixed(0)} ms; the peer, which takes long, ran once and printed one field of each entry`,
          ],
        };
        lines.push(await compare(subject, sides, options));
      }
      return lines;
    });
  },
};
