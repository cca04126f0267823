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
