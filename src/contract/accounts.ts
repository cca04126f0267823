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
  type: Type.String({ description: "Such as `ssh-ed25519`." }),
  bits: NullableInteger("Length; null for a type that is not known."),
  fingerprint: Type.String({ description: "As `ssh-keygen -l` has it: `SHA256:…`." }),
  comment: Type.String({ description: "Without secrets." }),
  options: Type.Array(Type.String(), { description: "Names of the options that restrict it, such as `command`." }),
});

const passwordStates = ["set", "locked", "none", "unknown"] as const;

export const UserEntry = Type.Object({
  name: Type.String(),
  uid: Type.Integer(),
  gid: Type.Integer(),
  comment: Type.String({ description: "Mostly the full name." }),
  home: Type.String(),
  shell: Type.String({ description: "Program that a login starts; empty means /bin/sh." }),
  groups: Type.Array(Type.String(), { description: "Names, the primary one first." }),
  password: Choice(passwordStates, "`none`: it is empty, so anybody may sign in where that is permitted."),
  expires_at: NullableTimestamp("When the account is closed; null for never."),
  can_sign_in: Type.Unsafe<boolean | null>({
    type: ["boolean", "null"],
    description:
      "Whether the shell permits logins, the account has not expired, and a password or a key is set; null if that cannot be read, or sshd takes keys from elsewhere or does not say where they are.",
  }),
  authorized_keys: Type.Unsafe<Static<typeof AuthorizedKey>[] | null>({
    type: ["array", "null"],
    items: AuthorizedKey,
    description:
      "Of the files that sshd looks into for this user (`AuthorizedKeysFile`, for a connection from elsewhere), at most 100 of each; null where they cannot be read, or where their directory does not answer within seconds, as `not_shown` then says.",
  }),
});
export type UserEntry = Static<typeof UserEntry>;

export const UserList = Type.Object({
  users: Type.Array(UserEntry),
  ...CountedListShape,
  not_shown: NotShown,
});

const Session = Type.Object({
  id: Type.String({ description: "logind's, as `loginctl` has it." }),
  user: Type.String(),
  uid: Type.Integer(),
  service: Type.String({ description: "Program that opened it, such as `sshd`." }),
  tty: Type.String({ description: "Empty for none." }),
  seat: Type.String({ description: "Empty for none." }),
  remote_host: Type.String({ description: "Where it comes from; empty for this host." }),
  state: Type.String({ description: "logind's word, such as `active` or `closing`." }),
  since: Timestamp("When it began."),
  leader_pid: NullableInteger("Process that it began with; null for none."),
});

const PastLogin = Type.Object({
  user: Type.String(),
  tty: Type.String(),
  remote_host: Type.String({ description: "Empty for this host." }),
  started_at: Timestamp("When it began."),
  ended_at: NullableTimestamp("When it ended; null while it lasts, or where that is not recorded."),
  end: Choice(
    ["logout", "shutdown", "crash", "none", "unknown"],
    "What ended it; `none`: it lasts; `unknown`: another login came on the same terminal without an end being recorded.",
  ),
});

const FailedLogin = Type.Object({
  at: Timestamp("When."),
  user: Type.String({ description: "The name that was tried." }),
  known_user: Type.Boolean({ description: "Whether the host has such a user, by sshd." }),
  remote_host: Type.String({ description: "Empty for this host, and where sshd did not say." }),
  method: Type.String({ description: "Such as `password` or `publickey`; empty where it was not told." }),
  service: Type.String({ description: "`sshd` or `login`." }),
});
export type FailedLogin = Static<typeof FailedLogin>;

const nullableList = <T extends Type.TSchema>(items: T, description: string) =>
  Type.Unsafe<Static<T>[] | null>({ type: ["array", "null"], items, description });

export const LoginList = Type.Object({
  sessions: nullableList(Session, "Who is signed in, by logind, without managers and greeters."),
  recent: nullableList(PastLogin, "Who was, newest first, by /var/log/wtmp."),
  failed: nullableList(
    FailedLogin,
    "Who tried in vain within the last week, newest first: what root's sshd and login wrote to the journal. One for each attempt; where sshd writes of a connection alone, as it does with keys, one for that.",
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
      "From files, and from whatever else the host asks for users (`getent`), ordered by uid. Of a key that opens an account the fingerprint is shown, never the key.",
    scope: "users:read",
    effect: "read",
    query: Options({
      sign_in: Type.Boolean({ default: false, description: "Only those who can sign in, or may be able to." }),
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
    summary: "Who is signed in, who was, and who tried in vain",
    description: "What the host does not record is null, and `not_shown` says what is missing.",
    scope: "users:read",
    effect: "read",
    query: Options({
      limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50, description: "Maximum results of each list." }),
    }),
    response: LoginList,
    errors: [],
  },
} as const satisfies Operations;
