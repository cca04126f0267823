import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { quantile } from "./harness.ts";
import { type BigJournal, type BigJournalOptions, millionJournal } from "./journals/million.ts";
import { compare, type MeasuredLine, type RowOptions, type Subject } from "./row.ts";
import type { Server } from "./servers.ts";
import { freePort, startServer } from "./servers.ts";
import { fetchBody, timeEach } from "./time-requests.ts";
import type { Workspace } from "./workspace.ts";

const journalctl = "/usr/bin/journalctl";
const gatewayd = "/lib/systemd/systemd-journal-gatewayd";
const journalRemote = "/lib/systemd/systemd-journal-remote";

/** The same question, as it is put to both sides. Ours looks back one hour by default. */
export interface LogQuestion {
  /** Members of our query. */
  readonly query: Readonly<Record<string, string>>;
  /** Arguments of journalctl that say the same. */
  readonly argv: readonly string[];
}

const always = { since: "1970-01-01T00:00:00Z" };

/** Entries that one answer of ours holds; the rest are counted. */
export const pageSize = 1000;

const rfc3339 = (micros: number): string => new Date(micros / 1000).toISOString();
/** Between two milliseconds: both programs must draw the line at the same entry, whatever they round. */
const betweenEntries = (micros: number): number => Math.floor(micros / 1_000_000) * 1_000_000;

/** The questions that are asked of a journal. */
export function questionsOf({ firstMicros, lastMicros }: BigJournal) {
  const since = betweenEntries(firstMicros + (lastMicros - firstMicros) * 0.25);
  const until = betweenEntries(firstMicros + (lastMicros - firstMicros) * 0.75);
  const grep = (pattern: string): LogQuestion => ({
    query: { ...always, grep: pattern },
    argv: [`--grep=${pattern}`],
  });
  return {
    tail: { query: always, argv: [`--lines=${pageSize}`] },
    unit: { query: { ...always, unit: "app-api.service" }, argv: ["--unit=app-api.service"] },
    priority: { query: { ...always, priority: "3" }, argv: ["--priority=3"] },
    filter: {
      query: { since: rfc3339(since), until: rfc3339(until), unit: "app-api.service", priority: "4" },
      argv: [
        "--unit=app-api.service",
        "--priority=4",
        `--since=@${since / 1_000_000}`,
        `--until=@${until / 1_000_000}`,
      ],
    },
    busiestUnit: { query: { ...always, unit: "nginx.service" }, argv: ["--unit=nginx.service"] },
    anyUnit: { query: { ...always, unit: "*" }, argv: ["--unit=*"] },
    info: { query: { ...always, priority: "6" }, argv: ["--priority=6"] },
    commonWord: grep("request"),
    rareWord: grep("upstream=4242"),
    expression: grep("timeout=9\\d{3} .*commit"),
  } satisfies Record<string, LogQuestion>;
}

/** Makes a question that has not been asked before: another one for each number. */
export type NewQuestion = (journal: BigJournal, number: number) => LogQuestion;

type Name = keyof ReturnType<typeof questionsOf>;

/** The same filter, up to some minutes before the end. */
const earlier =
  (name: Name): NewQuestion =>
  (journal, number) =>
    questionsOf({ ...journal, lastMicros: journal.lastMicros - number * 60_000_000 })[name];

const upTo =
  (name: Name): NewQuestion =>
  (journal, number) => {
    const { query, argv } = questionsOf(journal)[name];
    const until = Math.floor(journal.lastMicros / 1_000_000) - number * 60;
    return {
      query: { ...query, until: new Date(until * 1000).toISOString() },
      argv: [...argv, `--until=@${until}`],
    };
  };

const searching =
  (pattern: (number: number) => string): NewQuestion =>
  (_, number) => ({
    query: { ...always, grep: pattern(number) },
    argv: [`--grep=${pattern(number)}`],
  });

const words = ["request", "session", "backend", "timeout", "opened", "closed", "client", "retry", "commit"];

