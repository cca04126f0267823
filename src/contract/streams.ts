import { type Static, type TSchema, Type } from "typebox";
import { checkStatuses, HealthCheckResult } from "./checks.ts";
import { ErrorBody } from "./error-body.ts";
import type { ErrorCode } from "./errors.ts";
import { LogEntry, namespacePattern, priorityNames, templateIdPattern } from "./log-entry.ts";
import type { Caller, Operation } from "./operation.ts";
import { OperationEntry } from "./operation-entry.ts";
import { Choice, Options } from "./schema.ts";
import type { Scope } from "./scopes.ts";

/**
 * One row of the table of streams: a GET that turns into a WebSocket (RFC 6455). The route, the checks, the OpenAPI
 * document and the metrics label derive from it.
 */
export interface Stream {
  readonly path: `/${string}`;
  readonly tag: Operation["tag"];
  readonly summary: string;
  readonly description: string;
  /** The scope that a key needs; one narrowed to resources does, and then sees only theirs. */
  readonly scope: Scope;
  readonly query: TSchema;
  readonly clientFrame: TSchema;
  readonly serverFrame: TSchema;
  /** Errors that refuse a connection beyond those that all streams have. */
  readonly errors?: readonly ErrorCode[];
}

export type Streams = Readonly<Record<string, Stream>>;

export interface StreamError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** One client of a stream, as the stream sees it. A frame is made once for all who get it, and is never changed. */
export interface StreamSession {
  /** Sends frames in their order. What a slow client cannot take waits, within bounds; past them the oldest are dropped. */
  readonly send: (frames: readonly Uint8Array[]) => void;
  readonly report: (error: StreamError) => void;
  /** Whether what is sent now would have to wait. */
  readonly isCongested: () => boolean;
  /** Resolves once it would not, or the session has ended. */
  readonly drained: () => Promise<void>;
  readonly close: (code: number, reason: string) => void;
}

export interface StreamClient {
  /**
   * Takes what the client sent, read as JSON.
   * @throws DomainError for what is wrong with it, for the client.
   */
  readonly receive: (message: unknown) => void;
  readonly dispose: () => void;
}

/**
 * One opener for each stream: it refuses before the upgrade by what it throws, and gives what is to be done after it.
 */
export type StreamHandlers<T extends Streams> = {
  readonly [K in keyof T]: (query: Static<T[K]["query"]>, caller: Caller) => (session: StreamSession) => StreamClient;
};

/** Close codes of all streams: RFC 6455 §7.4.1, and one of the range that it leaves to us. */
export const closeCodes = {
  goingAway: 1001,
  /** What came is not JSON text. */
  invalidPayload: 1007,
  policyViolation: 1008,
  tooBig: 1009,
  internalError: 1011,
  overload: 1013,
  keyEnded: 4401,
} as const;

const priorityAliases = { emergency: 0, panic: 0, critical: 2, error: 3, warn: 4 } as const;
const prioritySpellings = [...priorityNames, ...Object.keys(priorityAliases)];
const priorityDigits = ["0", "1", "2", "3", "4", "5", "6", "7"];

/** Every spelling of a syslog severity with its number: names, aliases and digits. */
export const priorityNumbers: Readonly<Record<string, number>> = {
  ...Object.fromEntries(priorityNames.map((name, number) => [name, number])),
  ...priorityAliases,
  ...Object.fromEntries(priorityDigits.map((digit, number) => [digit, number])),
};

const unitText = {
  minLength: 1,
  maxLength: 255,
  description:
    "Unit name or pattern, matched as `journalctl -u` does. `nginx` means `nginx.service`; `kernel` is the kernel.",
} as const;
const namespaceText = {
  maxLength: 222,
  pattern: namespacePattern,
  description:
    "Namespaces of the journal, as `journalctl --namespace` takes them: a name; `+` and a name for that one and the default one; `*` for all; empty for the default one. Unless given: all if `unit` is given or the key is narrowed to units; else the default one.",
} as const;
const grepText = {
  minLength: 1,
  maxLength: 1024,
  description: "Regular expression for the message. Case-insensitive unless the expression contains a capital letter.",
} as const;
const templateText = {
  pattern: templateIdPattern,
  description:
    "Id of a template, as `GET /system/logs/templates` lists it: only its entries. An id that the journal does not have, or not among the entries that the key may read, is reported and cleared.",
} as const;
const priorityHint = "This severity and more severe ones: a name, an alias or 0 (emerg) to 7 (debug, which is all).";

/** What a client of `/ws/logs` may send. A member that is left out stays as it was; null clears it. */
export const LogFilterFrame = Type.Object({
  type: Type.Literal("filter"),
  unit: Type.Optional(Type.Union([Type.String(unitText), Type.Null()])),
  priority: Type.Optional(
    Type.Union(
      [
        Type.Unsafe<string>({ type: "string", enum: [...prioritySpellings, ...priorityDigits] }),
        Type.Integer({ minimum: 0, maximum: 7 }),
        Type.Null(),
      ],
      { description: priorityHint },
    ),
  ),
  grep: Type.Optional(Type.Union([Type.String(grepText), Type.Null()])),
  template: Type.Optional(Type.Union([Type.String(templateText), Type.Null()])),
  namespace: Type.Optional(Type.Union([Type.String(namespaceText), Type.Null()])),
});
export type LogFilterFrame = Static<typeof LogFilterFrame>;

export const DroppedFrame = Type.Object({
  type: Type.Literal("dropped"),
  message: Type.String(),
  dropped: Type.Integer({ minimum: 1, description: "Number of frames that were dropped here." }),
});
export type DroppedFrame = Static<typeof DroppedFrame>;

