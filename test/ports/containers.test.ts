import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createHostFiles, getBySocket } from "#adapters/host-files/index.ts";
import { enginesOn, readContainers } from "#domain/health/container-engines.ts";
import { containerInspected, containerListed } from "../host/support/recorded.ts";
import { directoryWith } from "./support/directories.ts";

const { signal } = new AbortController();
const hostFiles = createHostFiles();
const read = async (runDir: string, files = hostFiles) =>
  readContainers({ getBySocket, runDir }, await enginesOn({ hostFiles: files, runDir }), signal);
const engines = async (runDir: string, files = hostFiles) =>
  (await enginesOn({ hostFiles: files, runDir })).map(({ engine }) => engine);
const dir = directoryWith();
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

const ids = { web: "a".repeat(64), crashed: "b".repeat(64), gone: "c".repeat(64) };
const listed = [
  containerListed({ Id: ids.web, Names: ["/web"], State: "running", Status: "Up 2 hours (unhealthy)" }),
  containerListed({ Id: ids.crashed, Names: ["/crashed"], State: "exited", Status: "Exited (137) 3 minutes ago" }),
  containerListed({ Id: ids.gone, Names: ["/gone"], State: "exited", Status: "Exited (0) 3 minutes ago" }),
  containerListed({ Id: "../../etc", Names: ["/hostile"], State: "exited" }),
];
const inspected = containerInspected({
  State: { ExitCode: 137, OOMKilled: true },
  RestartCount: 2,
  HostConfig: { RestartPolicy: { Name: "on-failure", MaximumRetryCount: 2 } },
});

