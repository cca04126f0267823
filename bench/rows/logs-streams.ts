import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import WebSocket from "ws";
import { quantile } from "../harness.ts";
import { startJournal } from "../line-sources.ts";
import { whyNoLogRows } from "../log-queries.ts";
import { compareAll, type Row, type Subject } from "../row.ts";
import { type Server, startSteward } from "../servers.ts";
import { createNumberReader } from "../stream-lines.ts";
import { withWorkspace } from "../workspace.ts";

const streams = 200;
const linesPerSecond = 5_000;
const seconds = 5;
const lines = linesPerSecond * seconds;
const tickMs = 50;
const lineLength = 120;
const timeoutMs = 60_000;
const mostRounds = 3;

const subjectOf = (which: string): Subject => ({
  work: `\`/ws/logs\`, ${streams} streams with different \`grep\`, ${linesPerSecond} lines a second: from writing a line to its frame, ${which}`,
  peer: "one stream without `grep`",
  unit: "ms",
  judged: "ours",
  ...(which === "the slowest" && { goal: { is: "at most", value: 1_000 } }),
});
const subjects = [subjectOf("median"), subjectOf("the slowest")];

/** Numbers are padded to nine digits, so that a line fits the stream of its last three. */
const digitsOf = (stream: number): string => String(stream).padStart(3, "0");

/** A third are plain words, a third have a word that every match has, a third have none. */
function patternOf(stream: number): string {
  const digits = digitsOf(stream);
  if (stream % 3 === 0) return `${digits} abc`;
  if (stream % 3 === 1) return `^line \\d+${digits} abc.*[a-f]+\\w*\\s`;
  return `^[a-z]+ \\d*${digits.replaceAll(/\d/g, "[$&]")}\\s(\\w+\\s?)+$`;
}

interface Reader {
  readonly pattern: string | undefined;
  readonly fits: (number: number) => boolean;
}

const searching = Array.from(
  { length: streams },
  (_, stream): Reader => ({ pattern: patternOf(stream), fits: (number) => number % 1000 === stream }),
);
const unfiltered: readonly Reader[] = [{ pattern: undefined, fits: () => true }];

/** Opens the stream of a reader. `onLine` gets the number of each line. */
async function open({ url, headers }: Server, { pattern }: Reader, onLine: (number: number) => void) {
  const query = pattern === undefined ? "" : `?${new URLSearchParams({ grep: pattern }).toString()}`;
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/api/v1/ws/logs${query}`, { headers });
  const numberOf = createNumberReader();
  socket.on("message", (bytes: Buffer) => {
    const number = numberOf(bytes, 0, bytes.length);
    if (number === undefined) throw new Error(`this is not a line: ${bytes.toString("utf8")}`);
    onLine(number);
  });
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return socket;
}

/** Writes lines evenly. @returns how long each frame took. @throws Error when a stream misses a line, or gets another one. */
async function run(
  server: Server,
  readers: readonly Reader[],
  from: number,
  write: (from: number, count: number) => void,
): Promise<readonly number[]> {
  const writtenAt: number[] = [];
  const delays: number[] = [];
  const expected = readers.map(({ fits }) => Array.from({ length: lines }, (_, at) => from + at).filter(fits));
  const wrong: string[] = [];
  const sockets: WebSocket[] = [];
  let missing = expected.reduce((sum, { length }) => sum + length, 0);
  for (const [at, reader] of readers.entries()) {
    let next = 0;
    const onLine = (number: number): void => {
      if (number !== expected[at]?.[next]) wrong.push(`${reader.pattern}: ${number}, not ${expected[at]?.[next]}`);
      next += 1;
      missing -= 1;
      delays.push(performance.now() - (writtenAt[number - from] ?? 0));
    };
    sockets.push(await open(server, reader, onLine));
  }
  const startedAt = performance.now();
  while (writtenAt.length < lines) {
    const due = Math.min(lines, Math.floor(((performance.now() - startedAt) / 1000) * linesPerSecond));
    const count = due - writtenAt.length;
    if (count > 0) {
      write(from + writtenAt.length, count);
      writtenAt.push(...Array.from({ length: count }, () => performance.now()));
    }
    await sleep(tickMs);
  }
  const isLate = performance.now() + timeoutMs;
  while (missing > 0 && performance.now() < isLate) await sleep(tickMs);
  for (const socket of sockets) socket.terminate();
  if (missing > 0) throw new Error(`${missing} lines did not come within ${timeoutMs} ms after the last was written`);
  if (wrong.length > 0) throw new Error(`${wrong.length} frames are wrong: ${wrong[0]}`);
  server.forgetOutput();
  return delays;
}

export const logsStreams: Row = {
  name: "logs-streams",
  summary: "200 clients of the log stream with different searches at 5,000 lines a second, against one without",
  async measure(options) {
    const missing = whyNoLogRows();
    if (missing !== undefined) return subjects.map((subject) => ({ ...subject, skipped: missing }));
    return withWorkspace(async (workspace) => {
      const dir = join(workspace.directory, "journal");
      mkdirSync(dir);
      const feed = startJournal(workspace, dir);
      const server = await startSteward(workspace, { limits: "counted", journalDir: dir });
      let written = 0;
      const measure = async (readers: readonly Reader[]): Promise<readonly number[]> => {
        const from = written;
        written += lines;
        const delays = await run(server, readers, from, (first, count) => feed(first, count, lineLength));
        return [quantile(delays, 0.5), quantile(delays, 1)];
      };
      const sides = {
        ours: () => measure(searching),
        peer: () => measure(unfiltered),
        notes: () => [
          `${lines} lines in each round; no stream lost one, got one twice or got another one`,
          "a third of the expressions are words, a third contain a word, a third have none",
        ],
      };
      return compareAll(subjects, sides, { ...options, rounds: Math.min(options.rounds, mostRounds) });
    });
  },
};
