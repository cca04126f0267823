import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { complaint, refusal, runInProcess } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";

let service: TestService;
let url: string;
/** An address where nothing listens, and one where nothing answers. */
let deadUrl: string;
let silentUrl: string;
const silent = createServer(() => undefined);

beforeAll(async () => {
  service = await startTestService();
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
  const gone = await startTestService();
  deadUrl = await gone.app.listen({ host: "127.0.0.1", port: 0 });
  await gone.app.close();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  silentUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
});
afterAll(async () => {
  await service.app.close();
  silent.closeAllConnections();
  silent.close();
});
beforeEach(() => {
  service.checks.plain.finds = "pass";
  service.checks.vital.finds = "pass";
});

/** Settings that have a fault. */
const faulty = {
  localService: () => Promise.reject(new Error("cannot use the settings:\n  config.yaml:1:1: colour: unknown setting")),
};
const steward = (argv: readonly string[], environment: Record<string, string> = {}) =>
  runInProcess(argv, {
    environment: { STEWARD_URL: url, STEWARD_API_KEY: service.admin, ...environment },
    now: () => service.clock.now(),
    local: faulty,
  });

describe("steward check with an id", () => {
  it.each([
    ["pass", 0],
    ["skip", 0],
    ["warn", 1],
    ["fail", 1],
  ] as const)("for %s prints one line and exits with %i", async (status, code) => {
    service.checks.plain.finds = status;
    expect(await steward(["check", "plain"])).toEqual({ code, out: `plain ${status}: plain is ${status}\n`, err: "" });
    const json = await steward(["check", "plain", "--json"]);
    expect(json).toMatchObject({ code, err: "" });
    expect(JSON.parse(json.out)).toMatchObject({ check_id: "plain", status, severity: "medium" });
  });

  it("runs that check again and no other", async () => {
    const [plain, vital] = [service.checks.plain.runs(), service.checks.vital.runs()];
    await steward(["check", "plain"]);
    expect([service.checks.plain.runs(), service.checks.vital.runs()]).toEqual([plain + 1, vital]);
  });

  it("exits with 2 when the service could not be asked", async () => {
    expect(await steward(["check", "nothing"])).toMatchObject(refusal("cannot find the check nothing"));
    expect(await steward(["check", "plain"], { STEWARD_URL: deadUrl })).toMatchObject(
      refusal(/^steward: cannot reach the service: .*ECONNREFUSED/),
    );
    expect(await steward(["check", "plain", "--timeout", "0.05"], { STEWARD_URL: silentUrl })).toEqual(
      complaint("steward: cannot reach the service: no answer in time (--timeout says how long to wait)\n"),
    );
    const twoWords = await steward(["check", "plain", "--nagios"], { STEWARD_API_KEY: `${service.admin}\nmine` });
    expect(twoWords).toMatchObject({ code: 3, out: expect.stringContaining("cannot use the key in STEWARD_API_KEY") });
    expect(twoWords.out).not.toContain(service.admin);
    // In milliseconds this is not an integer.
    expect(await steward(["check", "plain", "--timeout", "16.1"])).toMatchObject({ code: 0 });
    for (const timeout of ["0", "-1", "soon", "1e3", "86401"]) {
      expect(await steward(["check", "plain", `--timeout=${timeout}`])).toMatchObject({ code: 2, out: "" });
    }
  });
});

