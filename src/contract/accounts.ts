import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import {
  Choice,
  CountedListShape,
  Cursor,
  NotShown,
  NullableInteger,
  NullableTimestamp,
  Options,
  Timestamp,
} from "./schema.ts";

const AuthorizedKey = Type.Object({
  type: Type.String({ description: "Key type, such as `ssh-ed25519`." }),
  bits: NullableInteger("Key length in bits; null for an unknown type."),
  fingerprint: Type.String({ description: "Fingerprint as `ssh-keygen -l` prints it: `SHA256:…`." }),
  comment: Type.String({ description: "Comment of the key, with secrets redacted." }),
  options: Type.Array(Type.String(), { description: "Names of the options that restrict the key, such as `command`." }),
});

const passwordStates = ["set", "locked", "none", "unknown"] as const;

export const UserEntry = Type.Object({
  name: Type.String(),
  uid: Type.Integer(),
  gid: Type.Integer(),
  comment: Type.String({ description: "Comment field, usually the full name." }),
  home: Type.String(),
  shell: Type.String({ description: "Program that a login starts; empty means /bin/sh." }),
  groups: Type.Array(Type.String(), { description: "Group names, the primary group first." }),
  password: Choice(
    passwordStates,
    "State of the password; `none`: it is empty, so anybody may sign in where empty passwords are permitted.",
  ),
  expires_at: NullableTimestamp("When the account expires; null if it does not."),
  can_sign_in: Type.Unsafe<boolean | null>({
    type: ["boolean", "null"],
    description:
      "Whether the shell permits logins, the account has not expired, and a password or a key is set. Null if that cannot be read, if sshd takes keys from another source, or if sshd does not say where keys are, or has others by where a connection comes from (`Match Address`).",
  }),
  authorized_keys: Type.Unsafe<Static<typeof AuthorizedKey>[] | null>({
    type: ["array", "null"],
    items: AuthorizedKey,
    description:
      "Keys in the files that sshd reads for this user (`AuthorizedKeysFile`, with `Match` blocks for the user and its groups), at most 100 from each file. Null if the files cannot be read or their directory does not answer within seconds; `not_shown` then gives the reason.",
  }),
});
export type UserEntry = Static<typeof UserEntry>;

export const UserList = Type.Object({
  users: Type.Array(UserEntry),
  ...CountedListShape,
  not_shown: NotShown,
});

const Session = Type.Object({
  id: Type.String({ description: "Session id of logind, as `loginctl` shows it." }),
  user: Type.String(),
  uid: Type.Integer(),
  service: Type.String({ description: "Program that opened the session, such as `sshd`." }),
  tty: Type.String({ description: "Empty for none." }),
  seat: Type.String({ description: "Empty for none." }),
  remote_host: Type.String({ description: "Remote host or address; empty for this host." }),
  state: Type.String({ description: "State reported by logind, such as `active` or `closing`." }),
  since: Timestamp("When the session began."),
  leader_pid: NullableInteger("Process id of the session leader; null if there is none."),
});

const PastLogin = Type.Object({
  user: Type.String(),
  tty: Type.String(),
  remote_host: Type.String({ description: "Empty for this host." }),
  started_at: Timestamp("When the session began."),
  ended_at: NullableTimestamp("When the session ended; null while it is open, or if its end was not recorded."),
  end: Choice(
    ["logout", "shutdown", "crash", "none", "unknown"],
    "What ended the session. `none`: it is still open. `unknown`: another login followed on the same terminal, and no end was recorded.",
  ),
});

const FailedLogin = Type.Object({
  at: Timestamp("When."),
  user: Type.String({ description: "The user name that was tried." }),
  known_user: Type.Boolean({ description: "Whether the user exists on this host, according to sshd." }),
  remote_host: Type.String({ description: "Empty for this host, or if sshd did not log it." }),
  method: Type.String({
    description: "Authentication method, such as `password` or `publickey`; empty if it was not logged.",
  }),
  service: Type.String({ description: "Program that refused the login: `sshd` or `login`." }),
});
export type FailedLogin = Static<typeof FailedLogin>;

const nullableList = <T extends Type.TSchema>(items: T, description: string) =>
  Type.Unsafe<Static<T>[] | null>({ type: ["array", "null"], items, description });

export const LoginList = Type.Object({
  sessions: nullableList(Session, "Open sessions known to logind, without managers and greeters."),
  recent: nullableList(PastLogin, "Past logins in /var/log/wtmp, newest first."),
  failed: nullableList(
    FailedLogin,
    "Failed logins of the last week, newest first, from the journal entries of sshd and login that ran as root. One for each attempt; if sshd logs only the connection, as it does with keys, one for each connection.",
  ),
  not_shown: NotShown,
});

const limit = (preset: number) =>
  Type.Integer({ minimum: 1, maximum: 10_000, default: preset, description: "Maximum results." });

export const accounts = {
  listUsers: {
    method: "GET",
    path: "/system/users",
    tag: "System",
    summary: "Users of the host",
    description:
      "Local users and those of other sources that the host is configured for (`getent`), ordered by uid. Public keys are shown by their fingerprint only.",
    scope: "users:read",
    effect: "read",
    query: Options({
      sign_in: Type.Boolean({
        default: false,
        description: "Only users who can sign in, or for whom that is unknown.",
      }),
      limit: limit(1000),
      cursor: Cursor,
    }),
    response: UserList,
    errors: ["UNAVAILABLE"],
  },
  listLogins: {
    method: "GET",
    path: "/system/logins",
    tag: "System",
    summary: "Sessions, past logins and failed logins",
    description:
      "A list that the host does not record is null; `not_shown` gives the reason. It also names journal files that could not be read: failed logins may be missing then.",
    scope: "users:read",
    effect: "read",
    query: Options({
      limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: "Maximum results of each list." }),
    }),
    response: LoginList,
    errors: [],
  },
} as const satisfies Operations;
