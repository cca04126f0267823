import type { Logger } from "pino";
import { pino } from "pino";
import type { LineWriter } from "./line-writer.ts";

export type { Logger };

/** Members that never reach a log line, wherever a caller puts them. */
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

/** The member `time` of a line. Lines of one millisecond share the text, which is dear to make. */
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

/** Where the service writes what happens. */
export interface Logs {
  /** For everything; secrets are taken out of what it is given. */
  readonly log: Logger;
  /**
   * For the line of each request, whose members are a closed list without a secret: looking for some in it
   * would be the most expensive part of the line.
   */
  readonly requestLog: Logger;
}

/**
 * JSON lines with `level` as a word, `time` as RFC 3339, `msg`, and the members that the caller adds.
 * A message is a constant; what varies goes into members.
 */
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