describe("steward check", () => {
  it("lists all checks and exits with 1 when one warns or fails", async () => {
    await service.clock.advance(61_000);
    const well = await steward(["check"]);
    expect(well).toMatchObject({ code: 0, err: "" });
    expect(well.out).toMatch(/plain\s+pass\s+20\d\d-\S+ \S+[+-]\d\d:\d\d\s+plain is pass/);
    expect(well.out).toMatch(/\n2 checks: 2 pass, 0 warn, 0 fail, 0 skip\n$/);
    service.checks.vital.finds = () => Promise.resolve({ status: "fail", message: "x".repeat(500), details: {} });
    await service.clock.advance(61_000);
    const ill = await steward(["check"]);
    expect(ill).toMatchObject({ code: 1, err: "" });
    expect(ill.out).toMatch(/vital\s+fail\s+20\d\d-\S+ \S+\s+x{99}…\n/);
    expect(ill.out).toMatch(/\n2 checks: 1 pass, 0 warn, 1 fail, 0 skip\n$/);
    const json = await steward(["check", "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ summary: { total: 2, failed: 1 }, results: [{}, {}] });
    expect(await steward(["check"], { STEWARD_URL: deadUrl })).toMatchObject({ code: 2, out: "" });
  });

  it("has help", async () => {
    const { code, out } = await steward(["check", "--help"]);
    expect(code).toBe(0);
    for (const text of ["--nagios", "--timeout", "Exit code: 0 all healthy", "DISK_SPACE OK"])
      expect(out).toContain(text);
  });
});

describe("steward check --nagios", () => {
  it.each([
    ["pass", 0, "OK"],
    ["warn", 1, "WARNING"],
    ["fail", 2, "CRITICAL"],
    ["skip", 3, "UNKNOWN"],
  ] as const)("reports %s with exit code %i: %s", async (status, code, word) => {
    service.checks.plain.finds = () =>
      Promise.resolve({ status, message: "so | it\nis", details: { percent_used: 5.5, path: "/" } });
    expect(await steward(["check", "plain", "--nagios"])).toEqual({
      code,
      out: `PLAIN ${word} - so / it is | percent_used=5.5%\n`,
      err: "",
    });
  });

  it.each([
    ["an unknown check", ["check", "nothing"], {}, /cannot find the check nothing.*NOT_FOUND/],
    ["no service", ["check", "plain"], { STEWARD_URL: "dead" }, /cannot reach the service: .*ECONNREFUSED/],
    ["no address", ["check", "plain"], { STEWARD_URL: "no address" }, /cannot use the address no address: not a URL/],
    ["no answer", ["check", "plain", "--timeout", "0.05"], { STEWARD_URL: "silent" }, /no answer in time/],
    ["a wrong key", ["check", "plain"], { STEWARD_API_KEY: "wrong" }, /UNAUTHORIZED/],
    ["no right", ["check", "plain"], { STEWARD_API_KEY: "none" }, /FORBIDDEN/],
    ["no key file", ["check", "plain", "--key-file", "/nowhere"], {}, /cannot read the key file \/nowhere/],
    ["no id", ["check"], {}, /needs the id of a check/],
    ["an unknown option", ["check", "plain", "--colour"], {}, /unknown option '--colour'/],
    ["an unknown option before it", ["--colour", "check", "plain"], {}, /unknown option '--colour'/],
    ["too many ids", ["check", "plain", "vital"], {}, /too many arguments/],
    ["a bad time", ["check", "plain", "--timeout", "soon"], {}, /must be a number of seconds/],
    ["two formats", ["check", "plain", "--json"], {}, /do not go together/],
  ])("is UNKNOWN on one line with exit code 3 for %s", async (_, argv, environment, reason) => {
    const addresses: Readonly<Record<string, string>> = { dead: deadUrl, silent: silentUrl };
    const given: Readonly<Record<string, string>> = environment;
    const { STEWARD_URL: place = url, STEWARD_API_KEY: key = service.admin } = given;
    const { code, out, err } = await steward([...argv, "--nagios"], {
      STEWARD_URL: addresses[place] ?? place,
      STEWARD_API_KEY: key === "none" ? service.key([]) : key,
    });
    expect({ code, err }).toEqual({ code: 3, err: "" });
    expect(out).toMatch(/^STEWARD UNKNOWN - [^|\n]+\n$/);
    expect(out).toMatch(reason);
  });

  it("is UNKNOWN too when the settings have faults, and when asked for help", async () => {
    const { code, out } = await runInProcess(["check", "plain", "--nagios"], { local: faulty });
    expect([code, out]).toEqual([
      3,
      "STEWARD UNKNOWN - cannot use the settings:   config.yaml:1:1: colour: unknown setting\n",
    ]);
    expect((await steward(["check", "--nagios", "--help"])).code).toBe(3);
  });
});
