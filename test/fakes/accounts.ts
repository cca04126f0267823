import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import type { Account, AccountList, Accounts } from "#domain/ports/accounts.ts";

export const fakeAccount = (name: string, uid: number, given: Partial<Account> = {}): Account => ({
  name,
  uid,
  gid: uid,
  comment: "",
  home: `/home/${name}`,
  shell: "/bin/bash",
  groups: [name],
  password: "locked",
  expiresAt: null,
  keys: [],
  keysAre: "all",
  ...given,
});

export interface FakeAccounts extends Accounts {
  available: boolean;
  found: AccountList;
}

/** A host with root, a user and an account of a program. */
export function createFakeAccounts(): FakeAccounts {
  const fake: FakeAccounts = {
    available: true,
    found: {
      accounts: [
        fakeAccount("root", 0, { home: "/root", password: "set" }),
        fakeAccount("daemon", 1, { shell: "/usr/sbin/nologin" }),
        fakeAccount("eve", 1000, { groups: ["eve", "sudo"] }),
      ],
      notShown: [],
    },
    async list() {
      await Promise.resolve();
      if (!fake.available) throw new HostUnavailable("cannot list users", { missing: "getent", retryable: true });
      return fake.found;
    },
  };
  return fake;
}
