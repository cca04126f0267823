import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { BigJournal } from "./journals/million.ts";
import { addressOf, createWindows, type LogQuestion, newQuestions } from "./log-queries.ts";

/**
 * Clients that query the journal, in a process of their own so that they do not delay who times others: `log-clients.ts`
 * with a {@link ClientsTask} as JSON. Ends by itself, and prints a {@link ClientsResult}.
 */
export interface ClientsTask {
  readonly url: string;
  /** Headers of each key. The clients take them in turn. */
  readonly keys: readonly Readonly<Record<string, string>>[];
  readonly journal: BigJournal;
  readonly clients: number;
  readonly seconds: number;
  /** No question with a lower number is asked, so that each round asks others. */
  readonly from: number;
}

/** How many requests were answered, by their status, and how many of those that were answered 200 were searches. */
export interface ClientsResult {
  readonly statuses: Readonly<Record<string, number>>;
  readonly searches: number;
}

/** How long a client waits after it was asked to try again later. */
const refusedMs = 250;
const { url, keys, journal, clients, seconds, from } = JSON.parse(process.argv[2] ?? "{}") as ClientsTask;

const windows = createWindows(journal, from);
const { unit, priority, filter, rareWord, commonWord, expression } = newQuestions;
const anyUnit: typeof unit = (...asked) => {
  const question = unit(...asked);
  return { ...question, query: { ...question.query, unit: "app-*" } };
};
/** A tenth of the questions are searches. */
const kinds = [windows, unit, windows, priority, windows, filter, windows, anyUnit, unit];
const searches = [rareWord, expression, commonWord];

let number = from;
function nextQuestion(): LogQuestion {
  number += 1;
  const turn = number % (kinds.length + 1);
  const kind = kinds[turn] ?? searches[Math.floor(number / (kinds.length + 1)) % searches.length] ?? windows;
  return kind(journal, number);
}

function ask(address: string, headers: Readonly<Record<string, string>>, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(address, { headers, agent }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.once("end", () => {
        if (bytes > 0) resolve(response.statusCode ?? 0);
        else reject(new Error(`an answer without a body: ${response.statusCode}`));
      });
      response.once("error", reject);
    });
    request.once("error", reject);
  });
}

const statuses: Record<string, number> = {};
let searched = 0;
const endsAt = performance.now() + seconds * 1000;

async function runClient(index: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (performance.now() < endsAt) {
    const question = nextQuestion();
    const status = await ask(addressOf({ url }, question), keys[index % keys.length] ?? {}, agent);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 200 && "grep" in question.query) searched += 1;
    if (status === 429 || status === 503) await sleep(refusedMs);
    else if (status !== 200) throw new Error(`${addressOf({ url }, question)}: HTTP ${status}`);
  }
  agent.destroy();
}

await Promise.all(Array.from({ length: clients }, (_, index) => runClient(index)));
console.log(JSON.stringify({ statuses, searches: searched } satisfies ClientsResult));
