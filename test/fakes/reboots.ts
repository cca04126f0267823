import { type RebootSchedule, type Reboots, RebootsUnavailable } from "#domain/ports/reboots.ts";

export interface FakeReboots extends Reboots {
  /** Whether logind answers. */
  available: boolean;
  /** Users who are logged in get this. */
  readonly messages: string[];
  readonly become: (changes: Partial<RebootSchedule>) => void;
}

/** A host on which nothing is scheduled, and which never reboots. */
export function createFakeReboots(given: Partial<RebootSchedule> = {}): FakeReboots {
  let now: RebootSchedule = { scheduledAt: null, kind: "", users: [], inhibitors: [], ...given };
  const answer = async <T>(value: () => T): Promise<T> => {
    await Promise.resolve();
    if (!fake.available) throw new RebootsUnavailable("logind does not answer");
    return value();
  };
  const become = (changes: Partial<RebootSchedule>): void => {
    now = { ...now, ...changes };
  };
  const fake: FakeReboots = {
    available: true,
    messages: [],
    become,
    state: () => answer(() => now),
    schedule: (at, { message }) =>
      answer(() => {
        fake.messages.push(message);
        become({ kind: "reboot", scheduledAt: at });
      }),
    cancel: () => answer(() => become({ kind: "", scheduledAt: null })),
  };
  return fake;
}