/** Has an engine answer on a socket of its own. @returns the requests that it gets, and the directory. */
async function serve(
  name: string,
  socket: string,
  answer: (url: string) => { readonly status?: number; readonly body: string },
) {
  const runDir = join(dir, name);
  const path = join(runDir, socket);
  mkdirSync(dirname(path), { recursive: true });
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${decodeURIComponent(request.url ?? "")}`);
    const { status = 200, body } = answer(request.url ?? "");
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return { runDir, requests };
}

const likeDocker = (url: string) => {
  if (url.startsWith("/containers/json?all=1")) return { body: JSON.stringify(listed) };
  if (url.startsWith("/containers/json?filters=")) return { body: JSON.stringify(listed.slice(0, 1)) };
  if (url === `/containers/${ids.crashed}/json`) return { body: JSON.stringify(inspected) };
  return { status: 404, body: '{"message":"No such container"}' };
};

const docker = await serve("docker", "docker.sock", likeDocker);
writeFileSync(join(docker.runDir, "docker.pid"), "1");
const podman = await serve("podman", "podman/podman.sock", likeDocker);

const expected = (engine: "docker" | "podman") => [
  { engine, name: "web", state: "running", isUnhealthy: true },
  {
    ...{ engine, name: "crashed", state: "exited", isUnhealthy: false },
    inspected: {
      ...{ exitCode: 137, isOomKilled: true, error: "", restarts: 2, restartPolicy: "on-failure", mostRestarts: 2 },
      ...{ startedAt: Date.UTC(2026, 0, 1), finishedAt: Date.UTC(2026, 0, 1, 1) },
    },
  },
  { engine, name: "gone", state: "exited", isUnhealthy: false },
];

describe.each([
  ["docker", docker.runDir],
  ["podman", podman.runDir],
] as const)("containers of %s, by its socket", (engine, runDir) => {
  it("are those of the engine, with the state of all that do not simply run", async () => {
    expect(await engines(runDir)).toEqual([engine]);
    expect(await read(runDir)).toEqual(expected(engine));
  });
});

describe("containers by the API of an engine", () => {
  it("are asked for by reading alone, and only by ids that the engine may have", () => {
    expect(docker.requests).toEqual([
      "GET /containers/json?all=1",
      'GET /containers/json?filters={"health":["unhealthy"]}',
      `GET /containers/${ids.crashed}/json`,
      `GET /containers/${ids.gone}/json`,
    ]);
  });

  it("are none where there is no engine, and are not asked for where that would start Docker", async () => {
    const nothing = join(dir, "nothing");
    expect([await engines(nothing), await read(nothing)]).toEqual([[], []]);
    const { runDir, requests } = await serve("stopped", "docker.sock", likeDocker);
    // As where systemd, process 1, is who listens.
    const names = (path: string) => (path === "/proc" ? Promise.resolve(["1"]) : hostFiles.names(path));
    const files = { ...hostFiles, names };
    expect([await engines(runDir, files), await read(runDir, files)]).toEqual([[], []]);
    expect(requests).toEqual([]);
  });

  it("are read from whatever an engine says, or it is said that it cannot be asked", async () => {
    let [list, one] = ["[]", "{}"];
    const { runDir } = await serve("any", "podman/podman.sock", (url) => ({
      body: url.startsWith("/containers/json") ? list : one,
    }));
    const member = fc.oneof(fc.jsonValue(), fc.string());
    const line = fc.record({
      Id: fc.oneof(fc.constant(ids.web), member),
      Names: fc.oneof(fc.array(fc.string()), member),
      State: fc.oneof(fc.constantFrom("running", "exited"), member),
      Status: member,
    });
    const answers = fc.record({
      State: fc.oneof(fc.record({ ExitCode: member, OOMKilled: member, StartedAt: member }), member),
      HostConfig: fc.oneof(fc.record({ RestartPolicy: member }), member),
      RestartCount: member,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.array(line), fc.jsonValue()),
        fc.oneof(answers, fc.jsonValue()),
        async (all, each) => {
          list = JSON.stringify(all);
          one = JSON.stringify(each);
          for (const { name, state, inspected } of await read(runDir)) {
            expect([typeof name, typeof state]).toEqual(["string", "string"]);
            for (const value of [inspected?.exitCode ?? 0, inspected?.restarts ?? 0])
              expect(value).toBeTypeOf("number");
          }
        },
      ),
      { numRuns: 60 },
    );
    list = "no JSON";
    await expect(read(runDir)).rejects.toThrow("cannot ask podman: its answer is not JSON");
  });

  it("are unhealthy also by their own answers while they run, and known as far as an engine says and answers", async () => {
    const [starting, stopped, old, broken] = ["d", "e", "f", "9"].map((digit) => digit.repeat(64));
    const health = { Health: { Status: "Unhealthy", FailingStreak: 1 } };
    const answers: Readonly<Record<string, object>> = {
      [`/containers/${starting}/json`]: { State: { Status: "running", Running: true, ExitCode: 0, ...health } },
      [`/containers/${stopped}/json`]: { State: { Status: "exited", Running: false, ExitCode: 0, ...health } },
      [`/containers/${old}/json`]: { State: { Running: true, ExitCode: 0 } },
    };
    const names = { starting, stopped, old, broken };
    const { runDir } = await serve("partial", "podman/podman.sock", (url) => {
      if (url.startsWith("/containers/json?filters=")) return { body: "[]" };
      const lines = Object.entries(names).map(([name, Id]) =>
        containerListed({ Id, Names: [`/${name}`], State: name === "stopped" ? "exited" : "running", Status: "" }),
      );
      if (url.startsWith("/containers/json")) return { body: JSON.stringify(lines) };
      const answer = answers[url];
      return answer === undefined ? { status: 500, body: "{}" } : { body: JSON.stringify(answer) };
    });
    const found = await read(runDir);
    expect(found.map(({ name, isUnhealthy, unread }) => [name, isUnhealthy, unread])).toEqual([
      ["starting", true, undefined],
      ["stopped", false, undefined],
      ["old", false, undefined],
      ["broken", false, "it answers 500"],
    ]);
    expect(found[2]?.inspected).toMatchObject({ exitCode: null, restarts: null });
    expect(found[3]).not.toHaveProperty("inspected");
  });

  const large = " ".repeat(17 * 1024 * 1024);
  it.each<[string, { readonly status?: number; readonly body: string }, string]>([
    ["refuses", { status: 500, body: '{"message":"broken"}' }, "it answers 500"],
    ["does not speak JSON", { body: "<html>" }, "its answer is not JSON"],
    ["answers without end", { body: large }, "its answer is larger than 16 MiB"],
  ])("fail with what is wrong where an engine %s", async (name, answer, message) => {
    const { runDir } = await serve(name, "podman/podman.sock", () => answer);
    await expect(read(runDir)).rejects.toThrow(`cannot ask podman: ${message}`);
  });
});