export const newQuestions = {
  unit: upTo("busiestUnit"),
  anyUnit: upTo("anyUnit"),
  priority: upTo("info"),
  filter: earlier("filter"),
  rareWord: searching((number) => `upstream=${4242 + number}`),
  commonWord: searching((number) => words[number % words.length] ?? ""),
  expression: searching((number) => `timeout=${9 - (number % 9)}\\d{3} .*commit`),
} satisfies Record<string, NewQuestion>;

/** Address of the question at our service. */
export const addressOf = ({ url }: Pick<Server, "url">, { query }: LogQuestion): string =>
  `${url}/api/v1/system/logs?${new URLSearchParams({ limit: String(pageSize), ...query }).toString()}`;

/** Why the rows on the journal cannot run here, with the remedy. */
export function whyNoLogRows(): string | undefined {
  if (!existsSync(journalctl)) return `${journalctl} is missing`;
  const absent = [journalRemote, gatewayd].filter((program) => !existsSync(program));
  return absent.length === 0 ? undefined : `${absent.join(", ")} missing (apt-get install systemd-journal-remote)`;
}

/** The journal that the rows read, made at the first call and kept in the user's cache. */
export function bigJournal(
  entries: number,
  say: (text: string) => void,
  options: Pick<BigJournalOptions, "stamped"> = {},
): Promise<BigJournal> {
  say(
    `the journal of ${entries} entries is made where it is not there yet (a million take a minute, ten millions ten)`,
  );
  return millionJournal({ entries, ...options });
}

/** What a run of journalctl gave. */
export interface Listed {
  readonly ms: number;
  readonly lines: number;
  readonly bytes: number;
  /** The whole output where it was asked for. */
  readonly output: Buffer;
}

const newline = 10;

/**
 * Runs journalctl over a directory, from the start of its process to its end, counting the lines that it prints.
 * @throws Error when it fails. Nothing found is not a failure.
 */
export function runJournalctl(
  dir: string,
  argv: readonly string[],
  { keep = false }: { keep?: boolean } = {},
): Promise<Listed> {
  const { promise, resolve, reject } = Promise.withResolvers<Listed>();
  const startedAt = performance.now();
  const child = spawn(journalctl, [`--directory=${dir}`, "--output=json", "--no-pager", "--quiet", ...argv], {
    env: { LC_ALL: "C.UTF-8", TZ: "UTC" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kept: Buffer[] = [];
  let [lines, bytes, errors] = [0, 0, ""];
  child.stdout.on("data", (data: Buffer) => {
    bytes += data.length;
    for (let at = data.indexOf(newline); at !== -1; at = data.indexOf(newline, at + 1)) lines += 1;
    if (keep) kept.push(data);
  });
  child.stderr.on("data", (data: Buffer) => {
    errors = (errors + data.toString()).slice(-500);
  });
  child.once("error", reject);
  child.once("close", (code) => {
    const ms = performance.now() - startedAt;
    // With a pattern that nothing fits it ends with 1 and says nothing.
    const isDone = code === 0 || (code === 1 && errors === "" && lines === 0);
    if (isDone) resolve({ ms, lines, bytes, output: Buffer.concat(kept) });
    else reject(new Error(`cannot run journalctl ${argv.join(" ")}: exit ${code}: ${errors}`));
  });
  return promise;
}

/** Median of several runs. */
export async function timeJournalctl(dir: string, argv: readonly string[], runs: number): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < runs; index += 1) times.push((await runJournalctl(dir, argv)).ms);
  return quantile(times, 0.5);
}

interface OurAnswer {
  readonly logs: readonly { readonly cursor: string }[];
  readonly total: number;
}

/** Asks our service. @throws Error unless the answer is a 200. */
export async function askOurs(server: Server, question: LogQuestion): Promise<OurAnswer & { readonly bytes: number }> {
  const body = await fetchBody(addressOf(server, question), server.headers);
  return { ...(JSON.parse(body) as OurAnswer), bytes: Buffer.byteLength(body) };
}

/** Cursors in lines of JSON, as journalctl and systemd-journal-gatewayd print them. */
export const cursorsIn = (text: string): readonly string[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { __CURSOR: string }).__CURSOR);

