import { type Journal, JournalUnavailable, type LiveEntry } from "#domain/ports/journal.ts";
import type { Dispose } from "#kernel/clock.ts";
import { fromThreadFailure, type StartThread, type Thread } from "./pool.ts";

const lingerMs = 10_000;

const now = (): { readonly realtime: number; readonly monotonic: number } => ({
  realtime: Date.now() * 1000,
  monotonic: Number(process.hrtime.bigint() / 1000n),
});

type OnUnread = NonNullable<Parameters<Journal["follow"]>[0]["onUnread"]>;

interface Pull {
  readonly resolve: (entries: readonly LiveEntry[]) => void;
  readonly reject: (error: Error) => void;
}

export function createFollowThread(startThread: StartThread): {
  readonly follow: Journal["follow"];
  readonly dispose: Dispose;
} {
  const pulls = new Map<number, Pull>();
  const failed = new Map<number, Error>();
  const open = new Map<number, { readonly thread: Thread; readonly onUnread: OnUnread | undefined }>();
  let thread: Thread | undefined;
  let linger: NodeJS.Timeout | undefined;
  let followers = 0;

  const take = (id: number): Pull | undefined => {
    const pull = pulls.get(id);
    pulls.delete(id);
    return pull;
  };

  const fail = (id: number, error: Error): void => {
    const pull = take(id);
    if (pull !== undefined) pull.reject(error);
    else if (open.has(id)) failed.set(id, error);
  };

  const start = (): Thread => {
    clearTimeout(linger);
    if (thread !== undefined) return thread;
    const started = startThread({
      onReply(reply) {
        if (reply.kind === "entries") take(reply.id)?.resolve(reply.entries);
        else if (reply.kind === "unread") open.get(reply.id)?.onUnread?.(reply.files);
        else if (reply.kind === "failure") fail(reply.id, fromThreadFailure(reply.failure));
      },
      onEnd(reason) {
        if (thread === started) thread = undefined;
        for (const [id, its] of [...open]) {
          if (its.thread === started) fail(id, new JournalUnavailable(`the journal's thread ended: ${reason}`));
        }
      },
    });
    thread = started;
    return started;
  };

  const endSoon = (): void => {
    clearTimeout(linger);
    if (open.size > 0) return;
    linger = setTimeout(() => {
      thread?.end();
      thread = undefined;
    }, lingerMs);
    linger.unref();
  };

  const pull = (id: number, current: Thread, signal: AbortSignal): Promise<readonly LiveEntry[]> =>
    new Promise((resolve, reject) => {
      const error = failed.get(id);
      if (error !== undefined) return reject(error);
      const onAbort = (): void => take(id)?.resolve([]);
      signal.addEventListener("abort", onAbort, { once: true });
      const settled = (): void => signal.removeEventListener("abort", onAbort);
      pulls.set(id, {
        resolve(entries) {
          settled();
          resolve(entries);
        },
        reject(reason) {
          settled();
          reject(reason);
        },
      });
      current.send({ id, kind: "pull" });
    });

  return {
    async *follow({ cursor, onUnread }, signal) {
      if (signal.aborted) return;
      followers += 1;
      const id = followers;
      // Before the thread is started, which takes longer than a client needs to write its first line.
      const asked = now();
      const current = start();
      open.set(id, { thread: current, onUnread });
      current.send({ id, kind: "follow", start: { cursor, ...asked } });
      try {
        while (!signal.aborted) {
          const entries = await pull(id, current, signal);
          if (entries.length > 0) yield entries;
        }
      } finally {
        current.send({ id, kind: "end" });
        open.delete(id);
        failed.delete(id);
        endSoon();
      }
    },
    dispose() {
      clearTimeout(linger);
      thread?.end();
      thread = undefined;
    },
  };
}
