import { afterAll, beforeAll, expect, it } from "vitest";
import { type OperationName, operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { eventually } from "./support/eventually.ts";
import { writePlugin } from "./support/plugins.ts";
import { describeOnHost, type Session } from "./support/session.ts";
import { createSmallDisk, type SmallDisk } from "./support/small-disk.ts";

const stateDir = "/var/lib/steward";
const tasksDir = "/var/lib/steward-tasks";

/** What fills the parameters of paths, unless an operation has its own. Nothing that is there is removed or returned to. */
const params: Readonly<Record<string, string>> = {
  check_id: "time_sync",
  name: "told",
  snapshot_id: "20200101-000000",
  trace_id: `${"0".repeat(31)}1`,
  id: "nothing",
};
const ownParams: Readonly<Partial<Record<OperationName, Readonly<Record<string, string>>>>> = {
  restartService: { name: "cron" },
  startService: { name: "cron" },
  stopService: { name: "cron" },
  reloadService: { name: "cron" },
  enableService: { name: "cron" },
  disableService: { name: "cron" },
  maskService: { name: "cron" },
  unmaskService: { name: "cron" },
};
const bodies: Readonly<Partial<Record<OperationName, () => object>>> = {
  createKey: () => ({ name: "made", scopes: [] }),
  createToken: () => ({ scopes: [] }),
  silenceAlert: () => ({ alert: "DiskSpaceLow", until: new Date(Date.now() + 3_600_000).toISOString() }),
  chat: () => ({ messages: [{ role: "user", content: "Hello" }] }),
};

/** What would end the host is planned. */
const plannedOnly: Readonly<Partial<Record<OperationName, string>>> = { rebootHost: "?dry_run=true" };

interface Answer {
  readonly name: string;
  readonly status: number;
  readonly error?: { readonly code: string; readonly message: string; readonly details?: object };
}

async function ask({ service }: Session, name: OperationName, own: Readonly<Record<string, string>> = {}, query = "") {
  const { method, base, path }: Operation = operations[name];
  const known = { ...params, ...ownParams[name], ...own };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => known[param] ?? "nothing");
  const body = method === "POST" ? JSON.stringify(bodies[name]?.() ?? {}) : undefined;
  const reply = await fetch(`${service.url}${base === "root" ? "" : apiBase}${filled}${query}`, {
    method,
    headers: { "X-API-Key": service.adminKey, ...(body && { "Content-Type": "application/json" }) },
    ...(body && { body }),
  });
  const text = await reply.text();
  const error = reply.ok ? undefined : (JSON.parse(text) as { error: NonNullable<Answer["error"]> }).error;
  return { name, status: reply.status, ...(error && { error }) } satisfies Answer;
}

/**
 * Every operation once: those that outlive their request one after the other, since only one runs at a time, and so those that change
 * one service, where a later job would cancel an earlier one.
 */
async function askAll(session: Session): Promise<readonly Answer[]> {
  const all = Object.entries<Operation>(operations) as [OperationName, Operation][];
  const isAlone = ([name, { outlives }]: (typeof all)[number]): boolean => outlives === true || name in ownParams;
  const others = await Promise.all(
    all.filter((each) => !isAlone(each)).map(([name]) => ask(session, name, {}, plannedOnly[name])),
  );
  const answers = [...others];
  for (const [name] of all.filter(isAlone)) answers.push(await ask(session, name));
  return answers;
}

const expectNoInternalError = (answers: readonly Answer[]): void =>
  expect(answers.filter(({ status, error }) => status === 500 || error?.code === "INTERNAL_ERROR")).toEqual([]);

const withoutBus = {
  status: 503,
  error: {
    code: "UNAVAILABLE",
    message: expect.stringContaining("the system bus does not answer"),
    details: { missing: "systemd", retryable: true },
  },
};

