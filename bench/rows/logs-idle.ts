import { setTimeout as sleep } from "node:timers/promises";
import { addressOf, bigJournal, createWindows, whyNoLogRows } from "../log-queries.ts";
import { compare, type Row, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { timeEach } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
/** Longer than threads without work are kept. */
const pauseMs = 65_000;
/** Each takes more than a minute. */
const mostRounds = 3;
const warmUpRequests = 100;

const subject: Subject = {
  work: "the newest 1000 of a window of a million entries, the first query after a minute without any",
  peer: "the same right after another one",
  unit: "ms",
  judged: "ours",
  goal: { is: "less than", value: 20 },
};

export const logsIdle: Row = {
  name: "logs-idle",
  summary: "the first log query after a minute without any",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return [{ ...subject, skipped: missing }];
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const ours = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const next = createWindows(journal);
      const ask = (): Promise<number> => timeEach([{ url: addressOf(ours, next()), headers: ours.headers }]);
      for (let request = 0; request < warmUpRequests; request += 1) await ask();
      const afterPause = async (): Promise<number> => {
        await sleep(pauseMs);
        return ask();
      };
      const sides = { ours: afterPause, peer: ask, notes: () => ["the files are in the page cache"] };
      return [await compare(subject, sides, { ...options, rounds: Math.min(options.rounds, mostRounds) })];
    });
  },
};
