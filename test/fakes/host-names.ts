import { type HostNameState, type HostNames, HostSettingsUnavailable } from "#domain/ports/host-settings.ts";

export interface FakeHostNames extends HostNames {
  /** Whether hostnamed answers. */
  available: boolean;
  readonly become: (changes: Partial<HostNameState>) => void;
}

/** A host that is called web1. */
export function createFakeHostNames(): FakeHostNames {
  let now: HostNameState = { current: "web1", permanent: "web1", pretty: "" };
  const answer = async <T>(value: () => T): Promise<T> => {
    await Promise.resolve();
    if (!fake.available) throw new HostSettingsUnavailable("systemd-hostnamed", "systemd-hostnamed: no answer");
    return value();
  };
  const become = (changes: Partial<HostNameState>): void => {
    now = { ...now, ...changes };
  };
  const fake: FakeHostNames = {
    available: true,
    become,
    state: () => answer(() => now),
    set: ({ hostname, pretty }) =>
      answer(() => {
        if (hostname !== undefined) become({ current: hostname, permanent: hostname });
        if (pretty !== undefined) become({ pretty });
      }),
  };
  return fake;
}
