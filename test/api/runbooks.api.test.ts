import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeRunbook } from "../fakes/runbooks.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
  service.runbooks.runbooks = [
    fakeRunbook("shop", { title: "The shop is down", appliesTo: [{ unit: "shop*" }, { check: "systemd_failed" }] }),
    fakeRunbook("disk_space", { origin: "builtin" }),
    fakeRunbook("message", { appliesTo: [{ template: "9ce8c1cd1fdc361b" }] }),
  ];
  service.runbooks.faults = [{ file: "/etc/steward/runbooks/old.md", reason: "it is not UTF-8" }];
});
afterEach(() => service.app.close());

const get = (path: string, key = service.admin) => send(service, { path: `/api/v1/runbooks${path}`, key });
const idsOf = async (query: string): Promise<readonly string[]> =>
  ((await get(query)).json as { runbooks: { id: string }[] }).runbooks.map(({ id }) => id);

describe("the list of runbooks", () => {
  it("has all of them without their text, and the files that are not used", async () => {
    expect((await get("")).json).toEqual({
      runbooks: [
        {
          id: "shop",
          title: "The shop is down",
          origin: "local",
          applies_to: [{ unit: "shop*" }, { check: "systemd_failed" }],
        },
        expect.objectContaining({ id: "disk_space", origin: "builtin", applies_to: [{ check: "disk_space" }] }),
        expect.objectContaining({ id: "message", applies_to: [{ template: "9ce8c1cd1fdc361b" }] }),
      ],
      faults: [{ file: "/etc/steward/runbooks/old.md", reason: "it is not UTF-8" }],
      ...{ total: 3, limit: null, next_cursor: null },
    });
  });

  it("has those of a check, a unit or a template", async () => {
    expect(await idsOf("?check=systemd_failed")).toEqual(["shop"]);
    expect(await idsOf("?unit=shop-db")).toEqual(["shop"]);
    expect(await idsOf("?template=9ce8c1cd1fdc361b")).toEqual(["message"]);
    expect(await idsOf("?check=disk_space&unit=shop.service")).toEqual(["shop", "disk_space"]);
    expect(await idsOf("?check=none")).toEqual([]);
    expect(await get("?unit=a%20b")).toMatchObject({
      status: 400,
      json: errorWith("VALIDATION_ERROR", { field: "unit" }),
    });
  });
});

describe("a runbook", () => {
  it("has its text and where it comes from", async () => {
    expect((await get("/disk_space")).json).toEqual({
      ...{ id: "disk_space", title: "What to do about disk_space", origin: "builtin" },
      applies_to: [{ check: "disk_space" }],
      body: "Look at disk_space first.",
    });
  });

  it("that cannot be used is not found, with the reason", async () => {
    expect(await get("/none")).toMatchObject({ status: 404, json: errorWith("NOT_FOUND", { id: "none" }) });
    const { text } = await get("/old");
    expect(text).toContain("cannot show the runbook old: /etc/steward/runbooks/old.md: it is not UTF-8");
  });

  it("is read with health:read alone, also by a key that is narrowed to other units", async () => {
    const key = service.key(["health:read", "logs:read:nginx.service"]);
    expect((await get("/shop", key)).status).toBe(200);
    const other = service.key(["logs:read", "system:read"]);
    expect((await get("/shop", other)).status).toBe(403);
  });
});
