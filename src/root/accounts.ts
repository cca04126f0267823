import type { Accounts, Logins } from "#domain/ports/accounts.ts";
import type { RequestRoot } from "./request.ts";

/** Whether a password is set, and which keys open an account, only root can read. */
export const accountsThroughRoot = (request: RequestRoot): Accounts => ({
  list: (signal) => request("users.list", {}, signal),
});

export const loginsThroughRoot = (logins: Logins, request: RequestRoot): Logins => ({
  ...logins,
  sessions: async (signal) => (await request("users.sessions", {}, signal)).sessions,
});
