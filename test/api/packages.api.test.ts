import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { fakeListed, fakeLogged } from "../fakes/package-catalog.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
  const { listed } = service.packageManager.catalog;
  listed.set(
    "editor",
    fakeListed("editor", { version: "1.1", requiring: [{ name: "ide", relation: "depends", isAlternative: false }] }),
  );
  listed.set("editor-doc", fakeListed("editor-doc", { downloadBytes: undefined }));
  listed.set("ide", fakeListed("ide", { summary: "an Editor and more" }));
});
afterEach(() => service.app.close());

const get = (path: string, key = service.admin) => send(service, { path: `/api/v1/packages${path}`, key });
const namesIn = (json: unknown): readonly string[] =>
  (json as { packages: readonly { name: string }[] }).packages.map(({ name }) => name);

describe("GET /packages", () => {
  it("finds by words, the name itself first", async () => {
    const { status, json } = await get("?search=EDITOR");
    expect(status).toBe(200);
    expect(namesIn(json)).toEqual(["editor", "editor-doc", "ide"]);
    expect(json).toMatchObject({ total: 3, package_manager: "apt" });
    expect((json as { packages: unknown[] }).packages[0]).toEqual({
      name: "editor",
      architecture: "amd64",
      version: "1.1",
      installed_version: "1.0",
      section: "misc",
      summary: "the editor of a test",
      download_bytes: 1024,
      installed_bytes: 2048,
    });
  });

  it("filters by installed, and keeps to the limit", async () => {
    expect(namesIn((await get("?search=editor&installed=true")).json)).toEqual(["editor"]);
    expect(namesIn((await get("?search=editor&installed=false")).json)).toEqual(["editor-doc", "ide"]);
    expect((await get("?search=editor&limit=1")).json).toMatchObject({ total: 3, packages: [{ name: "editor" }] });
    for (const bad of ["?limit=0", "?limit=1001", "?installed=maybe", "?search=%00"])
      expect([bad, (await get(bad)).status]).toEqual([bad, 400]);
  });

  it("shows a narrowed key its own packages alone", async () => {
    const key = service.key(["packages:read:editor*"]);
    expect(namesIn((await get("?search=editor", key)).json)).toEqual(["editor", "editor-doc"]);
    expect((await get("/editor", key)).json).toMatchObject({ name: "editor", required_by: [] });
    expect((await get("/ide", key)).status).toBe(403);
    expect((await get("?search=editor", service.key(["updates:read"]))).status).toBe(403);
  });

  it("is 503 where the lists cannot be read, or there is no catalog", async () => {
    service.packageManager.catalog.trouble = new HostUnavailable("the lists cannot be read", {
      missing: "package lists",
      retryable: true,
    });
    expect(await get("?search=editor")).toMatchObject({
      status: 503,
      json: errorWith("UNAVAILABLE", { missing: "package lists" }),
    });
  });
});

describe("GET /packages/{name}", () => {
  it("shows versions, why it is installed, what requires it, and its files on request", async () => {
    const { json } = await get("/editor");
    expect(json).toMatchObject({
      installed: { version: "1.0", reason: "manual", held: false, state: "installed" },
      candidate: "1.1",
      required_by: [{ name: "ide", relation: "depends", alternative: false }],
    });
    expect(json).not.toHaveProperty("files");
    expect((await get("/editor?files=true")).json).toMatchObject({ files: ["/usr/bin/editor"] });
    expect((await get("/ide?files=true")).json).not.toHaveProperty("files");
  });
});

describe("GET /packages/history", () => {
  it("gives transactions without secrets", async () => {
    service.packageManager.catalog.logged = [
      fakeLogged("editor", {
        commandLine: "apt-get -o Acquire::http::Proxy=http://anna:geheim7x@proxy install editor",
      }),
      fakeLogged("ide", { endedAt: undefined, error: "it failed", requestedBy: "anna (1000)" }),
    ];
    const { json, status } = await get("/history");
    expect(status).toBe(200);
    expect(JSON.stringify(json)).not.toContain("geheim7x");
    expect(json).toMatchObject({
      transactions: [
        {
          started_at: "2026-01-01T00:00:00.000Z",
          command: expect.stringContaining("install editor"),
          packages: [{ name: "editor", action: "install", from: null, to: "1.0", automatic: false }],
        },
        { ended_at: null, error: "it failed", requested_by: "anna (1000)" },
      ],
    });
    expect((await get("/history?limit=1")).json).toMatchObject({ transactions: [{ packages: [{ name: "editor" }] }] });
  });

  it("shows a narrowed key its own packages alone, and no command line", async () => {
    service.packageManager.catalog.logged = [fakeLogged("ide"), fakeLogged("editor")];
    const { json } = await get("/history", service.key(["packages:read:editor"]));
    expect(json).toMatchObject({ transactions: [{ command: null, packages: [{ name: "editor" }] }] });
    expect((json as { transactions: unknown[] }).transactions).toHaveLength(1);
  });
});

