import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { quantile } from "../harness.ts";

/**
 * Runs inside the test host: `time-lines.ts stream|journalctl URL COUNT`, the key in STEWARD_API_KEY. Writes lines to the
 * journal with logger(1), at random intervals, and prints as JSON how long each took to arrive at the one reader. The writer
 * and the reader are this process, so that there is one clock.
 */
const [, , side = "", url = "", count = "1"] = process.argv;
const tag = "steward-bench";
const shortestPauseMs = 10;
const longestPauseMs = 290;
const lostMs = 10_000;
/** How often a line is written until the reader is seen to follow. */
const probeMs = 100;

interface Following {
  readonly stop: () => void;
}

/** Follows through our stream. */
function followStream(onMessage: (message: unknown) => void): Following {
  const headers = { "X-API-Key": process.env["STEWARD_API_KEY"] ?? "" };
  const socket = new WebSocket(url, { headers });
  socket.on("message", (data) => {
    if (!Buffer.isBuffer(data)) return;
    const { message } = JSON.parse(data.toString("utf8")) as { message?: unknown };
    onMessage(message);
  });
  socket.on("error", (error) => {
    throw error;
  });
  return { stop: () => socket.terminate() };
}

/** Follows with journalctl. */
function followJournalctl(onMessage: (message: unknown) => void): Following {
  const argv = ["--follow", "--lines=0", "--output=json", "--quiet"];
  const child = spawn("journalctl", argv, { stdio: ["ignore", "pipe", "inherit"] });
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { MESSAGE } = JSON.parse(line) as { MESSAGE?: unknown };
    onMessage(MESSAGE);
  });
  return { stop: () => void child.kill() };
}

/** One process for all lines: its start is not what is measured. */
const logger = spawn("logger", ["--tag", tag], { stdio: ["pipe", "ignore", "inherit"] });
const waiting = new Map<string, (arrivedAt: number) => void>();
const onMessage = (message: unknown): void => {
  const arrivedAt = performance.now();
  if (typeof message !== "string") return;
  waiting.get(message)?.(arrivedAt);
  waiting.delete(message);
};

const run = `${process.pid}-${Date.now()}`;
/** Milliseconds from the writing of a line to its arrival; undefined when it has not come in time. */
async function timeLine(name: string, withinMs: number): Promise<number | undefined> {
  const text = `${run} ${name}`;
  const arrived = new Promise<number>((resolve) => waiting.set(text, resolve));
  const writtenAt = performance.now();
  logger.stdin.write(`${text}\n`);
  const end = new AbortController();
  const late = sleep(withinMs, undefined, { signal: end.signal, ref: false }).catch(() => undefined);
  const arrivedAt = await Promise.race([arrived, late]);
  end.abort();
  waiting.delete(text);
  return arrivedAt === undefined ? undefined : arrivedAt - writtenAt;
}

const following = side === "stream" ? followStream(onMessage) : followJournalctl(onMessage);
const startedAt = performance.now();
for (let probe = 0; (await timeLine(`probe ${probe}`, probeMs * (probe + 1))) === undefined; probe += 1) {
  if (performance.now() - startedAt > lostMs) throw new Error(`cannot follow with ${side}: no line has come`);
}

const times: Promise<number | undefined>[] = [];
for (let line = 0; line < Number(count); line += 1) {
  await sleep(shortestPauseMs + Math.random() * (longestPauseMs - shortestPauseMs));
  times.push(timeLine(`line ${line}`, lostMs));
}
const came = (await Promise.all(times)).filter((ms) => ms !== undefined);
following.stop();
logger.stdin.end();
console.log(
  JSON.stringify({ lost: times.length - came.length, medianMs: quantile(came, 0.5), p99Ms: quantile(came, 0.99) }),
);
