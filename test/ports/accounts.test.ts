import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createAccounts } from "#adapters/accounts/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { createFakeAccounts, fakeAccount } from "../fakes/accounts.ts";

const { signal } = new AbortController();
const homes = mkdtempSync(join(tmpdir(), "steward-homes-"));
afterAll(() => rmSync(homes, { recursive: true }));

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
mkdirSync(join(homes, "eve/.ssh"), { recursive: true });
writeFileSync(join(homes, "eve/.ssh/authorized_keys"), `# mine\n${key} eve@laptop\nno key\n`);
mkdirSync(join(homes, "mal/.ssh"), { recursive: true });
symlinkSync(join(homes, "eve/.ssh/authorized_keys"), join(homes, "mal/.ssh/authorized_keys"));

/** What getent of glibc prints. */
function getent(isThere = true): Exec {
  const texts: Readonly<Record<string, string>> = {
    passwd: `root:x:0:0:root:/root-that-is-not:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\neve:x:1000:1000:Eve,,,:${homes}/eve:\nmal:x:1001:1000::${homes}/mal:/bin/sh\n`,
    group: "root:x:0:\nsudo:x:27:eve,mal\neve:x:1000:\n",
    shadow: "root:$y$j9T$secret:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\neve:!:19000:0:99999:7::20000:\n",
  };
  return ([, database = ""]) =>
    Promise.resolve({ exitCode: isThere ? 0 : 1, stdout: texts[database] ?? "", stderr: "broken", truncated: false });
}

describe.each([
  ["fake", createFakeAccounts, () => Object.assign(createFakeAccounts(), { available: false })],
  ["getent", () => createAccounts({ exec: getent() }), () => createAccounts({ exec: getent(false) })],
])("accounts: %s", (_, make, makeSilent) => {
  it("are listed in the order of their numbers", async () => {
    const { accounts } = await make().list(signal);
    expect(accounts.map(({ name }) => name).slice(0, 3)).toEqual(["root", "daemon", "eve"]);
    expect(accounts.map(({ password }) => password).slice(0, 3)).toEqual(["set", "locked", "locked"]);
    expect(accounts[2]?.groups).toEqual(["eve", "sudo"]);
  });

  it("are unavailable where nobody answers", async () => {
    await expect(makeSilent().list(signal)).rejects.toThrow(HostUnavailable);
  });
});

it("has of keys no more than their fingerprints, and none through a link", async () => {
  const { accounts } = await createAccounts({ exec: getent() }).list(signal);
  const [, , eve, mal] = accounts;
  expect(eve).toEqual(
    fakeAccount("eve", 1000, {
      ...{ comment: "Eve", home: `${homes}/eve`, shell: "", groups: ["eve", "sudo"] },
      expiresAt: 20_000 * 86_400_000,
      keys: [
        {
          type: "ssh-ed25519",
          bits: 256,
          fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
          comment: "eve@laptop",
          options: [],
        },
      ],
    }),
  );
  expect([mal?.keys, mal?.password]).toEqual([undefined, "unknown"]);
  expect(JSON.stringify(accounts)).not.toMatch(/AAAAC3|secret/);
});

it("tells of users also where some of them have very many keys", async () => {
  mkdirSync(join(homes, "many/.ssh"), { recursive: true });
  writeFileSync(join(homes, "many/.ssh/authorized_keys"), `${key}\n`.repeat(100));
  const line = (at: number): string => `u${at}:x:${at}:1000::${homes}/many:/bin/sh`;
  const passwd = Array.from({ length: 500 }, (_, at) => line(at)).join("\n");
  const exec: Exec = ([, database = ""]) =>
    Promise.resolve({ exitCode: 0, stdout: database === "passwd" ? passwd : "", stderr: "", truncated: false });
  const { accounts, notShown } = await createAccounts({ exec }).list(signal);
  expect(accounts).toHaveLength(500);
  expect(accounts.reduce((sum, { keys }) => sum + (keys?.length ?? 0), 0)).toBe(10_000);
  expect(accounts.at(-1)?.keys).toBeUndefined();
  expect(notShown).toEqual([{ what: "authorized_keys", reason: expect.stringContaining("too many") }]);
});
