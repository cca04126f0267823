import { createAccounts } from "#adapters/accounts/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import type { PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { LogReader } from "#domain/logs/reader.ts";
import type { Accounts, Logins } from "#domain/ports/accounts.ts";
import { accountHandlers } from "#domain/system/accounts.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot } from "#root/through-root.ts";

export const createAccountsPart = ({
  logs,
  ...ports
}: Pick<PartContext, "clock"> & {
  readonly accounts: Accounts;
  readonly logins: Logins;
  readonly logs: { readonly reader: LogReader };
}) => ({ handlers: accountHandlers({ ...ports, readLogs: logs.reader.read }) });

export function buildAccountsPart(
  { clock }: PartContext,
  ports: {
    readonly traced: Pick<TracedParts, "exec">;
    readonly rootSide: RootSide | undefined;
    readonly logs: { readonly reader: LogReader };
  },
) {
  const { traced, rootSide, logs } = ports;
  // Whether a password is set, and which keys open an account, only root can read.
  const accounts = throughRoot(
    createAccounts({ ...traced, ssh: createSshServer(traced), look: lookApart }),
    rootSide,
    (request) => ({ list: (signal) => request("users.list", {}, signal) }),
  );
  const logins = throughRoot(createLogins(traced), rootSide, (request) => ({
    sessions: (signal) => request("users.sessions", {}, signal),
  }));
  return createAccountsPart({ clock, logs, accounts, logins });
}
