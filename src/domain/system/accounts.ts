import type { accounts, FailedLogin, UserEntry } from "#contract/accounts.ts";
import type { LogEntry, UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import type { Context, Handlers } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { notRead, pageOf } from "#domain/common/page.ts";
import { redact } from "#domain/common/redact.ts";
import type { Account, Accounts, Found, LoginSession, Logins } from "#domain/ports/accounts.ts";
import { anyEntries } from "#domain/ports/journal.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { failedLoginsIn, failedPattern, loginIdentifiers } from "./failed-logins.ts";
import type { ReadLogs } from "./unit-log.ts";

const weekUs = 7 * 24 * 60 * 60 * 1_000_000;
const ofRoot = 0;
const usualLogins = 50;
const usualUsers = 1000;
/** How often the journal is asked on for failed logins: several lines may be about one. */
const mostPages = 4;

/** Those that end a login at once. */
const refusesLogin = (shell: string): boolean => /\/(nologin|false|sync|shutdown|halt)$/.test(shell);

/** Null where what decides cannot be read. */
function canSignIn({ shell, expiresAt, password, keys, keysAre }: Account, now: number): boolean | null {
  if (refusesLogin(shell) || (expiresAt !== null && expiresAt <= now)) return false;
  const hasKey = keysAre !== "assumed" && (keys?.length ?? 0) > 0;
  if (password === "set" || password === "none" || hasKey) return true;
  return password === "unknown" || keys === undefined || keysAre !== "all" ? null : false;
}

const show = (account: Account, now: number): UserEntry => ({
  name: account.name,
  uid: account.uid,
  gid: account.gid,
  comment: account.comment,
  home: account.home,
  shell: account.shell,
  groups: [...account.groups],
  password: account.password,
  expires_at: toNullableTimestamp(account.expiresAt),
  can_sign_in: canSignIn(account, now),
  authorized_keys:
    account.keys?.map((key) => ({ ...key, comment: redact(key.comment).text, options: [...key.options] })) ?? null,
});

const isUnavailable = (error: unknown): boolean =>
  findUnavailable(error) !== undefined || (error instanceof DomainError && error.code === "UNAVAILABLE");

const showSession = ({ id, user, uid, service, tty, seat, remoteHost, state, since, leaderPid }: LoginSession) => ({
  ...{ id, user, uid, service, tty, seat, state },
  remote_host: remoteHost,
  since: toTimestamp(since),
  leader_pid: leaderPid === 0 ? null : leaderPid,
});

interface AccountPorts {
  readonly accounts: Accounts;
  readonly logins: Logins;
  readonly readLogs: ReadLogs;
  readonly clock: Pick<Clock, "now">;
}

const reasonOf = <T>(found: Found<T>): string | undefined => ("reason" in found ? found.reason : undefined);
const listOf = <T>(found: Found<T>): readonly T[] | null => ("reason" in found ? null : found);

export function accountHandlers({ accounts: host, logins, readLogs, clock }: AccountPorts): Handlers<typeof accounts> {
  /** What is missing on the host is said, and hides nothing else. */
  const orReason = async <T>(signal: AbortSignal, work: () => Promise<Found<T>>): Promise<Found<T>> => {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !isUnavailable(error)) throw error;
      return { reason: errorMessage(error) };
    }
  };

  const failedLogins = async (
    limit: number,
    { caller, signal }: Context,
    onUnread: (files: UnreadFiles) => void,
  ): Promise<Found<FailedLogin>> => {
    const until = clock.now() * 1000 + 999;
    const query = { ...anyEntries, uid: ofRoot, since: Math.max(0, until - weekUs), until, limit };
    const entriesOf = async (identifier: string): Promise<Found<LogEntry>> => {
      const entries: LogEntry[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < mostPages; page += 1) {
        const { bytes } = await readLogs(
          { ...query, identifier, grep: failedPattern, order: "desc", cursor },
          { owner: caller?.keyId ?? "", signal: signal() },
        );
        const {
          logs,
          next_cursor: next,
          not_shown: [lack] = [],
          unread,
        } = JSON.parse(new TextDecoder().decode(bytes)) as LogList;
        if (lack !== undefined) return { reason: lack.reason };
        if (unread !== undefined) onUnread(unread);
        entries.push(...logs);
        if (next === null || logs.length < limit || failedLoginsIn(entries).length > limit) break;
        cursor = next;
      }
      return entries;
    };
    const entries: LogEntry[] = [];
    for (const identifier of loginIdentifiers) {
      const found = await entriesOf(identifier);
      if ("reason" in found) return found;
      entries.push(...found);
    }
    return failedLoginsIn(entries).slice(0, limit);
  };

  return {
    async listUsers({ query }, context) {
      const { accounts: all, notShown } = await host.list(context.signal());
      const now = clock.now();
      const users = all
        .map((account) => show(account, now))
        .filter(({ can_sign_in: can }) => !query.sign_in || can !== false);
      const { limit = usualUsers, cursor } = query;
      const { items, shape } = pageOf(users, { limit, cursor }, ({ name }) => name);
      return {
        users: [...items],
        ...shape,
        not_shown: notShown.map((each) => ({ ...each })),
      };
    },

    async listLogins({ query: { limit = usualLogins } }, context) {
      const signal = context.signal();
      const sessions = await orReason(signal, () => logins.sessions(signal));
      const recent = await orReason(signal, () => logins.recent(limit, signal));
      const unread = new Map<string, UnreadFiles[number]>();
      const onUnread = (files: UnreadFiles): void => {
        for (const each of files) unread.set(each.file, each);
      };
      const failed = await orReason(signal, () => failedLogins(limit, context, onUnread));
      const reasons = { sessions: reasonOf(sessions), recent: reasonOf(recent), failed: reasonOf(failed) };
      return {
        sessions: listOf(sessions)?.slice(0, limit).map(showSession) ?? null,
        recent:
          listOf(recent)?.map(({ remoteHost, startedAt, endedAt, ...login }) => ({
            ...login,
            remote_host: remoteHost,
            started_at: toTimestamp(startedAt),
            ended_at: toNullableTimestamp(endedAt),
          })) ?? null,
        failed: listOf(failed)?.map((each) => ({ ...each })) ?? null,
        not_shown: [
          ...Object.entries(reasons).flatMap(([what, reason]) => (reason === undefined ? [] : [{ what, reason }])),
          ...(reasons.failed === undefined ? notRead("failed", [...unread.values()]) : []),
        ],
      };
    },
  };
}
