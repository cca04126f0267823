import type { Found, LoginSession, Logins, PastLogin } from "#domain/ports/accounts.ts";

export interface FakeLogins extends Logins {
  now: Found<LoginSession>;
  past: Found<PastLogin>;
}

/** A host at which nobody is signed in, nor ever was. */
export function createFakeLogins(): FakeLogins {
  const fake: FakeLogins = {
    now: [],
    past: [],
    sessions: () => Promise.resolve(fake.now),
    recent: (limit) => Promise.resolve("reason" in fake.past ? fake.past : fake.past.slice(0, limit)),
  };
  return fake;
}
