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
  /** SHA-256 of the client certificate that stands for the key, lower-case hexadecimal. */
  readonly clientCert: string | null;
}

/** A client certificate that the transport has verified. */
export interface ClientCertificate {
  /** Lower-case hexadecimal. */
  readonly sha256: string;
  /** Epoch milliseconds. */
  readonly validTo: number;
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

/** What a subject has used of a window that has not ended. */
export interface StoredWindow {
  readonly subject: string;
  /** Name of the window. */
  readonly name: string;
  readonly used: number;
  readonly endsInMs: number;
}

/** Where windows of rate limits outlive the service. What cannot be read or written counts in memory alone; nothing throws. */
export interface WindowStore {
  /** Windows that have not ended since they were saved, by whichever clock can be relied on. */
  readonly load: () => readonly StoredWindow[];
  /** Replaces what is stored of these windows. A process that is killed the next moment loses none of it. */
  readonly save: (windows: readonly StoredWindow[]) => void;
}