/** What a client gets about a message that was refused, or of a stream that is interrupted; the connection stays. */
export const ErrorFrame = Type.Object({
  type: Type.Literal("error"),
  message: Type.String(),
  ...ErrorBody.properties,
});
export type ErrorFrame = Static<typeof ErrorFrame>;

/** What `/ws/logs` sends: log entries, a count of what a slow client lost, the refusal of a filter. */
export const LogServerFrame = Type.Union([LogEntry, DroppedFrame, ErrorFrame]);
export type LogServerFrame = Static<typeof LogServerFrame>;

export const HealthFrame = Type.Object({
  ...HealthCheckResult.properties,
  previous_status: Type.Optional(Choice(checkStatuses, "Status of the previous run; absent for the first run ever.")),
});
export type HealthFrame = Static<typeof HealthFrame>;

/** What `/ws/health` sends: results of checks, a count of what a slow client lost, the refusal of a message. */
export const HealthServerFrame = Type.Union([HealthFrame, DroppedFrame, ErrorFrame]);
export type HealthServerFrame = Static<typeof HealthServerFrame>;

export const OperationFrame = Type.Object({
  ...OperationEntry.properties,
  cursor: Type.String({ description: "Cursor to continue from after a lost connection." }),
});
export type OperationFrame = Static<typeof OperationFrame>;

/** What `/ws/operations` sends: operations, a count of what a slow client lost, the refusal of a message. */
export const OperationServerFrame = Type.Union([OperationFrame, DroppedFrame, ErrorFrame]);
export type OperationServerFrame = Static<typeof OperationServerFrame>;

export const streams = {
  logs: {
    path: "/ws/logs",
    tag: "System",
    summary: "Entries of the journal as they are written",
    description: [
      "A WebSocket. Each frame is a log entry. `{type: filter, unit, priority, grep, template, namespace}` sets the filter at any time: a member that is left out is unchanged, `null` clears it, and an entry must match all that are set. A valid filter gets no answer; an invalid one gets a frame `{type: error, message, error}`, and the old filter stays in effect.",
      "Entries without a severity match only `priority` `debug`. A key that is narrowed to units sees only their entries. A client that is too slow loses the oldest queued frames, and gets one frame `{type: dropped, message, dropped}` in their place. After a lost connection, pass the `cursor` of the last entry to continue after it, without gaps or duplicates.",
      "If there is no such journal, a frame `{type: error, message, error}` with the code `UNAVAILABLE` says so when the stream starts; the connection stays open, and gets the entries once there are some. If there are journal files that cannot be read, such a frame names them in `error.details.unread`, when the stream starts or when that turns out; the stream continues without their entries.",
      "Close codes: 1001 the service stops; 1007 a message is not JSON text; 1008 the journal refuses the cursor; 1009 a message is over 64 KiB; 1013 too many connections; 4401 the key was revoked or has expired.",
    ].join("\n\n"),
    scope: "logs:read",
    query: Options({
      unit: Type.String({ ...unitText, examples: ["nginx.service"] }),
      priority: Type.Unsafe<string>({
        type: "string",
        enum: [...prioritySpellings, ...priorityDigits],
        description: priorityHint,
      }),
      grep: Type.String(grepText),
      template: Type.String({ ...templateText, examples: ["9ce8c1cd1fdc361b"] }),
      namespace: Type.String(namespaceText),
      cursor: Type.String({ minLength: 1, maxLength: 512, description: "Start with the first entry after this one." }),
    }),
    clientFrame: LogFilterFrame,
    serverFrame: LogServerFrame,
  },
  health: {
    path: "/ws/health",
    tag: "Health",
    summary: "Results of health checks as they are produced",
    description: [
      "A WebSocket. First the current state of every check (checks that have never run are run for this); then one frame for each run. A frame is a check result with `previous_status`, the status of the previous run, which is absent for the first run ever.",
      "Clients send no messages: a message gets a frame `{type: error, message, error}`. A client that is too slow loses the oldest queued frames, and gets one frame `{type: dropped, message, dropped}` in their place.",
      "Close codes: 1001 the service stops; 1007 a message is not JSON text; 1009 a message is over 64 KiB; 1013 too many connections; 4401 the key was revoked or has expired.",
    ].join("\n\n"),
    scope: "health:read",
    query: Type.Object({}),
    clientFrame: Type.Never(),
    serverFrame: HealthServerFrame,
  },
  operations: {
    path: "/ws/operations",
    tag: "Updates",
    summary: "Progress of operations",
    description: [
      "A WebSocket. First every operation that has not ended; then one frame for each change of status or progress, of all operations or of the one in `id`. A frame is an operation without its log, with a `cursor`. Operations that ended before are sent only for `id`, or after a `cursor`.",
      "Clients send no messages: a message gets a frame `{type: error, message, error}`. A client that is too slow loses the oldest queued frames, and gets one frame `{type: dropped, message, dropped}` in their place. After a lost connection, pass the `cursor` of the last frame: operations that started or ended meanwhile are sent first, in their current state.",
      "Close codes: 1001 the service stops; 1007 a message is not JSON text; 1009 a message is over 64 KiB; 1013 too many connections; 4401 the key was revoked or has expired.",
    ].join("\n\n"),
    scope: "updates:read",
    query: Options({
      id: Type.String({ minLength: 1, maxLength: 64, description: "Only this operation." }),
      cursor: Type.String({
        minLength: 1,
        maxLength: 1024,
        description: "Start with what was missed after this frame.",
      }),
    }),
    clientFrame: Type.Never(),
    serverFrame: OperationServerFrame,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Streams;
