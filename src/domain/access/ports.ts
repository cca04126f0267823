/** A key as it is stored: never its secret, only its digest in hexadecimal. Times are epoch milliseconds. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly digest: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** A short-lived token of a key. */
export interface TokenRecord {
  readonly id: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly digest: string;
  readonly expiresAt: number;
}

/**
 * Where keys and tokens are kept. Writes are durable when they return: what was acknowledged
 * to a client survives a crash at the next instant.
 */
export interface KeyStore {
  readonly keys: () => readonly KeyRecord[];
  readonly tokens: () => readonly TokenRecord[];
  readonly insertKey: (key: KeyRecord) => void;
  readonly revokeKey: (id: string, revokedAt: number) => void;
  readonly insertToken: (token: TokenRecord) => void;
  readonly deleteTokens: (ids: readonly string[]) => void;
  /** Last uses, by key id. */
  readonly touchKeys: (uses: ReadonlyMap<string, number>) => void;
}

/** A credential as a client presents it, taken apart; nothing in it has been believed yet. */
export interface PresentedCredential {
  readonly kind: "key" | "token";
  readonly id: string;
  readonly digest: string;
}

/** Makes and reads credentials: randomness and hashing are not the domain's. */
export interface CredentialCodec {
  readonly mint: (kind: "key" | "token") => { readonly text: string; readonly id: string; readonly digest: string };
  /** Undefined when the text is not a well-formed credential. */
  readonly parse: (text: string) => PresentedCredential | undefined;
  /** Compares in constant time. */
  readonly sameDigest: (a: string, b: string) => boolean;
}

/** What the audit log keeps of a call that changed something, or was refused. */
export interface AuditEntry {
  readonly time: string;
  readonly request_id: string;
  readonly operation: string;
  readonly key_id: string | null;
  readonly remote_address: string;
  /** What the call was about: parameters of its path, and what its handler named. */
  readonly target: Readonly<Record<string, string>>;
  /** Whether it only asked what would be done. */
  readonly dry_run: boolean;
  readonly status: number;
  /** Whether the client was gone before the answer. */
  readonly client_gone: boolean;
  readonly duration_ms: number;
}

export interface AuditLog {
  readonly record: (entry: AuditEntry) => void;
}
