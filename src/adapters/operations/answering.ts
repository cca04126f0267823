import { existsSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { groupModes } from "./files.ts";
import { openForeignFolder } from "./foreign-folder.ts";
import {
  type AskPlaces,
  answerName,
  askName,
  asksName,
  cancelName,
  failureName,
  maxAnswerBytes,
  maxAskBytes,
} from "./record.ts";

const keptForMs = 5 * 60_000;
const keptAnswers = 64;
const betweenLooksMs = 200;

interface Kept {
  readonly name: string;
  readonly atMs: number;
}

function keptIn(folder: string): readonly Kept[] {
  const files = readdirSync(folder).flatMap((name) => {
    const atMs = lstatSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs;
    return atMs === undefined || !/^(?:ask|failure)-/.test(name) ? [] : [{ name, atMs }];
  });
  return files.toSorted((a, b) => b.atMs - a.atMs);
}

function sweep(folder: string, nowMs: number): void {
  for (const [at, { name, atMs }] of keptIn(folder).entries()) {
    if (at >= keptAnswers || nowMs - atMs > keptForMs) rmSync(join(folder, name), { force: true });
  }
}

export function leaveFailure(id: string, failure: unknown, { answersDir }: Pick<AskPlaces, "answersDir">): void {
  sweep(answersDir, Date.now());
  writeFileAtomic(join(answersDir, failureName(id)), JSON.stringify(failure), { mode: groupModes.file });
}

export interface Ask {
  readonly text: string;
  readonly cancelled: AbortSignal;
}

/**
 * Answers an ask of the side without rights, once. What that side has written is read through folders that are held open, and
 * nothing is written but in the folder of root.
 * @param respond makes the answer, JSON; it says itself what is wrong with what was asked.
 * @returns whether there was something to answer.
 * @throws ForeignFileRefused for what is not to be trusted: then nothing is answered.
 */
export async function answerAsk(
  id: string,
  ports: {
    readonly places: AskPlaces;
    readonly uid: number;
    readonly clock: Pick<Clock, "now" | "sleep">;
    readonly isAdmitted: boolean;
    readonly busy: unknown;
    readonly tooLong: unknown;
    readonly respond: (ask: Ask) => Promise<unknown>;
  },
): Promise<boolean> {
  const { places, uid, clock, respond } = ports;
  const { runDir, answersDir } = places;
  const folder = openForeignFolder(runDir, [asksName], { uid });
  if (folder === undefined) return false;
  const over = new AbortController();
  const watch = async (cancelled: AbortController): Promise<void> => {
    while (!over.signal.aborted) {
      if (folder.names().includes(cancelName(id))) return cancelled.abort(new Error("cancelled by who asked"));
      // With the service its folder goes, and with it whoever waits.
      if (folder.isGone()) return cancelled.abort(new Error("the service has ended"));
      await clock.sleep(betweenLooksMs, over.signal);
    }
  };
  try {
    const text = folder.text(askName(id), { maxBytes: maxAskBytes });
    if (text === undefined) return false;
    sweep(answersDir, clock.now());
    const path = join(answersDir, answerName(id));
    // Nothing is done twice for one ask.
    if (existsSync(path)) return false;
    const cancelled = new AbortController();
    const watching = ports.isAdmitted ? watch(cancelled) : undefined;
    const answer = ports.isAdmitted ? await respond({ text, cancelled: cancelled.signal }) : ports.busy;
    over.abort();
    await watching;
    const json = JSON.stringify(answer);
    writeFileAtomic(path, json.length > maxAnswerBytes ? JSON.stringify(ports.tooLong) : json, {
      mode: groupModes.file,
    });
    return true;
  } finally {
    over.abort();
    folder.close();
  }
}
