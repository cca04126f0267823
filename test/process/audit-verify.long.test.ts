import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openAuditLog } from "#adapters/audit/index.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { runProgram } from "./support/program.ts";
import { launchService, logged, mainFile, writeSettings } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

interface Head {
  readonly seq: number;
  readonly hash: string;
}

/** Makes a log, which tells of its end whenever it is asked. */
function makeLog(stateDir: string, limits = { maxBytes: 1_000_000, keepFiles: 10 }) {
  mkdirSync(stateDir, { recursive: true });
  const clock = createFakeClock();
  const log = openAuditLog({
    stateDir,
    clock,
    limits,
    onTrouble(error) {
      throw error;
    },
    onRepaired: (faults) => expect(faults).toEqual([]),
    onRotated: () => undefined,
  });
  return {
    folder: log.folder,
    write(count: number, name: string): Head {
      for (let at = 0; at < count; at += 1)
        log.record(auditEvent("restartService", clock.now(), { target: { name: `${name}-${at}` } }));
      const { seq, hash } = log.head();
      return { seq, hash };
    },
    close: () => log.dispose(),
  };
}

const headLine = ({ seq, hash }: Head, folder: string): string =>
  JSON.stringify({ level: "info", time: "2026-01-01T00:00:00.000Z", seq, hash, folder, msg: "audit checkpoint" });

const byService = (message: string) => ({ message, unit: "steward.service", priority: 6 });

function verify(stateDir: string, journal: string, ...argv: readonly string[]) {
  const settings = writeSettings(workspace, `journal: { dir: "${journal}" }\n`);
  return runProgram(workspace, [process.execPath, mainFile, "audit", "verify", ...argv], {
    environment: { STEWARD_STATE_DIR: stateDir, STEWARD_CONFIG: settings },
  });
}

const newPlace = (name: string) => {
  const journal = workspace.path(`${name}-journal`);
  mkdirSync(journal);
  return { stateDir: workspace.path(name), journal, file: join(journal, "system.journal") };
};

describe.runIf(canMakeJournals())("steward audit verify, with what the journal knows", () => {
  it("is not kept from an old head by any number of newer ones", async () => {
    const { stateDir, journal, file } = newPlace("flooded");
    const genuine = makeLog(workspace.path("genuine")).write(5, "done");
    const forged = makeLog(stateDir);
    const { folder } = forged;
    writeLog(file, [byService(headLine(genuine, folder))]);
    // What whoever runs code as the service can do: another log with fitting hashes, and lines that say it was this one.
    const end = forged.write(9, "never");
    writeLog(
      file,
      Array.from({ length: 10_000 }, () => byService(headLine(end, folder))),
    );
    expect(await verify(stateDir, journal)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/entry 5 is not the one that the journal \(.*\) knows: the log was written anew/),
    });
  });

  it("is not kept from heads by lines that are too long for one answer", async () => {
    const { stateDir, journal, file } = newPlace("long");
    const log = makeLog(stateDir);
    const head = log.write(3, "done");
    writeLog(file, [byService(headLine(head, log.folder))]);
    for (let at = 0; at < 14; at += 1)
      writeLog(
        file,
        Array.from({ length: 5 }, () => byService(`{"msg":"audit checkpoint"}${`${at}`.repeat(1_000_000)}`)),
      );
    expect(await verify(stateDir, journal)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^whole: entries 1 to 3 in 1 file, and 1 written down elsewhere are among them\n/),
    });
    // Nothing that is missing is passed over for them.
    writeLog(file, [byService(headLine({ ...head, seq: 4 }, log.folder))]);
    expect(await verify(stateDir, journal)).toMatchObject({ code: 1 });
  });

  it("does not believe a journal that knows two entries of one number, of which the log has none any more", async () => {
    const { stateDir, journal, file } = newPlace("pruned");
    const log = makeLog(stateDir, { maxBytes: 1000, keepFiles: 2 });
    const first = log.write(1, "first");
    const last = log.write(20, "later");
    log.close();
    expect(readdirSync(log.folder)).not.toContain("audit-000000000001.log");
    writeLog(
      file,
      [first, last].map((head) => byService(headLine(head, log.folder))),
    );
    expect(await verify(stateDir, journal)).toMatchObject({ code: 0 });
    writeLog(file, [byService(headLine({ seq: 1, hash: "0".repeat(64) }, log.folder))]);
    expect(await verify(stateDir, journal)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/know different entries 1: the log was written anew\n0 entries before it/),
    });
  });

  it("does not call whole what it could not compare", async () => {
    const { stateDir } = newPlace("loop");
    makeLog(stateDir).write(2, "done");
    const journal = workspace.path("endless");
    symlinkSync(journal, journal);
    expect(await verify(stateDir, journal)).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^not verified: not all heads in the journal could be read: .*ELOOP/),
    });
    const report = await verify(stateDir, journal, "--json");
    expect([report.code, JSON.parse(report.stdout)]).toMatchObject([
      2,
      { whole: false, notCompared: expect.any(String), entries: 2 },
    ]);
    expect(await verify(stateDir, journal, "--no-journal")).toMatchObject({ code: 0 });
  });
});

it("a service that logs warnings alone logs the heads of its audit log all the same", async () => {
  const settings = "updates: { enabled: false }\nconnectors: { discover: false }\nlog: { level: warn }\n";
  const service = launchService(workspace, { settings });
  const { seq } = await logged(service, "audit checkpoint");
  expect(seq).toBe(1);
  await until("the first key", () => (readdirSync(service.stateDir).includes("admin.key") ? true : undefined));
  service.kill("SIGTERM");
  await service.exit;
  expect(
    service
      .lines()
      .filter(({ level }) => level === "info")
      .map(({ msg }) => msg),
  ).toEqual(["audit checkpoint", "audit checkpoint"]);
});
