import { expect, it } from "vitest";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { Container, ContainerState } from "../container-engines.ts";
import { containersCheck, judgeContainers } from "./containers.ts";

const { signal } = new AbortController();

/** A container that ended well an hour after the start of 2026, and that is not to run again. */
const fakeContainerState = (given: Partial<ContainerState> = {}): ContainerState => ({
  exitCode: 0,
  isOomKilled: false,
  error: "",
  startedAt: Date.UTC(2026, 0, 1),
  finishedAt: Date.UTC(2026, 0, 1, 1),
  restarts: 0,
  restartPolicy: "no",
  mostRestarts: 0,
  ...given,
});

/** A container that has been running for long. */
const fakeContainer = (given: Partial<Container> = {}): Container => ({
  engine: "docker",
  name: "web",
  state: "running",
  isUnhealthy: false,
  ...given,
});

const now = Date.UTC(2026, 0, 1, 1, 5);
const run = (containers: readonly Container[], ignore: readonly string[] = []) =>
  judgeContainers(containers, [{ engine: "docker" }], { ignore }, now);
const ended = (given: Partial<ContainerState>): Container =>
  fakeContainer({ state: "exited", inspected: fakeContainerState(given) });

it("containers passes while all run, and skips without an engine", async () => {
  const job = ended({});
  expect(run([fakeContainer(), { ...job, name: "job" }])).toEqual({
    status: "pass",
    message: "1 container of 2 running, none in trouble",
    details: { engines: ["docker"], total: 2, running: 1, containers: [] },
  });
  const checkOn = (files: Readonly<Record<string, string>>) =>
    containersCheck({
      hostFiles: createFakeHostFiles({ "/proc/net/unix": "", ...files }),
      getBySocket: () => Promise.resolve([]),
      clock: { now: () => now },
    });
  const skipped = { status: "skip", message: expect.stringContaining("podman.socket") };
  expect(await checkOn({}).absent?.()).toMatchObject(skipped);
  const both = checkOn({
    "/run/docker.sock": "=socket",
    "/run/docker.pid": "1",
    "/run/podman/podman.sock": "=socket",
  });
  expect(await both.absent?.()).toBeUndefined();
  expect(await both.run({ ignore: [] }, signal)).toEqual({
    status: "pass",
    message: "0 containers of 0 running, none in trouble",
    details: { engines: ["docker", "podman"], total: 0, running: 0, containers: [] },
  });
});

it("containers names what an engine says nothing of", () => {
  expect(run([fakeContainer(), fakeContainer({ name: "broken", unread: "it answers 500" })])).toMatchObject({
    status: "pass",
    message: "2 containers of 2 running, none in trouble, not read: broken (it answers 500)",
    details: { unread: [{ name: "broken", reason: "it answers 500" }] },
  });
});

it.each<[string, Container, object]>([
  [
    "is restarted over and over",
    fakeContainer({ state: "restarting", inspected: fakeContainerState({ exitCode: 1, restarts: 7 }) }),
    {
      status: "fail",
      message: "container web ends and is restarted over and over (exit code 1; docker logs web)",
      details: { containers: [{ name: "web", state: "restarting", exit_code: 1, restarts: 7 }] },
    },
  ],
  [
    "is unhealthy",
    fakeContainer({ isUnhealthy: true, engine: "podman" }),
    { status: "fail", message: "container web is unhealthy by its own health check (podman inspect web)" },
  ],
  ["is dead", fakeContainer({ state: "dead" }), { status: "fail" }],
  [
    "has ended with an error though it should run",
    ended({ exitCode: 2, restartPolicy: "on-failure", mostRestarts: 3, restarts: 3 }),
    {
      status: "fail",
      message: "container web ended with exit code 2, and is given up after 3 restarts (docker logs web)",
    },
  ],
  [
    "was stopped by somebody and ended with an error code, since the engine starts again what ends by itself",
    ended({ exitCode: 2, restartPolicy: "always" }),
    { status: "pass" },
  ],
  [
    "was stopped by somebody before its restarts were used up",
    ended({ exitCode: 1, restartPolicy: "on-failure", mostRestarts: 3, restarts: 1 }),
    { status: "pass" },
  ],
  [
    "cannot be started",
    fakeContainer({
      state: "created",
      inspected: fakeContainerState({ exitCode: 128, restartPolicy: "always", error: "port is already allocated" }),
    }),
    { status: "fail", message: "container web cannot be started: port is already allocated" },
  ],
  [
    "was killed for its memory and should run",
    ended({ exitCode: 137, isOomKilled: true, restartPolicy: "always" }),
    { status: "fail", message: "container web was killed by the OOM killer (raise its memory limit)" },
  ],
  ["was killed for its memory today", ended({ exitCode: 137, isOomKilled: true }), { status: "warn" }],
  [
    "was killed for its memory long ago",
    ended({ exitCode: 137, isOomKilled: true, finishedAt: now - 25 * 3_600_000 }),
    { status: "pass" },
  ],
  [
    "was just restarted, for the third time",
    fakeContainer({ inspected: fakeContainerState({ restarts: 3, startedAt: now - 5000 }) }),
    { status: "warn", message: "container web was restarted 3 times, the last time just now (docker logs web)" },
  ],
  [
    "was restarted long ago",
    fakeContainer({ inspected: fakeContainerState({ restarts: 3, startedAt: now - 700_000 }) }),
    { status: "pass" },
  ],
  ["was stopped by somebody", ended({ exitCode: 143, restartPolicy: "unless-stopped" }), { status: "pass" }],
  ["had to be killed by who stopped it", ended({ exitCode: 137, restartPolicy: "always" }), { status: "pass" }],
  ["ended with an error, and was to run once", ended({ exitCode: 2 }), { status: "pass" }],
])("containers grades a container that %s", (_, container, expected) => {
  expect(run([container])).toMatchObject(expected);
  expect(run([container], ["w*"])).toMatchObject({ status: "pass" });
});
