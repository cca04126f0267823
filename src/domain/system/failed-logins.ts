import type { FailedLogin } from "#contract/accounts.ts";
import type { LogEntry } from "#contract/log-entry.ts";

/** Who writes of failed logins, by SYSLOG_IDENTIFIER; the second since OpenSSH 9.8. */
export const loginIdentifiers = ["sshd", "sshd-session", "login"] as const;
/** What the journal is searched for. */
export const failedPattern =
  "^(Failed |FAILED LOGIN |(Connection (closed|reset)|Disconnected) (by|from) authenticating user )";

type Tried = Pick<FailedLogin, "user" | "known_user" | "remote_host" | "method">;

// The name is chosen by whoever tries, and may look like the end of the message: so the end is the last one.
const failed = /^Failed (\S+) for (invalid user )?(.*) from (\S+) port \d+(?: ssh2)?(?:: .*)?$/s;
const left =
  /^(?:Connection (?:closed|reset) by|Disconnected from) authenticating user (.*) (\S+) port \d+ \[preauth\]$/s;
const atTerminal = /^FAILED LOGIN (?:\(\d+\) on|\d+ FROM) '?(\S+?)'?(?: from '(.*)')? FOR '?(.*?)'?, .*$/s;

function triedIn(message: string): Tried | undefined {
  const [, method, unknown, user, from] = failed.exec(message) ?? [];
  if (method !== undefined && user !== undefined && from !== undefined)
    return { user, known_user: unknown === undefined, remote_host: from, method };
  const [, name, host] = left.exec(message) ?? [];
  if (name !== undefined && host !== undefined) return { user: name, known_user: true, remote_host: host, method: "" };
  const [, , remote = "", tried] = atTerminal.exec(message) ?? [];
  return tried === undefined ? undefined : { user: tried, known_user: true, remote_host: remote, method: "password" };
}

const mostNameChars = 256;

/** A failed login, as an entry of the journal tells of it; undefined for anything else. */
export function failedLoginIn({ timestamp, identifier, message }: LogEntry): FailedLogin | undefined {
  const tried = triedIn(message);
  if (tried === undefined) return undefined;
  const service = identifier === "login" ? "login" : "sshd";
  return { at: timestamp, ...tried, user: tried.user.slice(0, mostNameChars), service };
}
