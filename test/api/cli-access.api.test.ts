import { expect, it } from "vitest";
import { formatTime } from "#cli/output/text.ts";
import { scopes } from "#contract/scopes.ts";
import type { WindowPlan } from "#domain/access/window-gate.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { send, startTestService, type TestService } from "./harness.ts";
import { registerPasskey } from "./passkeys.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward, url } = useSteward(async () => {
  service = await startTestService();
  return service;
});

const run = (key: string, ...argv: readonly string[]) => steward(argv, { environment: { STEWARD_API_KEY: key } });
const idIn = (text: string): string => /steward approve (\S+)/.exec(text)?.[1] ?? "";

it("steward approve, deny and approvals cancel take the id that the refused call printed", async () => {
  const proposer = service.key(["propose:services:restart", "system:read"]);
  const approver = service.key(scopes);
  const restart = () => run(proposer, "--proposal-reason", "it hangs", "services", "restart", "cron");
  const waits = await restart();
  expect([waits.code, waits.err]).toEqual([1, expect.stringContaining("nothing was done yet")]);
  expect(service.units.actions).toEqual([]);
  const id = idIn(waits.err);
  const list = await run(approver, "approvals", "--status", "pending");
  expect(list.out).toMatch(new RegExp(`${id} +restartService +pending`));
  const shown = await run(approver, "approvals", "show", id);
  expect(shown.out).toContain("it hangs");
  const own = await run(proposer, "approve", id, "--yes");
  expect([own.code, own.err]).toEqual([2, expect.stringContaining("this key has proposed it")]);
  const approved = await run(approver, "approve", id, "--yes", "--reason", "continue");
  expect([approved.code, approved.out]).toEqual([0, expect.stringContaining(`${id}: done`)]);
  expect(service.units.actions).toEqual(["restart cron.service"]);

  const denied = idIn((await restart()).err);
  expect(await run(approver, "deny", denied, "--reason", "not today")).toMatchObject({ code: 0 });
  const cancelled = idIn((await restart()).err);
  expect((await run(proposer, "approvals", "cancel", cancelled)).out).toContain("is cancelled");
  expect(service.units.actions).toEqual(["restart cron.service"]);
});

it("steward --wait-for-approval waits for the decision", async () => {
  const proposer = service.key(["propose:services:restart", "system:read"]);
  const waiting = run(proposer, "--wait-for-approval", "services", "restart", "cron");
  const list = async () =>
    JSON.parse((await run(service.admin, "approvals", "--json")).out) as { approvals: { id: string }[] };
  let [approval] = (await list()).approvals;
  while (approval === undefined) [approval] = (await list()).approvals;
  expect((await run(service.admin, "approve", approval.id, "--yes")).code).toBe(0);
  const { code, err } = await waiting;
  expect([code, err]).toEqual([0, expect.stringContaining(": done")]);
});

it("steward approve shows the new plan and asks again where the plan has changed", async () => {
  const { packageManager } = service;
  const offer = (version: string) => packageManager.repository.set("editor", { version, isSecurity: false });
  const installed = () => packageManager.packages.get("editor")?.version;
  /** Approves while each version in turn is offered once a plan was shown. */
  const approve = (id: string, offered: readonly string[], answers?: readonly string[]) => {
    const left = [...offered];
    return steward(["approve", id, ...(answers === undefined ? ["--yes"] : [])], {
      ...(answers && { answers }),
      onText(text) {
        const next = text.startsWith("approved by") ? left.shift() : undefined;
        if (next !== undefined) offer(next);
      },
    });
  };
  offer("2.0");
  const key = service.key(["propose:updates:apply"]);
  const made = await send(service, { method: "POST", path: "/api/v1/updates/apply", key, body: {} });
  const { id } = made.json as { id: string };
  const refused = await approve(id, ["3.0", "4.0"], ["y", "y", "n"]);
  const again = "something has changed since the plan was made";
  expect([refused.code, refused.err.split(again).length]).toEqual([1, 3]);
  for (const text of ["to 2.0", "new: update editor from 1.0 to 4.0", "nothing was done"])
    expect(refused.err).toContain(text);

  // With --yes nobody would look at the new plan.
  const unseen = await approve(id, ["5.0"]);
  expect([unseen.code, unseen.err]).toEqual([2, expect.stringContaining("the plan has changed")]);
  expect(installed()).toBe("1.0");

  const approved = approve(id, ["6.0"], ["y", "y"]);
  let isOver = false;
  void approved.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await service.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const done = await approved;
  expect([done.code, done.out, installed()]).toEqual([0, expect.stringContaining(`${id}: done`), "6.0"]);
});

