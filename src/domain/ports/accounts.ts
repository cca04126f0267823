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

export interface LoginSession {
  readonly id: string;
  readonly user: string;
  readonly uid: number;
  /** logind's word: `user`, `greeter`, … */
  readonly kind: string;
  /** The program that opened it, such as `sshd`. */
  readonly service: string;
  readonly tty: string;
  readonly seat: string;
  /** Empty for this host itself. */
  readonly remoteHost: string;
  readonly state: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly leaderPid: number;
}

export interface PastLogin {
  readonly user: string;
  readonly tty: string;
  readonly remoteHost: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Null while it lasts, or where its end is not recorded. */
  readonly endedAt: number | null;
  /** What ended it; `unknown`: the record was taken over by another login. */
  readonly end: "logout" | "shutdown" | "crash" | "none" | "unknown";
}

/** The value, or the reason why it cannot be read. */
export type Found<T> = readonly T[] | { readonly reason: string };

/** Who is signed in, and who was. */
export interface Logins {
  /** Of users, by logind. */
  readonly sessions: (signal: AbortSignal) => Promise<Found<LoginSession>>;
  /** Newest first. */
  readonly recent: (limit: number, signal: AbortSignal) => Promise<Found<PastLogin>>;
}
