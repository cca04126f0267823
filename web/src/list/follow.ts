import { openStream } from "../api/stream.ts";
import type { Entry } from "./entry.ts";

export interface FollowOptions {
  /** What the stream itself can filter by. */
  readonly filter: Readonly<Record<"unit" | "priority" | "grep" | "namespace", string | undefined>>;
  /** Begins behind this entry. */
  readonly cursor: string | undefined;
  /** At most once for each frame that is painted. */
  readonly onEntries: (entries: readonly Entry[]) => void;
  /** What was lost, or why the stream is interrupted. */
  readonly onNotice: (message: string) => void;
}

/** So many are delivered at once at the most. */
const mostWaiting = 20_000;
/** A page in the background paints no frame. */
const longestPauseMs = 1000;

type Frame = Entry | { readonly type: string; readonly message: string };

/** Calls back with entries of the journal as they are written. @returns what ends it. */
export function follow({ filter, cursor, onEntries, onNotice }: FollowOptions): () => void {
  let last = cursor;
  let waiting: Entry[] = [];
  let frame: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const rest = (): void => {
    if (frame !== undefined) cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = undefined;
  };
  const deliver = (): void => {
    rest();
    const entries = waiting;
    waiting = [];
    onEntries(entries);
  };
  const take = (data: unknown): void => {
    const received = data as Frame;
    if ("type" in received) {
      onNotice(received.message);
      return;
    }
    last = received.cursor;
    waiting.push(received);
    if (waiting.length >= mostWaiting) deliver();
    else if (frame === undefined) {
      frame = requestAnimationFrame(deliver);
      timer = setTimeout(deliver, longestPauseMs);
    }
  };
  const stream = openStream("logs", { query: () => ({ ...filter, cursor: last }), onFrame: take });
  return () => {
    rest();
    stream.close();
  };
}
