import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { errorStatus } from "#contract/errors.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import type { RunningService } from "../process/support/service.ts";
import { startService } from "../process/support/service.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { openStream } from "../process/support/ws-client.ts";
import { partOf, triesAll } from "../support/breadth.ts";
import { attack, sendTo } from "./support/attack.ts";
import { leastBodies, places } from "./support/hostile-requests.ts";
import { addressTexts, hostileTexts } from "./support/hostile-texts.ts";

const trace = "stw-trace";
const workspace = createWorkspace();
const sentinel = workspace.path("owned");
const texts = hostileTexts(sentinel, trace);
const ofKind = (kind: "shell" | "option") => texts.filter((each) => each.kind === kind);

let service: RunningService;

/** The example of a name in the table, so that text reaches a process. */
const pluginName = "certificates";
function makePlugin(): string {
  // Plugins run as nobody, who must be able to get there, and may leave traces where everybody may.
  chmodSync(workspace.path(), 0o1777);
  const directory = workspace.path("plugins", pluginName);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  writeFileSync(`${directory}/plugin.yaml`, `name: ${pluginName}\ntype: command\nversion: "1"\nexec: run\n`, {
    mode: 0o644,
  });
  writeFileSync(`${directory}/run`, '#!/bin/sh\nprintf "<%s>" "$@"\ncat\n', { mode: 0o755 });
  return workspace.path("plugins");
}

beforeAll(async () => {
  // Packages may be inspected, not changed: this is the machine that the tests run on.
  const settings = `updates: { enabled: false }\nconnectors: { discover: false }\nplugins: { dirs: [${makePlugin()}] }\n`;
  service = await startService(workspace, { checks: true, settings, environment: { STEWARD_RATE_LIMITS: "off" } });
  const client = createClient({ url: service.url, key: service.adminKey });
  expect(await client.enablePlugin({ params: { name: pluginName }, body: {} })).toMatchObject({ fault: null });
});
afterAll(workspace.dispose);

/** Where a command begins: the directory of the service, `/`, and those for what is temporary. */
const prefixes = () => [workspace.path(), "/", "/tmp", "/var/tmp", "/dev/shm", service.stateDir];

afterEach(async () => {
  expect(prefixes().filter((directory) => existsSync(join(directory, trace)))).toEqual([]);
  expect(existsSync(sentinel)).toBe(false);
  expect(readdirSync(workspace.path()).filter((name) => /[^\w.-]/.test(name))).toEqual([]);
  expect((await fetch(`${service.url}/livez`)).status).toBe(200);
  expect(service.stderr()).not.toMatch(/Warning|Error/);
});

const target = () => ({ url: service.url, key: service.adminKey });

describe("the places that hostile text is put into", () => {
  it("are in every operation that has an input", () => {
    const withInput = Object.entries<Operation>(operations).filter(
      ([, { params, query, body }]) => params !== undefined || query !== undefined || body !== undefined,
    );
    const covered = new Set(places.map(({ operation }) => operation));
    expect(withInput.map(([name]) => name).filter((name) => !covered.has(name))).toEqual([]);
    const names = places.map(({ operation, name }) => `${operation} ${name}`);
    for (const known of ["listLogs query.unit", "listLogs query.grep", "applyUpdates body.packages.0"])
      expect(names).toContain(known);
    expect(names).toContain("chat body.messages.0.content");
    expect(names).toContain("runPlugin body.args.0");
  });

  it("have valid values around them, so that what is refused is the hostile text", async () => {
    for (const [operation, body] of Object.entries(leastBodies)) {
      const place = places.find((each) => each.operation === operation && each.name === "query.dry_run");
      const request = place?.request("true");
      expect(request?.body).toBe(JSON.stringify(body));
      if (request === undefined) continue;
      expect([operation, (await sendTo(target(), request)).status]).not.toEqual([
        operation,
        errorStatus.VALIDATION_ERROR,
      ]);
    }
  });
});

describe("hostile text in every input of every operation", () => {
  it("runs nothing and breaks nothing where it has metacharacters of a shell, and is refused wherever a name or a number is wanted [shell-injection]", async () => {
    const { faults, statuses } = await attack(target(), places, ofKind("shell"));
    expect(faults).toEqual([]);
    expect(statuses.get(errorStatus.VALIDATION_ERROR)).toBeGreaterThan(triesAll ? 1_500 : 500);
  });

  it("is an option of no program where it begins with a dash [option-injection]", async () => {
    const { faults, statuses } = await attack(target(), places, ofKind("option"));
    expect(faults).toEqual([]);
    expect(statuses.get(errorStatus.VALIDATION_ERROR)).toBeGreaterThan(triesAll ? 1_500 : 500);
  });

  it("is asked by nobody where it is an address, and no file is read [request-forgery]", async () => {
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const address = listener.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { faults } = await attack(target(), places, addressTexts(port));
    expect(faults).toEqual([]);
    expect(connections).toBe(0);
    listener.close();
  });

  it("forges no line of the log or of the audit log [forged-log-lines]", () => {
    // Reading them fails where a line is not one JSON object.
    expect(service.lines().length).toBeGreaterThan(1_000);
    const directory = join(service.stateDir, "audit");
    const audit = readdirSync(directory).flatMap((name) =>
      readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1),
    );
    expect(audit.length).toBeGreaterThan(100);
    for (const line of audit) expect(JSON.parse(line)).toMatchObject({ operation: expect.any(String) });
  });

  it("is only text where it was stored", async () => {
    const { keys } = await createClient({ url: service.url, key: service.adminKey }).listKeys();
    const names = keys.map(({ name }) => name);
    expect(names.filter((name) => texts.some(({ text }) => text === name)).length).toBeGreaterThan(0);
    for (const name of names) expect(name).not.toMatch(/\p{Cc}/u);
  });
});

describe("hostile text in the filters of the streams", () => {
  it("runs nothing in a frame, and leaves the stream open [shell-injection]", async () => {
    const stream = await openStream(service.url, "/api/v1/ws/logs", { headers: { "X-API-Key": service.adminKey } });
    for (const { text } of texts)
      for (const member of ["unit", "priority", "grep", text]) stream.send({ type: "filter", [member]: text });
    await stream.handled();
    const reported = stream.frames.filter(({ type }) => type === "error").map((frame) => JSON.stringify(frame));
    // A machine without a journal says so first.
    const refused = reported.filter((frame) => !frame.includes('"code":"UNAVAILABLE"'));
    // A priority is one of a list; of the others some are text that may well be searched for.
    expect(refused.filter((frame) => frame.includes('"field":"priority"'))).toHaveLength(texts.length);
    for (const frame of refused) expect(frame).toContain('"code":"VALIDATION_ERROR"');
    const before = stream.frames.length;
    for (const { text } of texts) stream.send({ type: text });
    await stream.first(before + texts.length);
    stream.socket.terminate();
  });

  it("runs nothing in the address of the stream [shell-injection]", async () => {
    const key = { "X-API-Key": service.adminKey };
    for (const [at, { text }] of texts.entries()) {
      for (const name of partOf(["unit", "grep", "cursor"], at).concat("priority")) {
        const opened = await openStream(service.url, "/api/v1/ws/logs", {
          headers: key,
          query: { [name]: text },
        }).catch(() => undefined);
        opened?.socket.terminate();
        if (name === "priority") expect([text, opened]).toEqual([text, undefined]);
      }
    }
  });
});