/** @throws Error when the entries are not the same ones in the same order. */
export function requireSameEntries(ours: readonly { readonly cursor: string }[], peer: readonly string[]): void {
  const differs = ours.length !== peer.length || ours.some(({ cursor }, at) => cursor !== peer[at]);
  if (differs) throw new Error(`cannot compare: ours gives ${ours.length} entries, the peer ${peer.length}, or others`);
}

/**
 * That both sides find the same.
 * @returns how many entries.
 * @throws Error when they do not.
 */
export async function requireSameTotal(server: Server, dir: string, question: LogQuestion): Promise<number> {
  const [{ total, logs }, { lines, output }] = [
    await askOurs(server, question),
    await runJournalctl(dir, question.argv, { keep: true }),
  ];
  if (total !== lines) throw new Error(`cannot compare: ours finds ${total} entries, journalctl ${lines}`);
  requireSameEntries(logs, cursorsIn(output.toString("utf8")).slice(-pageSize));
  return total;
}

/** systemd-journal-gatewayd on a directory. It listens on a socket that it is given, as systemd would. */
export async function startGatewayd(workspace: Workspace, dir: string): Promise<Server> {
  const port = await freePort();
  const argv = ["systemd-socket-activate", "-l", `127.0.0.1:${port}`, gatewayd, `--directory=${dir}`] as const;
  const server = await startServer(workspace, { argv, port, path: "/machine" });
  const range = { Accept: "application/json", Range: `entries=:-${pageSize - 1}:${pageSize}` };
  return { ...server, headers: range };
}

/** Asks for what stood before one time after another, none of them twice. */
export function createWindows({ firstMicros, lastMicros }: BigJournal, from = 0): () => LogQuestion {
  let number = from;
  return () => {
    number += 1;
    const part = 0.05 + 0.95 * ((number * 0.618_033_988_75) % 1);
    const until = Math.floor((firstMicros + (lastMicros - firstMicros) * part) / 1_000_000);
    return {
      query: { ...always, until: new Date(until * 1000).toISOString() },
      // In the other order journalctl 252 prints nothing for --until with --lines.
      argv: [`--until=@${until}`, `--lines=${pageSize}`, "--reverse"],
    };
  };
}

const windowRequests = 20;

/** The newest of another window at each request, over HTTP. gatewayd knows a window only by the cursor at its end. */
export async function compareWindows(
  subject: Subject,
  { journal, ours, peer }: { readonly journal: BigJournal; readonly ours: Server; readonly peer: Server },
  options: RowOptions,
): Promise<MeasuredLine> {
  const next = createWindows(journal);
  const toPeer = async ({ argv }: LogQuestion) => {
    const { output } = await runJournalctl(journal.dir, [...argv, "--lines=1"], { keep: true });
    const [cursor = ""] = cursorsIn(output.toString("utf8"));
    const headers = { Accept: "application/json", Range: `entries=${cursor}:-${pageSize - 1}:${pageSize}` };
    return { url: `${peer.url}/entries`, headers };
  };
  const first = next();
  const theirs = await toPeer(first);
  requireSameEntries((await askOurs(ours, first)).logs, cursorsIn(await fetchBody(theirs.url, theirs.headers)));
  const questions = () => Array.from({ length: windowRequests }, next);
  return compare(
    subject,
    {
      ours: async () => {
        const median = await timeEach(
          questions().map((each) => ({ url: addressOf(ours, each), headers: ours.headers })),
        );
        ours.forgetOutput();
        return median;
      },
      peer: async () => timeEach(await Promise.all(questions().map(toPeer))),
      notes: () => ["no side is asked for the same entries twice"],
    },
    options,
  );
}
