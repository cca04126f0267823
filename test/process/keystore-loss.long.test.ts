import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { runSteward } from "./support/program.ts";
import { launchService, readAdminKey, startService } from "./support/service.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const statusOf = async (url: string, key: string): Promise<number> =>
  (await fetch(`${url}/api/v1/auth/whoami`, { headers: { "X-API-Key": key } })).status;

/** A state directory of a service that has run, made a key and ended. */
let former: string;
/** A store as the very first times of a service leave it. */
let noKeys: string;
beforeAll(async () => {
  const service = await startService(workspace);
  former = service.stateDir;
  await createClient({ url: service.url, key: service.adminKey }).createKey({ body: { name: "other", scopes: [] } });
  service.kill("SIGKILL");
  await service.exit;
  noKeys = workspace.path("no-keys.db");
  copyFileSync(join(former, "keys.db"), noKeys);
  if (existsSync(join(former, "keys.db-wal"))) copyFileSync(join(former, "keys.db-wal"), `${noKeys}-wal`);
  const database = new DatabaseSync(noKeys);
  database.exec("DELETE FROM tokens; DELETE FROM keys; PRAGMA journal_mode = DELETE");
  database.close();
});

const store = (directory: string): string => join(directory, "keys.db");
const removeStore = (directory: string): void => {
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${store(directory)}${ending}`, { force: true });
};

/** How a store is lost, and whether that shows without opening it. */
const losses: readonly [string, (directory: string) => void, boolean][] = [
  ["missing", removeStore, true],
  ["cut to nothing beside its log", (directory) => truncateSync(store(directory)), true],
  [
    "missing, with nothing left but the admin key",
    (directory) => {
      for (const name of readdirSync(directory))
        if (name !== "admin.key") rmSync(join(directory, name), { recursive: true });
    },
    true,
  ],
  [
    "a store that never had a key",
    (directory) => {
      removeStore(directory);
      copyFileSync(noKeys, store(directory));
    },
    false,
  ],
  [
    "no database",
    (directory) => {
      removeStore(directory);
      writeFileSync(store(directory), "no database".repeat(1000), { mode: 0o600 });
    },
    false,
  ],
  [
    "cut off",
    (directory) => {
      const database = new DatabaseSync(store(directory));
      database.exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
      database.close();
      truncateSync(store(directory), statSync(store(directory)).size - 4096);
    },
    false,
  ],
];

let round = 0;
/** A copy of the former state directory, spoiled. */
function lose(spoil: (directory: string) => void): string {
  round += 1;
  const directory = workspace.path(`lost-${round}`);
  cpSync(former, directory, { recursive: true });
  chmodSync(directory, 0o700);
  spoil(directory);
  return directory;
}

/** All files of the directory with their sizes, without those of the audit log, which notes each start. */
const listing = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(directory, name)).isFile() && !/^audit|-shm$/.test(name))
    .map((name) => `${name} ${statSync(join(directory, name)).size}`)
    .sort();

describe.each(losses)("a key store that is %s", (_, spoil, showsUnopened) => {
  it("is refused with what to do, and replaced only when asked for", async () => {
    const stateDir = lose(spoil);
    const before = listing(stateDir);
    const refused = launchService(workspace, { stateDir });
    const { code: exitCode } = await refused.exit;
    expect({ exitCode, stderr: refused.stderr() }).toMatchObject({ exitCode: 78 });
    expect(refused.stderr()).toMatch(
      /^steward: cannot open the key store .*keys\.db: it .*\(restore it from a backup, or .* steward serve --new-admin-key\)\n$/,
    );
    if (showsUnopened) expect(listing(stateDir)).toEqual(before);

    if (showsUnopened) {
      const environment = { STEWARD_STATE_DIR: stateDir, STEWARD_LISTEN: "127.0.0.1:1" };
      expect(await runSteward(workspace, ["config", "check"], environment)).toMatchObject({
        ...{ code: 1, stdout: expect.stringContaining("keys.db") },
      });
      const { stderr } = await runSteward(workspace, ["doctor", "--check", "load_average"], environment);
      expect(stderr).toMatch(/^steward: the service cannot start: .*keys\.db: it /m);
    }

    const again = await startService(workspace, { stateDir, arguments: ["--new-admin-key"] });
    expect(await statusOf(again.url, again.adminKey)).toBe(200);
    expect(await statusOf(again.url, readAdminKey(former))).toBe(401);
    expect(again.lines()).toContainEqual(
      expect.objectContaining({ msg: "key store replaced: all earlier keys are invalid" }),
    );
    const client = createClient({ url: again.url, key: again.adminKey });
    const { entries } = await client.listAudit({ query: { operation: "keystore.replaced" } });
    expect(entries).toMatchObject([{ target: { reason: expect.stringMatching(/^it /) } }]);
    again.kill("SIGKILL");
    await again.exit;
  });
});

describe("a key store that is replaced", () => {
  it("is kept beside the new one with its log, and is never one in use or of a later version", async () => {
    const stateDir = lose((directory) => truncateSync(store(directory)));
    const log = readFileSync(join(stateDir, "keys.db-wal"));
    const service = await startService(workspace, { stateDir, arguments: ["--new-admin-key"] });
    const kept = readdirSync(stateDir).filter((name) => /^keys\.db\.lost-\d{8}T\d{6}Z(-wal)?$/.test(name));
    expect(kept.sort()).toHaveLength(2);
    expect(readFileSync(join(stateDir, kept[1] ?? "")).equals(log)).toBe(true);
    const second = launchService(workspace, { stateDir, arguments: ["--new-admin-key"] });
    expect(await second.exit).toEqual({ code: 2, signal: null });
    expect(await statusOf(service.url, service.adminKey)).toBe(200);
    service.kill("SIGKILL");
    await service.exit;
    const database = new DatabaseSync(store(stateDir));
    database.exec("PRAGMA user_version = 99");
    database.close();
    const third = launchService(workspace, { stateDir, arguments: ["--new-admin-key"] });
    expect(await third.exit).toEqual({ code: 2, signal: null });
    expect(readdirSync(stateDir).filter((name) => name.includes("lost"))).toHaveLength(2);
  });
});
