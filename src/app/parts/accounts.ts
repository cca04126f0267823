import { createAccounts } from "#adapters/accounts/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import type { PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import type { LogReader } from "#domain/logs/reader.ts";
import type { Accounts, Logins } from "#domain/ports/accounts.ts";
import { accountHandlers } from "#domain/system/accounts.ts";
import { accountsThroughRoot, loginsThroughRoot } from "#root/host-through-root.ts";
import type { RootSide } from "#root/request.ts";

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
  const logins = createLogins(traced);
  if (rootSide === undefined) {
    const accounts = createAccounts({ ...traced, ssh: createSshServer(traced), look: lookApart });
    return createAccountsPart({ clock, logs, accounts, logins });
  }
  const { request } = rootSide;
  return createAccountsPart({
    clock,
    logs,
    accounts: accountsThroughRoot(request),
    logins: loginsThroughRoot(logins, request),
  });
}