describeOnHost("a host without the system bus", (session) => {
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const busAway = async <T>(work: () => Promise<T>): Promise<T> => {
    await systemctl("stop", "dbus.socket", "dbus.service");
    try {
      return await work();
    } finally {
      await systemctl("start", "dbus.socket");
      await eventually(() => session.api.listSnapshots(), 30_000);
    }
  };
  const needBus = ["listServices", "restartService", "startService", "stopService", "reloadService"] as const;

  beforeAll(() => writePlugin(session, "told", "#!/bin/sh\necho OK\n", ["description: is there"]));

  it("every operation that needs the bus reports it, and no answer is an internal error", async () => {
    const answers = await busAway(async () => {
      const { results: checks } = await session.api.listChecks();
      const plans = checks.map(({ check_id: id }) => ask(session, "fixCheck", { check_id: id }, "?dry_run=true"));
      return [...(await askAll(session)), ...(await Promise.all(plans))];
    });
    expectNoInternalError(answers);
    for (const name of needBus)
      expect(answers.find((each) => each.name === name)).toMatchObject({ name, ...withoutBus });
    // Root is reached without the bus.
    expect(answers).toContainEqual({ name: "createSnapshot", status: 201 });
    // What still went wrong while the bus came back may be asked for again.
    await eventually(async () => {
      expect(await ask(session, "createSnapshot")).toEqual({ name: "createSnapshot", status: 201 });
    });
  });
});

describeOnHost("a host whose disk is full", { fileSystem: "ext4" }, (session) => {
  const disks: SmallDisk[] = [];
  /** Puts a small disk in the place of a directory, with what is in it. */
  const replaceBySmallDisk = async (directory: string, megabytes: number): Promise<void> => {
    const disk = await createSmallDisk(session, megabytes);
    disks.push(disk);
    await session.shell(`cp -a ${directory} /root/kept`);
    await disk.mount(directory);
    await session.shell(
      `cp -a /root/kept/. ${directory}/ && chown --reference=/root/kept ${directory} && chmod --reference=/root/kept ${directory} && rm -rf /root/kept`,
    );
  };
  const fill = (directory: string): Promise<string> =>
    session.shell(`dd if=/dev/zero of=${directory}/fill bs=4k 2>/dev/null; sync; df ${directory} | tail -1`);

  beforeAll(async () => {
    await writePlugin(session, "told", "#!/bin/sh\necho OK\n", ["description: is there"]);
    await session.service.stop();
    await replaceBySmallDisk(stateDir, 24);
    await replaceBySmallDisk(tasksDir, 24);
    await session.service.restart();
  });
  afterAll(() => {
    for (const disk of disks) disk.dispose();
  });
  const fullDisk = (directory: string) => ({
    status: 503,
    error: {
      code: "UNAVAILABLE",
      message: expect.stringContaining(`no space left on ${directory}`),
      details: { missing: "disk space", directory: expect.stringContaining(directory), retryable: true },
    },
  });

  it("refuses changes as unavailable, names the directory, keeps nothing of them, and takes them later", async () => {
    await fill(stateDir);
    let made = 0;
    const refused = await eventually(async () => {
      const answer = await ask(session, "createKey");
      if (answer.status === 201) made += 1;
      expect(answer.status).not.toBe(201);
      return answer;
    });
    expect(refused).toMatchObject(fullDisk(stateDir));
    for (const name of ["createSnapshot", "enablePlugin"] as const)
      expect(await ask(session, name)).toMatchObject({ name, ...fullDisk(stateDir) });
    const answers = await askAll(session);
    expectNoInternalError(answers);
    const keysMade = async () => (await session.api.listKeys()).keys.filter(({ name }) => name === "made").length;
    expect(await keysMade()).toBe(made);
    await session.shell(`rm ${stateDir}/fill`);
    expect(await ask(session, "createKey")).toMatchObject({ status: 201 });
    expect(await keysMade()).toBe(made + 1);
    expect(await ask(session, "createSnapshot")).toEqual({ name: "createSnapshot", status: 201 });
    const { entries } = await session.api.listAudit({ query: { operation: "createKey", outcome: "failed" } });
    expect(entries).toContainEqual(expect.objectContaining({ status: 503, error: "UNAVAILABLE" }));
  });

  it("reports a full disk of the privileged side in the result of the operation", async () => {
    await fill(tasksDir);
    expect(await ask(session, "createSnapshot")).toMatchObject(fullDisk(tasksDir));
    await session.shell(`rm ${tasksDir}/fill`);
    expect(await ask(session, "createSnapshot")).toEqual({ name: "createSnapshot", status: 201 });
  });
});
