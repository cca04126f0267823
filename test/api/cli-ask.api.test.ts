import { describe, expect, it } from "vitest";
import type { DiagnosisPreview } from "#contract/diagnosis.ts";
import type { ChatReply } from "#domain/ports/connectors.ts";
import { createFakeChatProvider, type FakeChatProvider } from "../fakes/chat-provider.ts";
import { refusal } from "./cli-run.ts";
import { startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
let model: FakeChatProvider;
/** What the model calls, one turn after another, before it answers. */
let turns: readonly (readonly (readonly [name: string, given: object])[])[];
let content: string;
const { steward } = useSteward(async () => {
  turns = [];
  content = "It \u001b[31mended [C1]. Stop cron now.";
  model = createFakeChatProvider({
    answer({ exchanges = [] }): Partial<ChatReply> {
      const calls = turns[exchanges.length]?.map(([name, given], at) => ({
        ...{ id: `call-${at}`, name },
        input: JSON.stringify(given),
      }));
      return { content, ...(calls && { called: { calls, turn: undefined } }) };
    },
  });
  const definition = {
    ...{ name: "local", provider: "Fake", model: "fake-1", timeoutMs: 120_000 },
    access: { provider: model },
  };
  const plan = { default: "local", connectors: [definition], budgetOf: () => undefined };
  service = await startTestService({ loadConnectors: () => Promise.resolve({ plan, discovery: undefined }) });
  return service;
});

describe("steward ask", () => {
  it("shows the answer, the calls, and what is proposed with the command that carries it out", async () => {
    turns = [
      [["getService", { name: "backup.service" }]],
      [
        ["stopService", { name: "cron.service", stated_reason: "It holds the lock." }],
        ["listLogs", { limit: "many" }],
      ],
    ];
    const { code, out, err } = await steward(["ask", "why", "is", "backup", "down"], { columns: 80 });
    expect(code).toBe(0);
    expect(out).toMatch(
      /^It .*ended \[C1\]\. Stop cron now\.\n\nIt called:\n {2}C1 getService name=backup\.service: 200, /,
    );
    expect(out).not.toContain("\u001b");
    expect(out).toContain("C2 stopService name=cron.service stated_reason=It holds the lock.: planned, not done\n");
    expect(out).toContain("C3 listLogs limit=many: 400 VALIDATION_ERROR\n");
    expect(out).toMatch(
      /\nproposed: stopService \(It holds the lock\.\)\n {2}1\. stop cron\.service\n[^$]* {2}steward .*api stop-service cron\.service\n$/,
    );
    expect(err).toContain("fake-1 by local: 3 calls, cites 1, ");
    expect(err).toContain("steward: without evidence: Stop cron now.\n");
    expect(model.calls[0]?.messages[1]?.content).toMatch(/^why is backup down\n/);
    const proposed = /steward (.*)\n$/.exec(out)?.[1] ?? "";
    expect(service.units.actions).toEqual([]);
    expect((await steward([...proposed.split(" "), "--yes"])).code).toBe(0);
    expect(service.units.actions).toEqual(["stop cron.service"]);
  });

  it("quotes what a model has chosen, so that a shell runs nothing of it", async () => {
    turns = [[["createSnapshot", { description: "$(reboot) it's `x`; -- \n next" }]]];
    const { out } = await steward("ask what now");
    expect(out).toMatch(/ api create-snapshot --data '\{"description":"\$\(reboot\) it'\\''s `x`; -- \\n next"\}'\n$/);
  });

  it("asks about a check and a unit, and shows what would be sent without sending it", async () => {
    const { out } = await steward("ask --unit cron --preview");
    expect(out).toMatch(/^--- system\n[\s\S]*--- user\n[\s\S]*cron\.service: active[\s\S]*--- operations\n.*listLogs/);
    const asked = ["ask", "--unit", "cron", "--check", "plain", "--connector", "local"];
    const preview = JSON.parse((await steward([...asked, "--preview", "--json"])).out) as DiagnosisPreview;
    expect(model.calls).toEqual([]);
    expect(JSON.parse((await steward([...asked, "--json"])).out)).toMatchObject({ check: { check_id: "plain" } });
    expect(model.calls[0]?.messages).toEqual(preview.messages);
  });

  it("says why it looked no further", async () => {
    turns = Array.from({ length: 13 }, () => [["listServices", {}] as const]);
    expect((await steward("ask why")).err).toContain("steward: it looked no further: it may make no more calls\n");
  });

  it.each([
    [["ask"], /no question was given/],
    [["ask", "--connector", "none", "x"], /NOT_FOUND/],
    [["ask", "--unit", "nothing"], /cannot find the unit nothing\.service/],
  ] as const)("refuses %j with exit code 2", async (argv, message) => {
    expect(await steward(argv)).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });

  it("is refused without the scope, and ended by Ctrl-C", async () => {
    const environment = { STEWARD_API_KEY: service.key(["health:read"]) };
    expect(await steward("ask why", { environment })).toMatchObject(refusal("lacks the scope connectors:chat"));
    const ctrlC = new AbortController();
    model.hold();
    const running = steward("ask why", { interrupt: ctrlC.signal });
    await expect.poll(() => model.calls.length).toBe(1);
    ctrlC.abort();
    expect(await running).toMatchObject({ code: 130, err: "steward: ended by Ctrl-C\n" });
  });
});
