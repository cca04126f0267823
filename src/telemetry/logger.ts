import { type Logger, pino } from "pino";
import type { LineWriter } from "./line-writer.ts";

export type { Logger };

const secretPaths = [
  "api_key",
  "*.api_key",
  "key",
  "*.key",
  "authorization",
  "*.authorization",
  "access_token",
  "*.access_token",
  'headers["x-api-key"]',
  '*.headers["x-api-key"]',
];

/** The member `time` of a line. Lines of one millisecond share the text, which is expensive. */
function createTimestamp(): () => string {
  let lastMs = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== lastMs) {
      lastMs = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

export interface Logs {
  readonly log: Logger;
  /** For request lines, whose members are a closed list without secrets: redaction would be their most expensive part. */
  readonly requestLog: Logger;
}

/** JSON lines with `level` as a word, `time` in RFC 3339, `msg`, and further members. Messages are constants. */
export function createLogs(options: { level: string; writer: Pick<LineWriter, "write"> }): Logs {
  const requestLog = pino(
    {
      level: options.level,
      base: null,
      timestamp: createTimestamp(),
      formatters: { level: (label) => ({ level: label }) },
    },
    options.writer,
  );
  return { requestLog, log: requestLog.child({}, { redact: { paths: secretPaths, censor: "[secret]" } }) };
}

const quietMs = 60_000;
const maxRemembered = 100;

/** Limits each message to once a minute: with a full disk every request fails. */
export function onceAMinute(
  say: (message: string, details?: string) => void,
  monotonicMs: () => number,
): (message: string, details?: string) => void {
  const saidAt = new Map<string, number>();
  return (message, details) => {
    const now = monotonicMs();
    const last = saidAt.get(message);
    if (last !== undefined && now - last < quietMs) return;
    if (saidAt.size >= maxRemembered) saidAt.clear();
    saidAt.set(message, now);
    say(message, details);
  };
}
