import { readBootId } from "#adapters/boot-id/index.ts";
import { JournalUnavailable, type LiveEntry } from "#domain/ports/journal.ts";
import { createFollower, type Follower } from "./follower.ts";
import { fileState } from "./journal-file/layout.ts";
import type { Journalctl } from "./journalctl.ts";
import { parseCursor } from "./order.ts";
import type { FollowStart } from "./protocol.ts";
import type { Registry } from "./registry.ts";
import type { Source } from "./source.ts";

const lookMs = 10;
const releaseMs = 1_000;

/** Whether a file may hold entries that a stream wants: it is written, or not all of it is before where the stream begins. */
const mayAdd =
  (since: number | undefined) =>
  ({ file: { header } }: Source): boolean =>
    header.state !== fileState.archived || (since !== undefined && header.tailRealtime >= since);

/** A follower that reads the files, or, where only journalctl can, its output. */
interface Followed {
  native: Follower | undefined;
  viaJournalctl: AsyncIterator<readonly LiveEntry[]> | undefined;
  readonly ended: AbortController;
  isWaiting: boolean;
}

export interface FollowersPorts {
  readonly registry: Registry;
  readonly journalctl: Pick<Journalctl, "follow">;
  readonly onEntries: (id: number, entries: readonly LiveEntry[]) => void;
  readonly onFailure: (id: number, error: unknown) => void;
}

export interface Followers {
  readonly open: (id: number, start: FollowStart) => void;
  readonly pull: (id: number) => Promise<void>;
  readonly end: (id: number) => void;
  readonly passCopies: Follower["passCopies"];
}

export function createFollowers({ registry, journalctl, onEntries, onFailure }: FollowersPorts): Followers {
  const followers = new Map<number, Followed>();
  const bootId = readBootId();
  let timer: NodeJS.Timeout | undefined;
  let releaseTimer: NodeJS.Timeout | undefined;

  const begin = (followed: Followed, { cursor, realtime, monotonic }: FollowStart): void => {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    registry.refresh("*");
    if (registry.foreign().some(mayAdd(after?.realtime))) {
      followed.viaJournalctl = journalctl.follow({ cursor }, followed.ended.signal)[Symbol.asyncIterator]();
    } else {
      followed.native = createFollower(
        registry,
        after === undefined ? { moment: { realtime, monotonic, bootId } } : { after },
      );
    }
  };

  const drop = (id: number): void => {
    followers.get(id)?.ended.abort();
    followers.delete(id);
    if (followers.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
    clearInterval(releaseTimer);
    releaseTimer = undefined;
    registry.dispose();
  };

  const fail = (id: number, error: unknown): void => {
    drop(id);
    onFailure(id, error);
  };

  const look = (id: number, followed: Followed): boolean => {
    try {
      const entries = followed.native?.next() ?? [];
      if (entries.length === 0 && registry.foreign().some(mayAdd(undefined))) {
        throw new JournalUnavailable("a journal file is of a kind that only journalctl reads");
      }
      if (entries.length === 0) return false;
      onEntries(id, entries);
    } catch (error) {
      fail(id, error);
    }
    return true;
  };

  const lookForAll = (): void => {
    timer = undefined;
    for (const [id, followed] of [...followers]) {
      if (followed.isWaiting && look(id, followed)) followed.isWaiting = false;
    }
    lookSoon();
  };

  const lookSoon = (): void => {
    if (timer === undefined && [...followers.values()].some(({ isWaiting }) => isWaiting)) {
      timer = setTimeout(lookForAll, lookMs);
    }
  };

  return {
    open(id, start) {
      const followed: Followed = {
        native: undefined,
        viaJournalctl: undefined,
        ended: new AbortController(),
        isWaiting: false,
      };
      followers.set(id, followed);
      // Those that nobody pulls from do not look, and hold deleted files all the same.
      releaseTimer ??= setInterval(registry.release, releaseMs);
      try {
        begin(followed, start);
      } catch (error) {
        fail(id, error);
      }
    },
    async pull(id) {
      const followed = followers.get(id);
      if (followed === undefined) return;
      if (followed.viaJournalctl === undefined) {
        if (look(id, followed)) return;
        followed.isWaiting = true;
        return lookSoon();
      }
      try {
        const { value, done } = await followed.viaJournalctl.next();
        if (done !== true) onEntries(id, value);
      } catch (error) {
        if (followers.has(id)) fail(id, error);
      }
    },
    end: drop,
    passCopies(sources) {
      for (const { native } of followers.values()) native?.passCopies(sources);
    },
  };
}
