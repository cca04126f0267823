import { beforeAll, describe, expect, it } from "vitest";
import type { ErrorBody } from "#contract/error-body.ts";
import type { LogList } from "#contract/logs.ts";
import { unpredictableText } from "../journals/unpredictable-text.ts";
import { sendNative, synced } from "./support/journal.ts";
import { describeOnHost } from "./support/session.ts";

const bait = `${"a".repeat(60)}!`;
/** Takes exponential time where an engine tries one way after the other. */
const evil = "^(a|aa)+$";
/** Linear, and dear: a thousand ways at once through a megabyte in which no place is like another. */
const dear = "[ab]*a[ab]{1000}c";
const open = 20;

describeOnHost("searches on the installed service", (session) => {
  let [attacker, victim] = ["", ""];
  const search = async (key: string, grep: string | undefined, signal?: AbortSignal) => {
    const query = new URLSearchParams({ since: "1970-01-01T00:00:00Z", limit: "5", ...(grep && { grep }) });
    const response = await fetch(`${session.service.url}/api/v1/system/logs?${query.toString()}`, {
      headers: { "X-API-Key": key },
      ...(signal && { signal }),
    });
    const body = (await response.json()) as LogList | ErrorBody;
    return { status: response.status, body, retryAfter: response.headers.get("Retry-After") };
  };
  const many = (grep: string, signal?: AbortSignal) =>
    Array.from({ length: open }, () => search(attacker, grep, signal));
  /** What the other key gets meanwhile. */
  const expectServed = async (): Promise<void> => {
    expect(await search(victim, "needle 4711")).toMatchObject({ status: 200, body: { total: 1 } });
    expect(await search(victim, undefined)).toMatchObject({ status: 200, body: { logs: expect.any(Array) } });
    expect((await session.api.getHealth()).components).toMatchObject({ cli: true });
  };

  beforeAll(async () => {
    await session.host.exec(["useradd", "--create-home", "--shell", "/bin/sh", "casual"]);
    const lines = [...Array.from({ length: 20 }, () => bait), "needle 4711", unpredictableText(1_000_000)];
    // Whoever may log can lay the bait.
    await sendNative(
      session,
      lines.map((line) => [["MESSAGE", line]]),
      { user: "casual" },
    );
    await synced(session);
    const make = async (name: string) => (await session.api.createKey({ body: { name, scopes: ["logs:read"] } })).key;
    [attacker, victim] = [await make("attacker"), await make("victim")];
  });

  it("with an evil expression are all answered, and hold up no other key", async () => {
    const attack = many(evil);
    await expectServed();
    for (const { status, body } of await Promise.all(attack)) {
      expect(status === 200 ? (body as LogList).total : (body as ErrorBody).error.code).toBe(
        status === 200 ? 0 : "RATE_LIMITED",
      );
    }
  });

  it("that are dear take turns: two of a key run, eight wait, and those beyond are told when to try again", async () => {
    const gone = new AbortController();
    const answers: Awaited<ReturnType<typeof search>>[] = [];
    const attack = many(dear, gone.signal).map((each) =>
      each.then(
        (answer) => answers.push(answer),
        () => undefined,
      ),
    );
    await expectServed();
    // Ten of them may be there at once, so that ten are refused, whatever else becomes of them.
    await Promise.race([Promise.all(attack), expect.poll(() => answers.length).toBeGreaterThanOrEqual(10)]);
    for (const { status, body, retryAfter } of answers.slice(0, 10)) {
      expect([status, (body as ErrorBody).error.code]).toEqual([429, "RATE_LIMITED"]);
      expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
    }
    gone.abort();
    await Promise.all(attack);
    // Nothing of theirs goes on: their key searches again, as soon as the service has heard that they are gone.
    await expect.poll(() => search(attacker, "needle 4711")).toMatchObject({ status: 200, body: { total: 1 } });
  });

  it.each(["a(?=b)", "(a)\\1", "(a{1,1000}){1,1000}"])(
    "are refused where their time has no bound: %s",
    async (grep) => {
      expect(await search(victim, grep)).toMatchObject({
        status: 400,
        body: { error: { code: "VALIDATION_ERROR", details: { field: "grep" } } },
      });
    },
  );
});

describe("budgets", () => {
  describeOnHost("of the installed service", (session) => {
    it("go on after a restart of the unit, and after it was killed", async () => {
      const service = await session.host.startService({
        config: "rate_limits: { per_minute: 1000, per_hour: 1000 }\n",
      });
      const left = async (): Promise<number> => {
        const answer = await fetch(`${service.url}/api/v1/auth/whoami`, { headers: { "X-API-Key": service.adminKey } });
        return Number(answer.headers.get("X-RateLimit-Remaining"));
      };
      for (let count = 0; count < 30; count += 1) await left();
      await service.restart();
      expect(await left()).toBe(1000 - 31);
      await session.host.exec(["systemctl", "kill", "--signal=KILL", "steward.service"]);
      await service.restart();
      expect(await left()).toBeLessThanOrEqual(1000 - 32);
    });
  });
});
