import { createAccounts } from "#adapters/accounts/index.ts";
import { lookApart } from "#adapters/exec/look.ts";
import { createHostNames, createTimeSettings } from "#adapters/host-settings/index.ts";
import { createReboots } from "#adapters/logind/index.ts";
import { createLogins } from "#adapters/logins/index.ts";
import { createSshServer } from "#adapters/sshd/index.ts";
import type { PartContext } from "#app/part.ts";
import type { Operations } from "#domain/operations/operations.ts";
import { isFinished } from "#domain/operations/state.ts";
import type { Accounts, Logins } from "#domain/ports/accounts.ts";
import type { HostNames, TimeSettings } from "#domain/ports/host-settings.ts";
import type { Reboots } from "#domain/ports/reboots.ts";
import { accountHandlers } from "#domain/system/accounts.ts";
import { hostSettingsHandlers } from "#domain/system/host-settings.ts";
import { rebootHandlers } from "#domain/system/reboot.ts";
import type { RootSide } from "#root/request.ts";
import { throughRoot } from "#root/through-root.ts";
import type { TracesPart } from "./host.ts";
import type { LogsPart } from "./logs.ts";

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly rootSide: RootSide | undefined;
  readonly logs: Pick<LogsPart, "reader">;
  readonly operations: { readonly operations: Pick<Operations, "list"> };
}

interface AdministrationAdapters {
  readonly accounts: Accounts;
  readonly logins: Logins;
  readonly time: TimeSettings;
  readonly names: HostNames;
  readonly reboots: Reboots;
}

function openAdministration({ traces: { traced }, rootSide }: Earlier): AdministrationAdapters {
  // Whether a password is set, and which keys open an account, only root can read.
  const accounts = throughRoot(
    createAccounts({ ...traced, ssh: createSshServer(traced), look: lookApart }),
    rootSide,
    (request) => ({ list: (signal) => request("users.list", {}, signal) }),
  );
  const logins = throughRoot(createLogins(traced), rootSide, (request) => ({
    sessions: (signal) => request("users.sessions", {}, signal),
  }));
  // Reading takes no rights; polkit lets the service change nothing of it.
  const time = throughRoot(createTimeSettings(traced), rootSide, (request) => ({
    set: (change, signal) => request("host.set_time", change, signal),
  }));
  const names = throughRoot(createHostNames(traced), rootSide, (request) => ({
    set: (change, signal) => request("host.set_hostname", change, signal),
  }));
  const reboots = throughRoot(createReboots(traced), rootSide, (request) => ({
    state: (signal) => request("reboot.state", {}, signal),
    schedule: (at, options, signal) => request("reboot.schedule", { at, ...options }, signal),
    cancel: (signal) => request("reboot.cancel", {}, signal),
  }));
  return { accounts, logins, time, names, reboots };
}

/** Accounts, the name and the clock of the host, and its reboot. */
export function administrationPart(
  { clock }: Pick<PartContext, "clock">,
  earlier: Earlier,
  adapters = openAdministration(earlier),
) {
  const { logs, operations } = earlier;
  const { accounts, logins, time, names, reboots } = adapters;
  const busyWith = (): string | undefined =>
    operations.operations.list().find(({ state }) => !isFinished(state.status))?.spec.id;
  const { handlers, reboot } = rebootHandlers({ reboots, busyWith, clock });
  return {
    handlers: {
      ...accountHandlers({ accounts, logins, clock, readLogs: logs.reader.read }),
      ...hostSettingsHandlers({ time, names, clock }),
      ...handlers,
    },
    reboot,
  };
}

export type AdministrationPart = ReturnType<typeof administrationPart>;
