import { quantile } from "../harness.ts";
import { addressOf, bigJournal, questionsOf, whyNoLogRows } from "../log-queries.ts";
import { compareAll, type Row, type Subject } from "../row.ts";
import { startSteward } from "../servers.ts";
import { fetchBody, timeRequests } from "../time-requests.ts";
import { withWorkspace } from "../workspace.ts";

const entries = 1_000_000;
/** So many requests with a pause before each: anyone who asks for the health leaves the processor to others meanwhile. */
const requests = 800;
const pauseMs = 4;
const warmUpRequests = 2_000;

const subjectOf = (which: string): Subject => ({
  work: `\`GET /health\`, ${which}, while searches over a million entries run`,
  peer: "the same without searches",
  unit: "ms",
  judged: "ours/peer",
});
const subjects = [subjectOf("median"), subjectOf("99th percentile")];

/** Runs one search after another until it is asked to stop. */
function searching(search: () => Promise<unknown>): { readonly stop: () => Promise<number> } {
  let isOver = false;
  let done = 0;
  const work = (async () => {
    while (!isOver) {
      await search();
      done += 1;
    }
  })();
  return {
    async stop() {
      isOver = true;
      await work;
      return done;
    },
  };
}

export const healthUnderGrep: Row = {
  name: "health-under-grep",
  summary: "latency of the health status while searches over a million entries run one after another, and without",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return subjects.map((subject) => ({ ...subject, skipped: missing }));
    const journal = await bigJournal(entries, options.say);
    return withWorkspace(async (workspace) => {
      const server = await startSteward(workspace, { limits: "counted", journalDir: journal.dir });
      const health = `${server.url}/api/v1/health`;
      const search = () => fetchBody(addressOf(server, questionsOf(journal).rareWord), server.headers);
      await search();
      await timeRequests(health, server.headers, warmUpRequests);

      const timeHealth = async (): Promise<readonly number[]> => {
        const { times } = await timeRequests(health, server.headers, requests, pauseMs);
        server.forgetOutput();
        return [quantile(times, 0.5), quantile(times, 0.99)];
      };
      let searches = 0;
      const underSearches = async (): Promise<readonly number[]> => {
        const searcher = searching(search);
        try {
          return await timeHealth();
        } finally {
          searches += await searcher.stop();
        }
      };
      const notes = () => [
        `${requests} requests in each round, one every ${pauseMs} ms; ${searches} searches ran meanwhile in all`,
      ];
      return compareAll(subjects, { ours: underSearches, peer: timeHealth, notes }, options);
    });
  },
};