const post = (path: string, body: object, key = service.admin) =>
  send(service, { method: "POST", path: `/api/v1/packages/${path}`, key, body });
const along = (name: string, from: string | null, to: string | null) => ({
  name,
  architecture: "amd64",
  from,
  to,
  isSecurity: false,
});

describe("POST /packages/install", () => {
  it("shows what comes along, and does just that behind a snapshot to which a rollback returns", async () => {
    const { packageManager } = service;
    packageManager.comesAlong = [along("libide", null, "2.0")];
    const plan = await post("install?dry_run=true", { packages: ["ide"] });
    expect(plan.json).toMatchObject({
      steps: ["take a snapshot", "install ide 1.0", "install libide 2.0"],
      packages: ["ide", "libide"],
      bytes: 2000,
      rollback: "full",
    });
    expect(packageManager.packages.has("ide")).toBe(false);
    const { status, json } = await post("install", { packages: ["ide"] });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      success: true,
      packages_changed: 2,
      packages: [
        { name: "ide", from: null, to: "1.0" },
        { name: "libide", from: null, to: "2.0" },
      ],
    });
    const { snapshot_id: id, operation_id: operation } = json as { snapshot_id: string; operation_id: string };
    const recorded = await send(service, { path: `/api/v1/operations/${operation}`, key: service.admin });
    expect(recorded.json).toMatchObject({ kind: "packages.change", status: "done" });
    const path = `/api/v1/updates/rollback/${id}`;
    expect((await send(service, { method: "POST", path, key: service.admin, body: {} })).json).toMatchObject({
      success: true,
    });
    expect(packageManager.packages.has("ide")).toBe(false);
    expect(packageManager.packages.has("libide")).toBe(false);
  });

  it("takes a key for the named packages, and removes others only for one that may remove all", async () => {
    service.packageManager.comesAlong = [along("editor", "1.0", null)];
    const narrowed = service.key(["packages:install:ide"]);
    expect((await post("install", { packages: ["editor-doc"] }, narrowed)).json).toMatchObject(
      errorWith("FORBIDDEN", { required_scope: "packages:install:editor-doc" }),
    );
    for (const key of [narrowed, service.key(["packages:install", "packages:remove:editor"])])
      expect((await post("install?dry_run=true", { packages: ["ide"] }, key)).json).toMatchObject({
        error: { code: "VALIDATION_ERROR", message: expect.stringContaining("editor would be removed as well") },
      });
    const both = service.key(["packages:install", "packages:remove"]);
    expect((await post("install", { packages: ["ide"] }, both)).json).toMatchObject({
      success: true,
      packages_changed: 2,
    });
    expect(service.packageManager.packages.has("editor")).toBe(false);
  });
});

describe("POST /packages/remove and /packages/purge", () => {
  it.each(["remove", "purge"])("%s the named packages, as the dry run shows", async (verb) => {
    expect((await post(`${verb}?dry_run=true`, { packages: ["editor"] })).json).toMatchObject({
      steps: ["take a snapshot", `${verb} editor 1.0`],
    });
    expect((await post(verb, { packages: ["editor"], create_snapshot: false })).json).toMatchObject({
      success: true,
      snapshot_id: "",
      packages: [{ name: "editor", from: "1.0", to: null }],
    });
    expect(service.packageManager.packages.has("editor")).toBe(false);
  });

  it("refuse protected packages, also those that come along", async () => {
    const { packageManager } = service;
    packageManager.protectedPackages = new Map([["editor", "it is essential"]]);
    packageManager.packages.set("steward", {
      ...along("steward", null, null),
      version: "1",
      isManual: true,
      isHeld: false,
    });
    for (const [name, reason] of [
      ["editor", "it is essential"],
      ["steward", "it is this service"],
    ] as const)
      for (const path of ["remove", "purge", "remove?dry_run=true"])
        expect((await post(path, { packages: [name] })).json).toMatchObject({
          error: { code: "VALIDATION_ERROR", message: expect.stringContaining(reason) },
        });
    packageManager.comesAlong = [along("editor", "1.0", null)];
    for (const [verb, name] of [
      ["remove", "server"],
      ["install", "ide"],
    ] as const)
      expect((await post(verb, { packages: [name] })).json).toMatchObject({ error: { code: "VALIDATION_ERROR" } });
    expect(packageManager.started).toEqual([]);
  });

  it("refuse dependent packages to a narrowed key", async () => {
    service.packageManager.comesAlong = [along("server", "1.0", null)];
    const key = service.key(["packages:remove:editor"]);
    expect((await post("remove", { packages: ["editor"] }, key)).status).toBe(400);
    expect((await post("remove", { packages: ["editor"] })).json).toMatchObject({ packages_changed: 2 });
  });

  it("are 400 without a name, and with a guard but no snapshot", async () => {
    expect((await post("remove", { packages: [] })).status).toBe(400);
    expect((await post("remove", { packages: ["editor"], guard: true, create_snapshot: false })).status).toBe(400);
  });
});

