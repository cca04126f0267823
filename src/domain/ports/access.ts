/** A stored key, with the digest of its secret in hexadecimal. Times are epoch milliseconds. */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly digest: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
  /** SHA-256 of the client certificate for the key, lower-case hexadecimal. */
  readonly clientCert: string | null;
}

/** A client certificate that the transport has verified. */
export interface ClientCertificate {
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  /** Epoch milliseconds. */
  readonly validTo: number;
}

export interface TokenRecord {
  readonly id: string;
  readonly keyId: string;
  readonly scopes: readonly string[];
  readonly digest: string;
  readonly expiresAt: number;
}

/** Keeps keys and tokens. Writes are durable when they return: what was confirmed to a client survives a crash. */
export interface KeyStore {
  readonly keys: () => readonly KeyRecord[];
  readonly tokens: () => readonly TokenRecord[];
  readonly insertKey: (key: KeyRecord) => void;
  readonly revokeKey: (id: string, revokedAt: number) => void;
  readonly insertToken: (token: TokenRecord) => void;
  readonly deleteTokens: (ids: readonly string[]) => void;
  readonly touchKeys: (uses: ReadonlyMap<string, number>) => void;
}

/** `cookie` and `session` are the halves of a session; `code` and `ticket` are good once. */
export type CredentialKind = "key" | "token" | "cookie" | "session" | "code" | "ticket";

/** A parsed credential of a client; not verified. */
export interface PresentedCredential {
  readonly kind: CredentialKind;
  readonly id: string;
  readonly digest: string;
}

export interface CredentialCodec {
  /** @param id of what there is already; a new one unless given. */
  readonly mint: (
    kind: CredentialKind,
    id?: string,
  ) => { readonly text: string; readonly id: string; readonly digest: string };
  /**
   * Undefined when the text is malformed.
   * @param sender what sends credentials again and again, such as a connection: its last one of each kind is remembered for as long as it is there.
   */
  readonly parse: (text: string, sender?: object) => PresentedCredential | undefined;
  /** Whether the credential has this digest, in constant time; false, and in the same time, where one of them is missing. */
  readonly proves: (presented: PresentedCredential | undefined, digest: string | undefined) => boolean;
}

/** The use of a window that has not ended. */
export interface StoredWindow {
  readonly subject: string;
  readonly name: string;
  readonly used: number;
  readonly endsInMs: number;
}

/** Keeps windows of rate limits over restarts. Nothing throws: on an error they are counted in memory alone. */
export interface WindowStore {
  /** Windows that have not ended since they were saved, by the most reliable clock. */
  readonly load: () => readonly StoredWindow[];
  /** Replaces these windows; survives a kill of the process right after. */
  readonly save: (windows: readonly StoredWindow[]) => void;
}
