import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createOfflineUnits } from "#adapters/systemd/offline.ts";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";
import { fakeListed } from "../fakes/package-catalog.ts";
import { directoryWith } from "../ports/support/directories.ts";
import { pathOf, send, startTestService, type TestReply, type TestRequest, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const ask = (path: string, tag?: string, request: Partial<TestRequest> = {}) =>
  send(service, {
    path,
    key: service.admin,
    ...(tag !== undefined && { headers: { "if-none-match": tag } }),
    ...request,
  });

const tagOf = ({ headers }: TestReply): string => headers["etag"] ?? "no tag";

const rows = Object.entries<Operation>(operations);
const versioned = rows.filter(([, operation]) => operation.versioned === true);

/** What changes the answer of a row. */
const changes: Readonly<Record<string, () => unknown>> = {
  listServices: () => service.units.become("cron.service", { memoryBytes: 1 }),
  listChecks: () => ask("/api/v1/health/checks/plain"),
  searchPackages: () => service.packageManager.catalog.listed.set("new", fakeListed("new")),
};

it("each versioned row has a change in this table", () => {
  expect(Object.keys(changes).sort()).toEqual(versioned.map(([name]) => name).sort());
});

describe.each(versioned)("the entity tag of %s", (name, operation) => {
  const path = pathOf(operation);

  it("gives 304 without a body to a client that has it", async () => {
    const first = await ask(path);
    expect(first.status).toBe(200);
    expect(tagOf(first)).toMatch(/^W\/"[\w-]{22}"$/);
    expect(first.headers["cache-control"]).toBe("private, no-cache");
    const again = await ask(path, tagOf(first));
    expect([again.status, again.text]).toEqual([304, ""]);
    expect(again.headers).toMatchObject({
      etag: tagOf(first),
      "cache-control": "private, no-cache",
      vary: "Accept-Encoding",
      "x-request-id": expect.any(String),
    });
    for (const absent of ["content-length", "content-type", "content-encoding"])
      expect(again.headers).not.toHaveProperty(absent);
  });

  it("is the same for HEAD", async () => {
    const tag = tagOf(await ask(path, undefined, { method: "HEAD" }));
    expect(tag).toBe(tagOf(await ask(path)));
    const again = await ask(path, tag, { method: "HEAD" });
    expect([again.status, again.headers["content-length"]]).toEqual([304, undefined]);
  });

  it("changes with the answer", async () => {
    const before = tagOf(await ask(path));
    await changes[name]?.();
    const after = await ask(path, before);
    expect([after.status, tagOf(after) === before]).toEqual([200, false]);
    expect((await ask(path, tagOf(after))).status).toBe(304);
  });

  it("differs for other scopes, another query and another process", async () => {
    const tag = tagOf(await ask(path));
    const viewer = service.key([...roles.viewer]);
    expect((await ask(path, tag, { key: viewer })).status).toBe(200);
    expect((await ask(path, tag, { key: service.key(roles.admin) })).status).toBe(304);
    expect(tagOf(await ask(`${path}?limit=1`))).not.toBe(tag);
    const other = await startTestService();
    expect((await send(other, { path, key: other.admin, headers: { "if-none-match": tag } })).status).toBe(200);
    await other.app.close();
  });

  it("does not come before a refusal", async () => {
    const tag = tagOf(await ask(path));
    expect((await send(service, { path, headers: { "if-none-match": tag } })).status).toBe(401);
    expect((await ask(path, tag, { key: service.key(["connectors:read"]) })).status).toBe(403);
  });
});

describe("the entity tag of services that are read from unit files", () => {
  const root = directoryWith({
    "etc/systemd/system/a.service": "[Unit]\nDescription=A\n",
    "etc/systemd/system/b.service": "[Unit]\nDescription=B\n",
  });

  it("stays until a file changes or goes", async () => {
    Object.assign(service.units, { list: createOfflineUnits(root).list });
    const path = "/api/v1/system/services";
    const first = await ask(path);
    expect(first.json).toMatchObject({ services: [{ description: "A" }, { description: "B" }] });
    expect((await ask(path, tagOf(first))).status).toBe(304);
    writeFileSync(join(root, "etc/systemd/system/b.service"), "[Unit]\nDescription=C\n");
    const changed = await ask(path, tagOf(first));
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { services: [{ description: "A" }, { description: "C" }] },
    ]);
    expect((await ask(path, tagOf(changed))).status).toBe(304);
    rmSync(join(root, "etc/systemd/system/a.service"));
    expect((await ask(path, tagOf(changed))).status).toBe(200);
  });
});

describe("If-None-Match", () => {
  const path = "/api/v1/system/services";

  it("takes a list of strong and weak tags; malformed ones are ignored", async () => {
    const tag = tagOf(await ask(path));
    const opaque = tag.slice(2);
    for (const header of ["*", " * ", opaque, `"a", ${tag}`, `W/"a,b" ,${opaque},`, `,${tag}`])
      expect([header, (await ask(path, header)).status]).toEqual([header, 304]);
    for (const header of [
      "",
      '"a"',
      tag.slice(0, -1),
      opaque.slice(1, -1),
      `w/${opaque}`,
      `${tag} "a"`,
      `*, ${tag}`,
      `${tag};x`,
    ])
      expect([header, (await ask(path, header)).status]).toEqual([header, 200]);
  });

  it("is parsed in linear time", async () => {
    const header = `${'"a", '.repeat(2500)}"`;
    expect((await ask(path, header)).status).toBe(200);
  });

  it.each(["/api/v1/openapi.json", "/api/v1/docs/swagger-ui.css"])("works for %s without a key", async (page) => {
    const first = await ask(page, undefined, { key: "" });
    expect(first.headers["cache-control"]).toBe("no-cache");
    const again = await ask(page, tagOf(first));
    expect([again.status, again.text, again.headers["content-type"]]).toEqual([304, "", undefined]);
    expect((await ask(page, tagOf(first), { method: "HEAD" })).status).toBe(304);
    expect((await ask(page, '"other"')).status).toBe(200);
  });
});

it.each(rows.filter(([, operation]) => operation.versioned !== true))("%s has no tag", async (_, operation) => {
  const reply = await ask(pathOf(operation), "*", { method: operation.method });
  expect([reply.status === 304, reply.headers["etag"]]).toEqual([false, undefined]);
});
