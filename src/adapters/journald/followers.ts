import { readBootId } from "#adapters/exec/proc.ts";
import type { LiveEntry, UnreadFile } from "#domain/ports/journal.ts";
import { createFollower, type Follower } from "./follower.ts";
import { parseCursor } from "./order.ts";
import type { FollowStart } from "./protocol.ts";
import type { Registry } from "./registry.ts";

const lookMs = 10;
const releaseMs = 1_000;

interface Followed {
  readonly follower: Follower;
  isWaiting: boolean;
}

export interface FollowersPorts {
  readonly registry: Registry;
  readonly onEntries: (id: number, entries: readonly LiveEntry[]) => void;
  readonly onUnread: (id: number, files: readonly UnreadFile[]) => void;
  readonly onFailure: (id: number, error: unknown) => void;
}

export interface Followers {
  readonly open: (id: number, start: FollowStart) => void;
  readonly pull: (id: number) => void;
  readonly end: (id: number) => void;
  readonly passCopies: Follower["passCopies"];
  /** Has the files that cannot be read reported again: something is wrong with one. */
  readonly noteDamage: () => void;
}

export function createFollowers({ registry, onEntries, onUnread, onFailure }: FollowersPorts): Followers {
  const followers = new Map<number, Followed>();
  const bootId = readBootId();
  let unread: readonly UnreadFile[] = [];
  let isDamaged = false;
  let timer: NodeJS.Timeout | undefined;
  let releaseTimer: NodeJS.Timeout | undefined;

  const begin = ({ cursor, realtime, monotonic }: FollowStart): Follower => {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    registry.refresh("*");
    return createFollower(registry, after === undefined ? { timestamp: { realtime, monotonic, bootId } } : { after });
  };

  const drop = (id: number): void => {
    followers.delete(id);
    if (followers.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
    clearInterval(releaseTimer);
    releaseTimer = undefined;
    registry.dispose();
    unread = [];
  };

  const fail = (id: number, error: unknown): void => {
    drop(id);
    onFailure(id, error);
  };

  /** Names files that cannot be read: all of them to a newcomer, and to the others when they have changed. */
  const nameUnread = (newcomer?: number): void => {
    if (newcomer === undefined && !isDamaged) return;
    isDamaged = false;
    const files = registry.unread();
    const isKnown = JSON.stringify(files) === JSON.stringify(unread);
    unread = files;
    for (const id of followers.keys()) if (id === newcomer ? files.length > 0 : !isKnown) onUnread(id, files);
  };

  /** @returns whether it waits no longer. */
  const look = (id: number, { follower }: Followed): boolean => {
    try {
      const entries = follower.next();
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
    nameUnread();
    lookSoon();
  };

  const lookSoon = (): void => {
    if (timer === undefined && [...followers.values()].some(({ isWaiting }) => isWaiting)) {
      timer = setTimeout(lookForAll, lookMs);
    }
  };

  return {
    open(id, start) {
      // Those that nobody pulls from do not look, and hold deleted files all the same.
      releaseTimer ??= setInterval(registry.release, releaseMs);
      try {
        followers.set(id, { follower: begin(start), isWaiting: false });
        nameUnread(id);
      } catch (error) {
        fail(id, error);
      }
    },
    pull(id) {
      const followed = followers.get(id);
      if (followed === undefined || look(id, followed)) return;
      followed.isWaiting = true;
      lookSoon();
    },
    end: drop,
    noteDamage() {
      isDamaged = true;
    },
    passCopies(sources) {
      for (const { follower } of followers.values()) follower.passCopies(sources);
    },
  };
}
