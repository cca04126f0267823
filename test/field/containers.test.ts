import { expect, it } from "vitest";
import { judgeContainers } from "#domain/health/checks/containers.ts";
import { type Container, readContainers } from "#domain/health/container-engines.ts";
import type { GetBySocket } from "#domain/ports/host-files.ts";
import { isRecord, isString, type JsonObject, recordsIn } from "#kernel/values.ts";
import { describeCases, uncovered } from "./cases.ts";

const { signal } = new AbortController();

/** What each answer says, and the check; `exitCode` is null while a container runs. */
const inspected: Readonly<Record<string, readonly [expected: object, status: string]>> = {
  "docker-inspect-health.json": [
    { state: "running", isUnhealthy: true, inspected: { restarts: 0, restartPolicy: "" } },
    "fail",
  ],
  "docker-inspect-net_consumer.json": [
    { isUnhealthy: false, inspected: { exitCode: null, restarts: 0, isOomKilled: false, restartPolicy: "" } },
    "pass",
  ],
  // Says neither how often it was restarted nor its policy.
  "docker-inspect-old-0.json": [{ inspected: { exitCode: 0, restarts: null, restartPolicy: "" } }, "pass"],
  "docker-inspect-running.json": [
    {
      inspected: {
        exitCode: null,
        restarts: 0,
        restartPolicy: "always",
        startedAt: Date.parse("2019-04-13T22:38:24.498Z"),
      },
    },
    "pass",
  ],
  "docker-inspect-stopped.json": [
    { state: "exited", inspected: { exitCode: 1, restarts: 0, restartPolicy: "no" } },
    "pass",
  ],
  "insights-inspect_1.json": [
    { name: "eager_bell", inspected: { exitCode: null, restarts: 0, isOomKilled: false, finishedAt: null } },
    "pass",
  ],
  "insights-inspect_3.json": [{ inspected: { exitCode: null, restarts: 0, restartPolicy: "no" } }, "pass"],
};

const lists: Readonly<Record<string, readonly (readonly [name: string, state: string])[]>> = {
  "docker-list.json": [
    ["watchtower-stopped", "exited"],
    ["watchtower-running", "running"],
    ["portainer", "running"],
    ["portainer", "restarting"],
  ],
  "docker-list-telegraf.json": ["etcd", "etcd2", "acme", "acme-test", "foo"].map((name) => [name, "running"] as const),
};

const program = "the API of the engine is asked, not its program";
const unread = {
  "crictl-ps-states.txt": "containers of Kubernetes are the kubelet's business",
  "docker-config-v1.json": "a file of the engine's own: it is asked by its API",
  "docker-info.json": "its counts are those of the list",
  "docker-ps-text.txt": program,
};

describeCases("containers", ({ text, files }) => {
  /** Asks an engine that gives these answers. */
  function read(lines: readonly unknown[], answers: ReadonlyMap<string, unknown>): Promise<readonly Container[]> {
    const getBySocket: GetBySocket = (_, url) => {
      const [path = "", query = ""] = url.split("?");
      const list = query.startsWith("filters=") ? [] : lines;
      return Promise.resolve(path === "/containers/json" ? list : answers.get(path));
    };
    return readContainers({ getBySocket }, [{ engine: "podman", socket: "podman/podman.sock" }], signal);
  }
  const judge = (containers: readonly Container[]) =>
    judgeContainers(containers, [{ engine: "docker" }], { ignore: [] }, Date.parse("2026-01-01T00:00:00Z"));

  /** The programs print a list of one, the API the one alone. */
  const answerIn = (file: string): JsonObject => {
    const value: unknown = JSON.parse(text(file));
    const one: unknown = Array.isArray(value) ? value[0] : value;
    if (!isRecord(one)) throw new Error("it is no object");
    return one;
  };

  it("every file is read below or has a reason why not", () => {
    const read = [...Object.keys(inspected), ...Object.keys(lists)];
    expect(uncovered(files(), { read, unread })).toEqual([]);
  });

  it.each(Object.entries(inspected))("%s: state, exit code, restarts and policy", async (file, [expected, status]) => {
    const answer = answerIn(file);
    const { Name: name, State: state } = answer;
    const id = String(answer["Id"] ?? answer["ID"]);
    const word = isRecord(state) && isString(state["Status"]) ? state["Status"] : "exited";
    const lines = [{ Id: id, Names: isString(name) ? [name] : [], State: word, Status: "" }];
    const answers = new Map([[`/containers/${id}/json`, answer]]);
    const found = await read(lines, answers);
    expect(found).toMatchObject([expected]);
    expect(judge(found).status).toBe(status);
  });

  it.each(Object.entries(lists))("%s: names without a slash, and states", async (file, expected) => {
    const lines = recordsIn(JSON.parse(text(file)));
    const found = await read(lines, new Map());
    expect(found.map(({ name, state }) => [name, state])).toEqual(expected);
  });

  it("docker-list: a container that is restarted over and over is a fault, a stopped one is not", async () => {
    const lines = recordsIn(JSON.parse(text("docker-list.json")));
    const found = await read(lines, new Map());
    expect(judge(found)).toMatchObject({
      status: "fail",
      message: "container portainer ends and is restarted over and over (podman logs portainer)",
    });
  });
});
