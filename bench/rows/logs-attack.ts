import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createLiveDirectory, entriesOfNow } from "../../test/journals/live-directory.ts";
import { median, quantile } from "../harness.ts";
import { whyNoLogRows } from "../log-queries.ts";
import { compareAll, type Row, type Subject } from "../row.ts";
import { makeKey, type Server, startSteward } from "../servers.ts";
import { withWorkspace } from "../workspace.ts";

/** Requests of the one key that are open at any time. */
const attackers = 20;
/** How long one of them waits after it was refused. */
const pauseMs = 200;
const evil = "^(a|aa)+$";
const entries = 50_000;
/** Long enough for an engine that backtracks to be busy with it for longer than it may. */
const bait = `${"a".repeat(60)}!`;
const searches = 5;
const healthRequests = 300;
const healthPauseMs = 5;

const subjectOf = (work: string): Subject => ({
  work: `${work}, while another key has ${attackers} searches open`,
  peer: "the same without them",
  unit: "ms",
  judged: "ours/peer",
});
const subjects = [
  subjectOf("`grep` of one key"),
  subjectOf("the newest entries for one key, without `grep`"),
  subjectOf("`GET /health`, 99th percentile"),
];

type Outcome = number | "no answer";

/** One request over a connection of its own: its status, or that there was none. */
function ask(url: string, headers: Server["headers"], signal?: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const request = get(url, { headers, agent: false, ...(signal && { signal }) }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? "no answer"));
      response.once("error", () => resolve("no answer"));
    });
    request.once("error", () => resolve("no answer"));
  });
}

const logsAt = (url: string, query: Readonly<Record<string, string>>): string =>
  `${url}/api/v1/system/logs?${new URLSearchParams({ since: "1970-01-01T00:00:00Z", limit: "100", ...query }).toString()}`;

/** Asks one after another. @returns how long each took. @throws Error where an answer is not 200. */
async function times(count: number, url: string, headers: Server["headers"], pause = 0): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    if (pause > 0) await sleep(pause);
    const startedAt = performance.now();
    const outcome = await ask(url, headers);
    if (outcome !== 200) throw new Error(`cannot measure ${url}: ${outcome}`);
    taken.push(performance.now() - startedAt);
  }
  return taken;
}

function startAttack(url: string, headers: Server["headers"], onOutcome: (outcome: Outcome) => void) {
  const over = new AbortController();
  const attack = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const outcome = await ask(url, headers, over.signal);
      if (over.signal.aborted) return;
      onOutcome(outcome);
      if (outcome !== 200) await sleep(pauseMs);
    }
  };
  const all = Promise.all(Array.from({ length: attackers }, attack));
  return async (): Promise<void> => {
    over.abort();
    await all;
  };
}

export const logsAttack: Row = {
  name: "logs-attack",
  summary:
    "what one key waits for while another has twenty searches with an expression that takes exponential time elsewhere",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return subjects.map((subject) => ({ ...subject, skipped: missing }));
    const journal = createLiveDirectory();
    const messages = Array.from({ length: entries }, (_, at) => (at % 1000 === 0 ? bait : `request ${at} served`));
    journal.append("system.journal", entriesOfNow(messages.map((message) => [["MESSAGE", message]])));
    try {
      return await withWorkspace(async (workspace) => {
        const server = await startSteward(workspace, { limits: "counted", journalDir: journal.path });
        const { url } = server;
        const [attacker, victim] = [await makeKey(server, "attacker"), await makeKey(server, "victim")];
        const outcomes = new Map<Outcome, number>();
        const measure = async (): Promise<readonly number[]> => {
          const found = await times(searches, logsAt(url, { grep: "request 4242 " }), victim);
          const newest = await times(searches, logsAt(url, {}), victim);
          const health = await times(healthRequests, `${url}/api/v1/health`, victim, healthPauseMs);
          return [median(found), median(newest), quantile(health, 0.99)];
        };
        const underAttack = async (): Promise<readonly number[]> => {
          const stop = startAttack(logsAt(url, { grep: evil }), attacker, (outcome) => {
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          });
          try {
            return await measure();
          } finally {
            await stop();
          }
        };
        const notes = () => [
          `\`grep=${evil}\` over ${entries} entries; it got ${[...outcomes].map(([outcome, count]) => `${count} × ${outcome}`).join(", ") || "nothing"}`,
        ];
        return compareAll(subjects, { ours: underAttack, peer: measure, notes }, options);
      });
    } finally {
      journal.remove();
    }
  },
};
