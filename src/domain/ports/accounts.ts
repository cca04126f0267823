/** A key that opens an account. */
export interface AuthorizedKey {
  /** OpenSSH's name, such as `ssh-ed25519`. */
  readonly type: string;
  /** Null for a type that is not known. */
  readonly bits: number | null;
  /** As `ssh-keygen -l` has it: `SHA256:…`. */
  readonly fingerprint: string;
  readonly comment: string;
  /** Names of the options before the key, such as `command`. */
  readonly options: readonly string[];
}

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly comment: string;
  readonly home: string;
  readonly shell: string;
  /** Names, the primary one first. */
  readonly groups: readonly string[];
  /** `none`: it is empty, and asked for nowhere; `unknown`: it cannot be read. */
  readonly password: "set" | "locked" | "none" | "unknown";
  /** Epoch milliseconds from which on the account is closed; null for never, or where it cannot be read. */
  readonly expiresAt: number | null;
  /** Undefined where they cannot be read. */
  readonly keys: readonly AuthorizedKey[] | undefined;
  /** `some`: others may open the account too; `assumed`: sshd does not say where they are, or not for each connection. */
  readonly keysAre: "all" | "some" | "assumed";
}

export interface AccountList {
  readonly accounts: readonly Account[];
  /** What of it was left out, and why. */
  readonly notShown: readonly { readonly what: string; readonly reason: string }[];
}

/** The users that the host knows, from files and whatever else its NSS asks. */
export interface Accounts {
  /** @throws HostUnavailable where they cannot be listed. */
  readonly list: (signal: AbortSignal) => Promise<AccountList>;
}
