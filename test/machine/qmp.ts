import type { ChildProcess } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { isRecord } from "#kernel/values.ts";

/** The monitor of an emulator, on its standard input and output (`-qmp stdio`). */
export type Qmp = {
  /** Carries out a command. @throws Error with the words of the emulator when it refuses, or has ended. */
  run(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** The next event of this name. Call it before what leads to the event. */
  next(event: string, timeoutMs: number): Promise<void>;
};

/** Waits for the greeting of the emulator. */
export async function openQmp(emulator: ChildProcess): Promise<Qmp> {
  const { stdin, stdout } = emulator;
  if (stdin === null || stdout === null) throw new Error("cannot talk to the emulator: it has no standard input");
  const events = new EventEmitter();
  const pending = new Map<number, (answer: Readonly<Record<string, unknown>>) => void>();
  const lines = createInterface({ input: stdout });
  const greeting = once(events, "greeting");
  let lastId = 0;
  lines.on("line", (line) => {
    const message: unknown = JSON.parse(line);
    if (!isRecord(message)) return;
    if ("QMP" in message) events.emit("greeting");
    else if (typeof message["event"] === "string") events.emit(`event ${message["event"]}`);
    else pending.get(Number(message["id"]))?.(message);
  });
  const ended = once(lines, "close").then(() => {
    throw new Error("the emulator has ended");
  });
  ended.catch(() => undefined);
  stdin.on("error", () => undefined);

  async function run(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown> {
    lastId += 1;
    const id = lastId;
    const answered = new Promise<Readonly<Record<string, unknown>>>((resolve) => pending.set(id, resolve));
    stdin?.write(`${JSON.stringify({ execute: command, id, ...(args && { arguments: args }) })}\n`);
    const answer = await Promise.race([answered, ended]).finally(() => pending.delete(id));
    const { error } = answer;
    if (isRecord(error)) throw new Error(`cannot do ${command} in the emulator: ${String(error["desc"])}`);
    return answer["return"];
  }

  await Promise.race([greeting, ended]);
  await run("qmp_capabilities");
  return {
    run,
    next: async (event, timeoutMs) => {
      await Promise.race([once(events, `event ${event}`, { signal: AbortSignal.timeout(timeoutMs) }), ended]);
    },
  };
}
