import { HostSettingsUnavailable, type TimeSettings, type TimeState } from "#domain/ports/host-settings.ts";

export interface FakeTimeSettings extends TimeSettings {
  /** Whether timedated answers. */
  available: boolean;
  readonly become: (changes: Partial<TimeState>) => void;
}

/** A host in UTC whose time service sets the clock. */
export function createFakeTimeSettings(given: Partial<TimeState> = {}): FakeTimeSettings {
  let now: TimeState = {
    ...{ timezone: "Etc/UTC", canSync: true, isSyncEnabled: true, isSynchronised: true, isRtcLocal: false },
    ...given,
  };
  const answer = async <T>(value: () => T): Promise<T> => {
    await Promise.resolve();
    if (!fake.available) throw new HostSettingsUnavailable("systemd-timedated", "systemd-timedated: no answer");
    return value();
  };
  const become = (changes: Partial<TimeState>): void => {
    now = { ...now, ...changes };
  };
  const fake: FakeTimeSettings = {
    available: true,
    become,
    state: () => answer(() => now),
    timezones: () => answer(() => ["Europe/Berlin", "Etc/UTC"]),
    set: ({ timezone, ntp }) =>
      answer(() => {
        if (timezone !== undefined) become({ timezone });
        if (ntp !== undefined) become({ isSyncEnabled: ntp });
      }),
  };
  return fake;
}