it("steward approvals watch lists waiting calls again with each change, until Ctrl-C", async () => {
  const key = service.key(["propose:services:restart"]);
  const restart = { method: "POST", path: "/api/v1/system/services/cron/restart", key } as const;
  const propose = async () => ((await send(service, restart)).json as { id: string }).id;
  const ctrlC = new AbortController();
  const lists: string[][] = [];
  let text = "";
  const known: string[] = [];
  const steps = [
    async () => void known.push(await propose()),
    async () => void known.push(await propose()),
    // One that ends, and one that begins, before it asks again.
    async () => {
      const path = `/api/v1/approvals/${known[0]}/deny`;
      await send(service, { method: "POST", path, key: service.admin });
      known.push(await propose());
    },
  ];
  const onText = (more: string): void => {
    text += more;
    let answer: { approvals: { id: string }[] };
    try {
      answer = JSON.parse(text) as typeof answer;
    } catch {
      return;
    }
    text = "";
    lists.push(answer.approvals.map(({ id }) => id).toSorted());
    const step = steps.shift();
    const isLast =
      steps.length === 0 && answer.approvals.length === 2 && !answer.approvals.some(({ id }) => id === known[0]);
    if (isLast) ctrlC.abort();
    else void step?.();
  };
  const watched = await steward("approvals watch --json", { interrupt: ctrlC.signal, onText });
  expect(watched.code).toBe(130);
  const [first = "", second = "", third = ""] = known;
  expect(lists.slice(0, 3)).toEqual([[], [first], [first, second].toSorted()]);
  expect(lists.at(-1)).toEqual([second, third].toSorted());
});

const signIn = (body: unknown) => send(service, { method: "POST", path: "/api/v1/auth/sessions", body });

it("steward console prints an address that signs in once", async () => {
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
  "steward console --open opens the address that it prints: $given",
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

it("steward sessions lists sessions, and ends one", async () => {
  expect(await steward("sessions")).toEqual({ code: 0, out: "nobody is signed in\n", err: "" });
  const { json } = await signIn({ key: service.admin });
  const { id } = json as { id: string };
  const { out } = await steward("sessions");
  expect(out).toMatch(new RegExp(`${id} +test \\(${service.admin.slice(4, 12)}\\) +192.0.2.1 .* read`));
  expect(await steward(["sessions", "end", id])).toEqual({ code: 0, out: `${id}: session ended\n`, err: "" });
  expect((await steward("sessions")).out).toBe("nobody is signed in\n");
  expect((await steward(["sessions", "end", id])).code).toBe(2);
});

it("steward passkeys lists passkeys, and removes one", async () => {
  expect((await steward("passkeys")).out).toBe("there are no passkeys (the page of steward console registers them)\n");
  const { id } = await registerPasskey(service);
  const { out } = await steward("passkeys");
  expect(out).toMatch(new RegExp(`${id} +laptop +test \\(${service.admin.slice(4, 12)}\\) +localhost .* never`));
  const plan = await steward(["passkeys", "remove", id, "--dry-run"]);
  expect(plan.out).toContain(`remove the passkey laptop of key ${service.admin.slice(4, 12)}`);
  expect(await steward(["passkeys", "remove", id])).toEqual({ code: 0, out: `${id}: passkey removed\n`, err: "" });
  expect((await steward(["passkeys", "remove", id])).code).toBe(2);
});

const dayMs = 86_400_000;
const window = (name: string, delayMs: number, rest: Partial<WindowPlan>): WindowPlan => ({
  ...{ name, cron: "0 0 * * *", timezone: undefined, allow: [], deny: [], isSilent: false, ...rest },
  times: { calendar: createFakeCalendar(dayMs), durationMs: dayMs / 24, delayMs },
});

it("steward windows lists windows, also where there are none", async () => {
  expect(await steward("windows")).toEqual({ code: 0, out: "no windows: changes are allowed at any time\n", err: "" });
  service.service.replaceWindows([
    window("night", 0, { allow: ["updates:apply"], isSilent: true }),
    window("freeze", 3_600_000, { deny: ["services:control", "system:reboot"] }),
  ]);
  const { code, out } = await steward("windows");
  expect(code).toBe(0);
  const [end, next] = ["2026-01-01T01:00:00Z", "2026-01-02T00:00:00Z"].map(formatTime);
  expect(out).toContain(`night   open until ${end}  ${next}  allows updates:apply; silent\n`);
  expect(out).toMatch(/freeze +closed +20.* forbids services:control system:reboot\n/);
});

it("a change outside a window is refused with its next opening, in its plan too, and is overridden", async () => {
  service.service.replaceWindows([window("night", 3_600_000, { allow: ["services:restart"] })]);
  const sentence = `cannot use services:restart:cron.service outside the window night: it is allowed from ${formatTime("2026-01-01T01:00:00Z")} on`;
  const refused = await steward("services restart cron");
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(sentence)]);
  const planned = await steward("services restart cron --dry-run");
  expect([planned.code, planned.out]).toEqual([0, expect.stringContaining(`would be refused now: ${sentence}`)]);
  expect(service.units.actions).toEqual([]);
  const overridden = await steward(["--override-window", "it burns", "services", "restart", "cron"]);
  expect(overridden.code).toBe(0);
  expect(service.units.actions).toEqual(["restart cron.service"]);
  expect(service.audit.entries.at(-1)).toMatchObject({ target: { window: "night", window_override: "it burns" } });
});
