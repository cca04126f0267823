import { describe, expect, it } from "vitest";
import { fakeRunbook } from "../fakes/runbooks.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward } = useSteward(async () => {
  service = await startTestService();
  service.runbooks.runbooks = [
    fakeRunbook("shop", { title: "The shop\u001b[31m is down", appliesTo: [{ unit: "shop*" }, { check: "plain" }] }),
    fakeRunbook("disk_space", { origin: "builtin", body: "## Look\n\nAt `df`\u001b[2J.\n" }),
  ];
  service.runbooks.faults = [{ file: "/etc/steward/runbooks/old.md", reason: "it is not UTF-8" }];
  return service;
});

describe("steward runbooks", () => {
  it("lists them, and names files that are not used", async () => {
    const { code, out, err } = await steward("runbooks");
    expect(code).toBe(0);
    expect(out).toMatch(/^RUNBOOK +FROM +APPLIES TO +TITLE\n/);
    expect(out).toMatch(/^shop +this host +unit shop\*, check plain +The shop.*is down$/m);
    expect(out).toMatch(/^disk_space +steward +check disk_space +What to do about disk_space\n2 runbooks\n$/m);
    expect(err).toBe("steward: /etc/steward/runbooks/old.md is not used: it is not UTF-8\n");
  });

  it("lists those of a check or a unit", async () => {
    expect((await steward("runbooks --check disk_space")).out).toMatch(/\ndisk_space .*\n1 runbook\n$/);
    expect((await steward("runbooks list -u shop-db")).out).toMatch(/\nshop .*\n1 runbook\n$/);
    expect(JSON.parse((await steward("runbooks --check none --json")).out)).toMatchObject({ total: 0 });
  });

  it("shows one without what moves the cursor", async () => {
    const { code, out } = await steward("runbooks show disk_space");
    expect([code, out.replaceAll(/\p{Cc}/gu, "|")]).toEqual([
      0,
      expect.stringMatching(/^# What to do about disk_space\|\|## Look\|\|At `df`/),
    ]);
    expect(out).not.toContain("\u001b");
    expect((await steward("runbooks show none")).code).toBe(2);
  });
});

describe("steward check", () => {
  it("names the runbook of a finding", async () => {
    service.checks.plain.finds = "warn";
    expect(await steward("check plain")).toMatchObject({
      code: 1,
      out: "plain warn: plain is warn\nrunbook: shop (steward runbooks show shop)\n",
    });
    service.checks.plain.finds = "pass";
    expect((await steward("check plain")).out).toBe("plain pass: plain is pass\n");
  });
});
