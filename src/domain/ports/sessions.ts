/** A stored session, with the digests of its halves in hexadecimal. Times are epoch milliseconds. */
export interface SessionRecord {
  readonly id: string;
  readonly keyId: string;
  readonly cookieDigest: string;
  readonly secretDigest: string;
  readonly createdAt: number;
  readonly endsAt: number;
  /** Null: it is read-only. */
  readonly elevatedUntil: number | null;
  readonly lastUsedAt: number;
  readonly remoteAddress: string | null;
}

export interface CodeRecord {
  readonly id: string;
  readonly keyId: string;
  readonly digest: string;
  readonly expiresAt: number;
}

/** Keeps sessions and one-time codes. What was confirmed to a client survives a crash. */
export interface SessionStore {
  readonly sessions: () => readonly SessionRecord[];
  /** Inserts it, or replaces the one with its id. @throws HostUnavailable when it cannot be stored. */
  readonly put: (session: SessionRecord) => void;
  readonly remove: (ids: readonly string[]) => void;
  readonly touch: (uses: ReadonlyMap<string, number>) => void;
  readonly code: (id: string) => CodeRecord | undefined;
  /** @throws HostUnavailable when it cannot be stored. */
  readonly insertCode: (code: CodeRecord) => void;
  /** Removes a code, before it is used. @returns false when it was gone already. */
  readonly takeCode: (id: string) => boolean;
  /** Removes codes that have expired, and the oldest of a key beyond so many. */
  readonly forgetCodes: (now: number, keyId: string, kept: number) => void;
}
