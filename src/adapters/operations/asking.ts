import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileSynced } from "#adapters/files/index.ts";
import { createSlots } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { type AskPlaces, answerName, askName, asksName, cancelName, taskUnit } from "./record.ts";

/** Starts a unit and resolves with the result of its job, or with what stands for one that nobody heard of. */
export type StartUnit = (unit: string) => Promise<string>;

/** Asks root for something and waits for the answer. @throws Error when there is none; it has then been cancelled. */
export type AskRoot = (
  request: unknown,
  options: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    /** Called with the id of the request before root hears of it. @returns what is called when there is no answer. */
    readonly onAsk?: (id: string) => () => void;
  },
) => Promise<unknown>;

const atOnce = 4;
const lookMs = 250;
const graceMs = 30_000;

/** The door as the side without rights sees it: a file of its own, a unit that it may start, and a file that it may read. */
export function createAskRoot(ports: {
  readonly places: AskPlaces;
  readonly start: StartUnit;
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
}): AskRoot {
  const { start, clock } = ports;
  const { runDir, answersDir } = ports.places;
  const asks = join(runDir, asksName);
  const inTurn = createSlots(atOnce);

  const answer = (id: string): string | undefined => {
    return orUndefinedSync(() => readFileSync(join(answersDir, answerName(id)), "utf8"));
  };

  const untilAnswered = async (id: string, ended: () => boolean, limitMs: () => number): Promise<string> => {
    for (;;) {
      // Asked first: what root wrote before its unit ended is then there.
      const isOver = ended();
      const text = answer(id);
      if (text !== undefined) return text;
      if (isOver) throw new Error("root's side gave no answer (the journal of its unit says why)");
      if (clock.monotonicMs() > limitMs()) throw new Error("root's side did not answer in time");
      await clock.sleep(lookMs);
    }
  };

  const askOnce: AskRoot = async (request, { timeoutMs, signal, onAsk }) => {
    signal.throwIfAborted();
    const id = `ask-${randomBytes(16).toString("hex")}`;
    let limitMs = clock.monotonicMs() + timeoutMs + graceMs;
    const cancel = (): void => {
      limitMs = Math.min(limitMs, clock.monotonicMs() + graceMs);
      writeFileSynced(join(asks, cancelName(id)), "");
    };
    let onUnanswered: (() => void) | undefined;
    mkdirSync(asks, { recursive: true, mode: 0o700 });
    try {
      writeFileSynced(join(asks, askName(id)), JSON.stringify(request));
      onUnanswered = onAsk?.(id);
      signal.addEventListener("abort", cancel, { once: true });
      let result: string | undefined;
      const job = start(taskUnit(id)).then((told) => {
        result = told;
      });
      const ended = (): boolean => result === "done" || result === "failed";
      const text = untilAnswered(id, ended, () => limitMs);
      // The end of the job is told at once; looking is for answers whose job nobody heard of.
      const soon = job.then(() => (ended() ? (answer(id) ?? text) : text));
      text.catch(() => undefined);
      return JSON.parse(await Promise.race([soon, text]));
    } catch (error) {
      onUnanswered?.();
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
      for (const name of [askName(id), cancelName(id)]) rmSync(join(asks, name), { force: true });
    }
  };

  return (request, options) => inTurn(() => askOnce(request, options));
}
