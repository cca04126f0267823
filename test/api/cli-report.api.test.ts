import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { withoutSecrets } from "#cli/core/report-parts.ts";
import { redact } from "#domain/common/redact.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
let directory: string;
let file: string;
let settings: string;
const { steward: run } = useSteward(async () => {
  service = await startTestService();
  directory = mkdtempSync(join(tmpdir(), "steward-report-"));
  file = join(directory, "report.json");
  settings = join(directory, "config.yaml");
  return service;
});
afterEach(() => rmSync(directory, { recursive: true }));

const redacted = (text: string): Promise<string> => Promise.resolve(redact(text).text);
const checkConfig = (path: string | undefined) =>
  Promise.resolve({ file: path, faults: [{ text: "config.yaml:3: unknown" }], warnings: [] });
const steward = (argv: readonly string[], key = service.admin) =>
  run(["report", ...argv], { environment: { STEWARD_API_KEY: key }, local: { redact: redacted, checkConfig } });
const read = (): Record<string, unknown> & {
  readonly report: { readonly missing: readonly { name: string; reason: string }[] };
} => JSON.parse(readFileSync(file, "utf8")) as ReturnType<typeof read>;

/** Made up, each of another kind. */
const secrets = {
  password: "hunter2-Zq81",
  bearer: "abcDEF0123456789abcDEF",
  github: `ghp_${"a1B2".repeat(10)}`,
  own: `stw_abcdefgh_${"x".repeat(43)}`,
  url: "s3cr3t-in-url",
  environment: "env-Secret-77",
};

describe("steward report", () => {
  it("makes one private file with all that the key may read", async () => {
    service.journal.write({ message: "it hurts", unit: "app.service", priority: 3, time: service.clock.now() * 1000 });
    const run = await steward(["-O", file]);
    expect([run.code, run.err]).toEqual([0, ""]);
    expect(run.out).toContain(`${file}: `);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const report = read();
    expect(report).toMatchObject({ service: { version: expect.any(String) }, checks: { results: expect.any(Array) } });
    expect(report["warnings"]).toEqual([expect.stringContaining("it hurts")]);
    expect(report["packages"]).toEqual(["editor:amd64 1.0", "library:amd64 2.0", "server:amd64 3.0"]);
    expect(report.report.missing.map(({ name }) => name)).toEqual(["settings"]);
  });

  it("previews without a file, and does not overwrite one", async () => {
    const { out } = await steward(["--preview", "-O", file]);
    expect(out).toMatch(/^ *checks +\d+ +results of all health checks$/m);
    expect(out).toMatch(/^missing: settings \(.*\): only on the host of the service/m);
    expect(() => statSync(file)).toThrow("ENOENT");
    writeFileSync(file, "mine", { mode: 0o644 });
    expect(await steward(["-O", file])).toMatchObject({ code: 2, err: expect.stringContaining("--force") });
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect((await steward(["-O", file, "--force"])).code).toBe(0);
    expect([read().report !== undefined, statSync(file).mode & 0o777]).toEqual([true, 0o600]);
  });

  it("has what the key may read, and names what is refused", async () => {
    service.journal.write({
      message: "secret of others",
      unit: "nginx.service",
      priority: 3,
      time: service.clock.now() * 1000,
    });
    service.journal.write({ message: "mine", unit: "app-1.service", priority: 3, time: service.clock.now() * 1000 });
    const run = await steward(["-O", file], service.key(["health:read", "logs:read:app-*"]));
    expect(run.code).toBe(0);
    const report = read();
    expect(report["warnings"]).toEqual([expect.stringContaining("mine")]);
    expect(readFileSync(file, "utf8")).not.toContain("secret of others");
    expect(report).not.toHaveProperty("services");
    expect(report.report.missing).toContainEqual(
      expect.objectContaining({ name: "services", reason: expect.stringContaining("system:read") }),
    );
    expect(run.out).toMatch(/^missing: services: /m);
  });

  it("has no secrets of logs and settings", async () => {
    const time = service.clock.now() * 1000;
    for (const message of [
      `login failed: password=${secrets.password}`,
      `Authorization: Bearer ${secrets.bearer}`,
      `cloning https://me:${secrets.url}@git.example.org/x with ${secrets.github}`,
      `key ${secrets.own}`,
    ])
      service.journal.write({ message, unit: "app.service", priority: 3, time });
    const lines = ["listen: 127.0.0.1:8470", `password: ${secrets.password}`, `url: https://x:${secrets.url}@h/`];
    writeFileSync(settings, lines.join("\n"));
    expect((await steward(["-O", file, "--config", settings])).code).toBe(0);
    const text = readFileSync(file, "utf8");
    for (const [kind, secret] of Object.entries(secrets)) expect([kind, text.includes(secret)]).toEqual([kind, false]);
    expect(read()["settings"]).toMatchObject({
      file: settings,
      text: ["listen: 127.0.0.1:8470", "password: [redacted]", "url: https://x:[redacted]@h/"],
    });
    expect(text).not.toContain(service.admin);
  });

  it("ends where the service cannot be reached", async () => {
    service.service.cut();
    await service.app.close();
    expect((await steward(["-O", file])).code).toBe(2);
    expect(() => statSync(file)).toThrow("ENOENT");
  });
});

describe("secrets in the parts of a report", () => {
  it.each([
    [
      "a variable",
      { environment: [`DB_PASSWORD=${secrets.environment}`, "LANG=C"] },
      { environment: ["DB_PASSWORD=[redacted]", "LANG=C"] },
    ],
    ["a member", { api_key: secrets.password, name: "x" }, { api_key: "[redacted]", name: "x" }],
    [
      "a pair",
      { headers: [{ name: "Authorization", value: secrets.bearer }] },
      { headers: [{ name: "Authorization", value: "[redacted]" }] },
    ],
    ["a list", { api_key: [secrets.password, secrets.own] }, { api_key: ["[redacted]", "[redacted]"] }],
    ["a text of several lines", { api_key: `two\n${secrets.password}` }, { api_key: "[redacted]" }],
    ["words", { command: ["curl", "--password", secrets.password] }, { command: ["curl", "--password", "[redacted]"] }],
    [
      "a private key over several lines",
      { text: ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBg", "-----END PRIVATE KEY-----", "end"] },
      { text: expect.not.arrayContaining(["MIIEvQIBADANBg"]) },
    ],
  ])("are redacted in %s", async (_, value, wanted) => {
    expect(await withoutSecrets(value, redacted)).toEqual(wanted);
  });

  it("are the only change", async () => {
    const value = { a: 1, b: [true, null, "text with\ntwo lines"], c: { d: "nginx.service", cursor: "s=1;i=2" } };
    expect(await withoutSecrets(value, redacted)).toEqual(value);
  });
});
