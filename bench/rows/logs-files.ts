import { median } from "../harness.ts";
import type { BigJournal } from "../journals/million.ts";
import {
  addressOf,
  askOurs,
  bigJournal,
  compareWindows,
  createWindows,
  cursorsIn,
  type LogQuestion,
  newQuestions,
  questionsOf,
  requireSameEntries,
  requireSameTotal,
  runJournalctl,
  startGatewayd,
  timeJournalctl,
  whyNoLogRows,
} from "../log-queries.ts";
import { compare, type Line, type Row, type RowOptions, type Subject } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { timeEach, timeRequests } from "../time-requests.ts";
import { type Workspace, withWorkspace } from "../workspace.ts";

/** As many as fit into one file of the usual size. */
const ofOneFile = 160_000;
const ofManyFiles = 2_000_000;
const [firstRequests, warmRequests, windowRequests, runs] = [25, 100, 20, 5];

const [one, many] = ["160 000 entries in one file", "2 million entries in 23 files"];
const gatewayd = "`systemd-journal-gatewayd`, the same over HTTP";
const listing = "`journalctl -n 1000 -o json`";
const elsewhere = "`journalctl --until -n 1000 -r -o json`";
const search = "`journalctl -g -o json`, lines counted";

const against = (work: string, peer: string, least: number): Subject => ({
  ...{ work, peer, unit: "ms", judged: "peer/ours" },
  goal: { is: "at least", value: least },
});
const within = (work: string, peer: string, ms: number): Subject => ({
  ...{ work, peer, unit: "ms", judged: "ours" },
  goal: { is: "less than", value: ms },
});

const subjects = {
  again: against(`${one}: newest 1000, the same again`, gatewayd, 15),
  againListed: against(`${one}: newest 1000, the same again`, listing, 8),
  first: within(`${one}: newest 1000, the first ${firstRequests} requests of a service`, gatewayd, 5),
  oneElsewhere: within(`${one}: newest 1000 of another window each time`, gatewayd, 4),
  elsewhere: against(`${many}: newest 1000 of another window each time`, gatewayd, 15),
  elsewhereListed: against(`${many}: newest 1000 of another window each time`, elsewhere, 8),
  unit: against(`${many}: newest 1000 of a unit, another window each time`, "the same with `-u`", 8),
  firstSearch: against(`${many}: \`grep\` for a rare word, the first search of a service`, search, 20),
  rareWord: against(`${many}: \`grep\` for another rare word each time, exact \`total\``, search, 20),
  commonWord: against(`${many}: \`grep\` for another common word each time, exact \`total\``, search, 20),
} satisfies Record<string, Subject>;

const ask = (ours: Server, questions: readonly LogQuestion[]): Promise<number> =>
  timeEach(questions.map((question) => ({ url: addressOf(ours, question), headers: ours.headers })));

/** A service that nobody has asked anything yet. */
async function withFresh<T>(journal: BigJournal, work: (ours: Server) => Promise<T>): Promise<T> {
  return withWorkspace(async (workspace) => {
    const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
    return work(ours);
  });
}

async function measureOneFile(workspace: Workspace, options: RowOptions): Promise<readonly Line[]> {
  const journal = await bigJournal(ofOneFile, options.say);
  const { tail } = questionsOf(journal);
  const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
  const peer = await startGatewayd(workspace, journal.dir);
  const listed = await runJournalctl(journal.dir, tail.argv, { keep: true });
  requireSameEntries((await askOurs(ours, tail)).logs, cursorsIn(listed.output.toString("utf8")));
  const fromOurs = async () => (await timeRequests(addressOf(ours, tail), ours.headers, warmRequests)).medianMs;
  const fromPeer = async (count: number) => (await timeRequests(`${peer.url}/entries`, peer.headers, count)).medianMs;
  const first = {
    ours: () => withFresh(journal, (fresh) => ask(fresh, Array<LogQuestion>(firstRequests).fill(tail))),
    peer: () => fromPeer(firstRequests),
  };
  return [
    await compare(subjects.first, first, options),
    await compare(subjects.again, { ours: fromOurs, peer: () => fromPeer(warmRequests) }, options),
    await compare(
      subjects.againListed,
      { ours: fromOurs, peer: () => timeJournalctl(journal.dir, tail.argv, runs) },
      options,
    ),
    await compareWindows(subjects.oneElsewhere, { journal, ours, peer }, options),
  ];
}

/** The newest entries of a unit before one time after another. */
function windowsOfUnit(journal: BigJournal): () => LogQuestion {
  const next = createWindows(journal);
  const { unit } = questionsOf(journal);
  return () => {
    const { query, argv } = next();
    return { query: { ...query, ...unit.query }, argv: [...unit.argv, ...argv] };
  };
}

async function measureManyFiles(workspace: Workspace, options: RowOptions): Promise<readonly Line[]> {
  const journal = await bigJournal(ofManyFiles, options.say, { stamped: true });
  const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
  const peer = await startGatewayd(workspace, journal.dir);
  const alternately = (next: () => LogQuestion) => ({
    ours: () => ask(ours, Array.from({ length: windowRequests }, next)),
    peer: async () => {
      const times: number[] = [];
      for (let run = 0; run < runs; run += 1) times.push((await runJournalctl(journal.dir, next().argv)).ms);
      return median(times);
    },
    notes: () => ["no side is asked for the same entries twice"],
  });
  const ofUnit = windowsOfUnit(journal);
  const { argv, ...asked } = ofUnit();
  const { output } = await runJournalctl(journal.dir, argv, { keep: true });
  requireSameEntries((await askOurs(ours, { ...asked, argv })).logs, cursorsIn(output.toString("utf8")).toReversed());

  let number = 0;
  const next = (kind: "rareWord" | "commonWord"): LogQuestion => {
    number += 1;
    return newQuestions[kind](journal, number);
  };
  const searching = (kind: "rareWord" | "commonWord") => ({
    ours: () => ask(ours, [next(kind)]),
    peer: () => timeJournalctl(journal.dir, next(kind).argv, 1),
  });
  const firstSearch = {
    ours: () => withFresh(journal, (fresh) => ask(fresh, [next("rareWord")])),
    peer: searching("rareWord").peer,
  };
  const windows = await compareWindows(subjects.elsewhere, { journal, ours, peer }, options);
  const lines = [
    windows,
    await compare(subjects.elsewhereListed, alternately(createWindows(journal, 1000)), options),
    await compare(subjects.unit, alternately(ofUnit), options),
    await compare(subjects.firstSearch, firstSearch, options),
  ];
  await requireSameTotal(ours, journal.dir, newQuestions.rareWord(journal, 0));
  return [
    ...lines,
    await compare(subjects.rareWord, searching("rareWord"), options),
    await compare(subjects.commonWord, searching("commonWord"), options),
  ];
}

export const logsFiles: Row = {
  name: "logs-files",
  summary: "pages and searches on one file and on 23 files, the first ones of a service apart; only where it is named",
  isOnlyNamed: true,
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return Object.values(subjects).map((subject) => ({ ...subject, skipped: missing }));
    return [
      ...(await withWorkspace((workspace) => measureOneFile(workspace, options))),
      ...(await withWorkspace((workspace) => measureManyFiles(workspace, options))),
    ];
  },
};
