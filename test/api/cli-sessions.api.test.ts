import { expect, it } from "vitest";
import { send, startTestService, type TestService } from "./harness.ts";
import { registerPasskey } from "./passkeys.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward, url } = useSteward(async () => {
  service = await startTestService();
  return service;
});

const signIn = (body: unknown) => send(service, { method: "POST", path: "/api/v1/auth/sessions", body });

it("prints an address that signs in once", async () => {
  const { code, out, err } = await steward("console");
  expect([code, err]).toEqual([0, ""]);
  const [, text] = /^http:\/\/127\.0\.0\.1:\d+\/console\/#code=(stc_\w+)\n$/.exec(out) ?? [];
  expect([(await signIn({ code: text })).status, (await signIn({ code: text })).status]).toEqual([201, 401]);
  const json = await steward("console --json");
  expect(JSON.parse(json.out)).toEqual({
    url: expect.stringContaining(`${url()}/console/#code=stc_`),
    expires_at: "2026-01-01T00:01:00.000Z",
  });
});

it.each([{ given: [] }, { given: ["--json"] }])(
  "opens the address that it prints where that is wanted: $given",
  async ({ given }) => {
    const opened: string[] = [];
    const run = (openBrowser: (address: string) => Promise<void>, ...more: readonly string[]) =>
      steward(["console", ...given, ...more], { local: { openBrowser } });
    const open = (address: string): Promise<void> => {
      opened.push(address);
      return Promise.resolve();
    };
    await run(open);
    expect(opened).toEqual([]);
    const { code, out } = await run(open, "--open");
    expect([code, opened.length, out]).toEqual([0, 1, expect.stringContaining(`${opened[0]}`)]);
    const failed = await run(() => Promise.reject(new Error("cannot open a browser: of a test")), "--open");
    expect([failed.code, failed.out]).toEqual([2, expect.stringContaining("/console/#code=stc_")]);
    expect(failed.err).toContain("cannot open a browser: of a test");
  },
);

it("shows who is signed in, and signs them out", async () => {
  expect(await steward("sessions")).toEqual({ code: 0, out: "nobody is signed in\n", err: "" });
  const { json } = await signIn({ key: service.admin });
  const { id } = json as { id: string };
  const { out } = await steward("sessions");
  expect(out).toMatch(new RegExp(`${id} +test \\(${service.admin.slice(4, 12)}\\) +192.0.2.1 .* read`));
  expect(await steward(["sessions", "end", id])).toEqual({ code: 0, out: `${id}: session ended\n`, err: "" });
  expect((await steward("sessions")).out).toBe("nobody is signed in\n");
  expect((await steward(["sessions", "end", id])).code).toBe(2);
});

it("shows passkeys, and removes them", async () => {
  expect((await steward("passkeys")).out).toBe("there are no passkeys (the page of steward console registers them)\n");
  const { id } = await registerPasskey(service);
  const { out } = await steward("passkeys");
  expect(out).toMatch(new RegExp(`${id} +laptop +test \\(${service.admin.slice(4, 12)}\\) +localhost .* never`));
  const plan = await steward(["passkeys", "remove", id, "--dry-run"]);
  expect(plan.out).toContain(`remove the passkey laptop of key ${service.admin.slice(4, 12)}`);
  expect(await steward(["passkeys", "remove", id])).toEqual({ code: 0, out: `${id}: passkey removed\n`, err: "" });
  expect((await steward(["passkeys", "remove", id])).code).toBe(2);
});
