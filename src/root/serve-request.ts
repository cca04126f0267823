import { Socket } from "node:net";
import { Ajv } from "ajv";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { takePassedSockets } from "#adapters/local-sockets/index.ts";
import type { Config } from "#config/load.ts";
import { ownSchemas } from "#contract/schema.ts";
import type { TaskOutcome } from "#domain/operations/task.ts";
import { errorMessage } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import type { Logger } from "#telemetry/logger.ts";
import { answerRequest, refuse } from "./answer.ts";
import { type RunOperation, runRootOperation } from "./operation.ts";
import {
  encodeMessage,
  maxAnswerBytes,
  maxRequestBytes,
  type RootRequest,
  readMessages,
  sendMessage,
  toWire,
} from "./protocol.ts";
import { createRootRecord } from "./record.ts";
import { operationTask, RootRequestSchema } from "./tasks.ts";
import type { RootHost } from "./work.ts";

const requestMs = 10_000;
const readMs = 30_000;

const isRequest = new Ajv(ownSchemas).compile<RootRequest>(RootRequestSchema);

/** The number of a user, or of its group, by whatever the host knows users. @throws Error when there is none, or it is root's. */
async function numberOf(user: string, which: "-u" | "-g"): Promise<number> {
  const { exitCode, stdout, stderr } = await exec(["/usr/bin/id", which, "--", user]);
  const number = Number(stdout.trim());
  if (exitCode !== 0 || !Number.isSafeInteger(number) || stdout.trim() === "")
    throw new Error(`cannot look up the user ${user}: ${stderr.trim() || "id says nothing"}`);
  if (number === 0) throw new Error(`cannot do tasks for ${user}: that is root, or of its group`);
  return number;
}

/** @throws Error unless the instance is one that systemd has named after a connection of this user: `<number>-…-<uid>`. */
function requirePeer(instance: string, uid: number): void {
  if (/-(\d+)$/.exec(instance)?.[1] !== String(uid))
    throw new Error(`cannot serve the connection ${instance}: it is not of user ${uid}`);
}

function takeConnection(): Socket {
  const fd = takePassedSockets(process.env, process.pid)?.connection;
  if (fd === undefined) throw new Error("cannot serve a request: this process was started without a connection");
  const connection = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
  // Seen by anyone who reads.
  connection.on("error", () => undefined);
  return connection;
}

type Messages = ReturnType<typeof readMessages>;

async function readRequest(messages: Messages): Promise<RootRequest | undefined> {
  const late = AbortSignal.timeout(requestMs);
  const tooLate = new Promise<never>((_, reject) => {
    late.addEventListener("abort", () => reject(new Error(`no request within ${requestMs / 1000} s`)), { once: true });
  });
  const { value, done } = await Promise.race([messages.next(), tooLate]);
  if (done === true) return undefined;
  return isRequest(value) ? value : refuse("it has not the form of a request");
}

function listen(messages: Messages) {
  const cancelled = new AbortController();
  const proceed = Promise.withResolvers<void>();
  proceed.promise.catch(() => undefined);
  const cancel = (reason: string): void => {
    const error = new Error(reason);
    cancelled.abort(error);
    proceed.reject(error);
  };
  const read = async (): Promise<void> => {
    for await (const message of messages) {
      if (!isRecord(message) || message["proceed"] !== true) return cancel("unexpected message from the service");
      proceed.resolve();
    }
    cancel("cancelled by the service");
  };
  read().catch((error: unknown) => cancel(errorMessage(error)));
  return { cancelled: cancelled.signal, proceed: proceed.promise };
}

async function finish(connection: Socket, message: unknown): Promise<void> {
  const text = encodeMessage(message);
  const isTooLong = Buffer.byteLength(text) > maxAnswerBytes;
  const sent = isTooLong ? encodeMessage({ error: toWire(new Error("the answer is too long")) }) : text;
  const late = setTimeout(() => connection.destroy(), readMs);
  const closed = new Promise((resolve) => connection.once("close", resolve));
  if (connection.writable) await Promise.race([new Promise<void>((resolve) => connection.end(sent, resolve)), closed]);
  clearTimeout(late);
}

interface Prepared {
  readonly config: Config;
  readonly host: RootHost & { readonly runOperation: RunOperation };
  readonly options: { readonly version: string; readonly log: Logger; readonly isSafeMode: boolean };
  readonly writeRecord: (line: string) => void;
}

async function serveConnection(
  connection: Socket,
  { instance, user, prepare }: { readonly instance: string; readonly user: string; readonly prepare: () => Prepared },
): Promise<unknown> {
  if (process.getuid?.() !== 0) throw new Error("cannot do tasks for others: this is not root");
  const uid = await numberOf(user, "-u");
  // Who sends what cannot be read is to hear why.
  const messages = readMessages(connection.iterator({ destroyOnReturn: false }), maxRequestBytes);
  const { config, host, options, writeRecord } = prepare();
  const record = createRootRecord({ write: writeRecord, clock: systemClock });
  let request: RootRequest | undefined;
  try {
    requirePeer(instance, uid);
    request = await readRequest(messages);
  } catch (error) {
    record({ id: instance, request: "", phase: "refused", error: errorMessage(error) });
    throw error;
  }
  if (request === undefined) return record({ id: instance, request: "", phase: "left" });
  if (request.task === operationTask) {
    const gid = await numberOf(user, "-g");
    return runRootOperation(request.id, { ...options, run: host.runOperation, record, uid, gid });
  }
  const { cancelled, proceed } = listen(messages);
  return answerRequest(request, {
    config,
    host,
    exec,
    log: options.log,
    record,
    cancelled,
    announce(found) {
      sendMessage(connection, { progress: found });
      return proceed;
    },
  });
}

/** One request of a service without rights, as root, checked against the closed list. */
export async function serveRequest(ports: Parameters<typeof serveConnection>[1]): Promise<TaskOutcome> {
  const connection = takeConnection();
  let message: unknown;
  try {
    message = { output: (await serveConnection(connection, ports)) ?? {} };
  } catch (error) {
    message = { error: toWire(error) };
  }
  await finish(connection, message);
  // An exit would wait for threads that are still in a call, and that may be for ever.
  if (process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"))) process.kill(process.pid, "SIGKILL");
  return "done";
}