describe("POST /packages/hold and /packages/unhold", () => {
  const isHeld = (name: string): boolean | undefined => service.packageManager.packages.get(name)?.isHeld;

  it("hold and unhold packages as the dry run shows, and report those that are unchanged", async () => {
    const { packageManager } = service;
    packageManager.packages.set("viewer", fakePackage("viewer", "2.0", { isHeld: true }));
    const both = { packages: ["editor", "viewer", "editor:amd64"] };
    expect((await post("hold?dry_run=true", both)).json).toMatchObject({
      steps: ["hold editor at 1.0"],
      packages: ["editor"],
      reason: "held already: viewer",
    });
    expect(isHeld("editor")).toBe(false);
    const held = { architecture: "amd64", held: true };
    const { status, json } = await post("hold", both);
    expect([status, json]).toEqual([
      200,
      {
        success: true,
        message: "held: editor; held already: viewer",
        packages: [
          { ...held, name: "editor", version: "1.0", changed: true },
          { ...held, name: "viewer", version: "2.0", changed: false },
        ],
      },
    ]);
    const check = await send(service, { path: "/api/v1/updates/check", key: service.admin });
    expect(check.json).toMatchObject({ held: expect.arrayContaining(["editor", "viewer"]) });
    expect((await get("/editor")).json).toMatchObject({ installed: { held: true } });
    expect((await post("hold", both)).json).toMatchObject({ message: "held already: editor, viewer" });
    expect((await post("unhold?dry_run=true", both)).json).toMatchObject({ steps: ["unhold editor", "unhold viewer"] });
    expect((await post("unhold", { packages: ["editor"] })).json).toMatchObject({
      message: "no longer held: editor",
      packages: [{ name: "editor", held: false, changed: true }],
    });
    expect((await post("unhold", { packages: ["editor"] })).json).toMatchObject({ message: "not held: editor" });
    expect([isHeld("editor"), isHeld("viewer")]).toEqual([false, true]);
  });

  it("take all or nothing, and each key for its packages", async () => {
    const key = service.key(["packages:hold:editor"]);
    expect((await post("hold", { packages: ["editor", "nothing"] })).json).toMatchObject({
      error: { code: "VALIDATION_ERROR", message: "cannot hold editor, nothing: nothing is not installed" },
    });
    expect((await post("hold", { packages: ["editor", "server"] }, key)).json).toMatchObject(
      errorWith("FORBIDDEN", { required_scope: "packages:hold:server" }),
    );
    expect((await post("hold", { packages: ["editor"] }, service.key(["packages:install"]))).status).toBe(403);
    expect(isHeld("editor")).toBe(false);
    expect((await post("hold", { packages: ["editor:amd64"] }, key)).json).toMatchObject({ success: true });
    for (const packages of [[], ["-o"], ["a b"], "editor"])
      expect([packages, (await post("unhold", { packages })).status]).toEqual([packages, 400]);
    expect(isHeld("editor")).toBe(true);
  });

  it("report the holder of the lock, a failure, and holds that did not take effect", async () => {
    const { packageManager } = service;
    const { holds } = packageManager;
    const answering = (result: { readonly isDone: boolean; readonly reason: string }) =>
      Object.assign(packageManager, { holds: { ...holds, set: () => Promise.resolve(result) } });
    answering({ isDone: false, reason: "no space left" });
    expect((await post("hold", { packages: ["editor"] })).json).toMatchObject({
      error: { code: "INTERNAL_ERROR", message: "cannot hold editor: no space left" },
    });
    answering({ isDone: true, reason: "" });
    expect((await post("hold", { packages: ["editor"] })).json).toMatchObject({
      error: {
        code: "INTERNAL_ERROR",
        message: expect.stringContaining("apt says afterwards that they are not held"),
      },
    });
    Object.assign(packageManager, { holds });
    packageManager.lockedBy = { pid: 7, program: "apt-get" };
    expect((await post("hold?dry_run=true", { packages: ["editor"] })).status).toBe(200);
    expect(await post("hold", { packages: ["editor"] })).toMatchObject({
      status: 503,
      json: { error: { details: { holder: { pid: 7, program: "apt-get" } } } },
    });
  });

  it("are 503 with the command for the host where the package manager does not support them", async () => {
    const { packageManager } = service;
    Object.assign(packageManager.holds, { lack: () => Promise.resolve("its plugin is missing") });
    expect(await post("hold?dry_run=true", { packages: ["editor"] })).toMatchObject({
      status: 503,
      json: { error: { message: expect.stringContaining("its plugin is missing (apt-mark hold does that)") } },
    });
    for (const [path, remedy] of [
      ["hold?dry_run=true", "apt-mark hold does that"],
      ["unhold", "apt-mark unhold ends that"],
    ] as const)
      expect(await post(path, { packages: ["editor"] })).toMatchObject({
        status: 503,
        json: { error: { message: expect.stringContaining(remedy), details: { missing: "holds of packages" } } },
      });
  });
});
