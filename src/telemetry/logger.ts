import { type Logger, pino } from "pino";

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

/** A closed list of members, none of them secret: looking for secrets would be the most expensive part of the line. */
export interface RequestLine {
  readonly request_id: string;
  readonly trace_id: string | undefined;
  readonly key_id: string | undefined;
  readonly session_id: string | undefined;
  readonly method: string;
  readonly endpoint: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly remote_address: string | null;
}

export interface Logs {
  readonly log: Logger;
  readonly requestLog: (level: "debug" | "info", line: RequestLine) => void;
}

/** @param level of the line, as pino numbers them; without it that of the line which pino is writing. */
export interface LogOutput {
  readonly write: (line: string, level?: number) => void;
}

/** JSON lines with `level` as a word, `time` in RFC 3339, `msg`, and further members. Messages are constants. */
export function createLogs({ level, writer }: { level: string; writer: LogOutput }): Logs {
  const timestamp = createTimestamp();
  const log = pino(
    {
      level,
      base: null,
      timestamp,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths, censor: "[secret]" },
    },
    writer,
  );
  const isWritten = { debug: log.isLevelEnabled("debug"), info: log.isLevelEnabled("info") };
  const { debug, info } = log.levels.values as Readonly<Record<"debug" | "info", number>>;
  const numbers = { debug, info };
  return {
    log,
    requestLog(ofLine, line) {
      if (!isWritten[ofLine]) return;
      const members = JSON.stringify(line).slice(1, -1);
      writer.write(`{"level":"${ofLine}"${timestamp()},${members},"msg":"request"}\n`, numbers[ofLine]);
    },
  };
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
