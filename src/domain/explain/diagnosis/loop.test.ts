import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DiagnosisStep, diagnosisLimits } from "#contract/diagnosis.ts";
import type { Tools } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import type { ToolCalls } from "#domain/ports/connectors.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { type LoopPorts, look, type Talk } from "./loop.ts";

const messages = [
  { role: "system" as const, content: "Look." },
  { role: "user" as const, content: "Why?" },
];
const callsOf = (count: number): ToolCalls | undefined =>
  count === 0
    ? undefined
    : { calls: Array.from({ length: count }, (_, at) => ({ id: `${at}`, name: "listLogs", input: "{}" })), turn: null };

/** What a model does in a turn: how many calls it makes, what it costs, how long it takes. */
interface Turn {
  readonly calls: number;
  readonly tokens: number;
  readonly ms: number;
}

function setting(turns: readonly Turn[], tokens = diagnosisLimits.tokens as number) {
  const clock = createFakeClock();
  const asked: Parameters<Talk["ask"]>[0][] = [];
  const expected = 1000;
  let used = 0;
  const talk: Talk = {
    tokens,
    expected: () => expected,
    async ask(input) {
      const { calls, tokens: cost, ms } = turns[asked.length] ?? { calls: 1, tokens: 500, ms: 1000 };
      asked.push(input);
      await clock.advance(ms);
      const spent = Math.min(cost, expected);
      used += spent;
      const usage = { input_tokens: spent, output_tokens: 0 };
      const answer = { content: "It is so.", model: "m", connector: "c", finish_reason: "stop" as const, warnings: [] };
      return { answer: { ...answer, usage }, called: input.tools === undefined ? undefined : callsOf(calls) };
    },
  };
  const tools: Tools = { offered: () => [], call: () => Promise.resolve({ status: 200, body: { logs: [] } }) };
  const ports: LoopPorts = {
    ...{ talk, tools, clock, model: "m by c" },
    signal: new AbortController().signal,
    onCall: () => undefined,
  };
  return { ports, asked, used: () => used };
}

async function run(ports: LoopPorts) {
  const steps: DiagnosisStep[] = [];
  const looking = look(messages, [], ports);
  for (;;) {
    const next = await looking.next();
    if (next.done === true) {
      if ("refusal" in next.value) throw new Error(next.value.refusal);
      return { found: next.value, steps };
    }
    steps.push(next.value.data as DiagnosisStep);
  }
}

const turn = fc.record({ calls: fc.nat(15), tokens: fc.nat(1000), ms: fc.nat(120_000) });

describe("a model that looks for a cause", () => {
  it("keeps within its calls and tokens whatever it does, and always ends with an answer", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { maxLength: 30 }),
        fc.integer({ min: 1000, max: 20_000 }),
        async (turns, tokens) => {
          const { ports, asked, used } = setting(turns, tokens);
          const { found, steps } = await run(ports);
          expect(found.answer.content).toBe("It is so.");
          expect(found.calls.length).toBeLessThanOrEqual(diagnosisLimits.calls);
          expect(used()).toBeLessThanOrEqual(tokens);
          expect(found.usage.input_tokens).toBe(used());
          expect(found.steps).toBe(asked.length);
          expect(found.stoppedBy === null).toBe(asked.at(-1)?.tools !== undefined);
          // Each call begins, and ends before the next one begins.
          const ids = found.calls.map((_, at) => `C${at + 1}`);
          expect(found.calls.map(({ id }) => id)).toEqual(ids);
          expect(steps.map(({ id, status }) => [id, status])).toEqual(
            ids.flatMap((id) => [
              [id, null],
              [id, 200],
            ]),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it("makes no further call of a turn when its time is over", async () => {
    const { ports } = setting([{ calls: 5, tokens: 1, ms: 100_000 }]);
    const slow: Tools["call"] = async () => {
      await (ports.clock as ReturnType<typeof createFakeClock>).advance(25_000);
      return { status: 200, body: {} };
    };
    const { found } = await run({ ...ports, tools: { ...ports.tools, call: slow } });
    expect([found.calls.length, found.stoppedBy]).toEqual([4, "time"]);
  });

  it("is reported where a call takes too long, and where it cannot be made", async () => {
    const { ports, asked } = setting([
      { calls: 3, tokens: 1, ms: 1 },
      { calls: 0, tokens: 1, ms: 1 },
    ]);
    const clock = ports.clock as ReturnType<typeof createFakeClock>;
    const aborted: boolean[] = [];
    const answers: readonly Tools["call"][] = [
      (_, __, { signal }) => {
        signal.addEventListener("abort", () => aborted.push(true));
        // Once its time is measured.
        void Promise.resolve().then(() => clock.advance(31_000));
        return new Promise(() => undefined);
      },
      () => Promise.reject(new DomainError("NOT_FOUND", "there is no tool listLogs")),
      () => Promise.resolve({ status: 200, body: undefined }),
    ];
    let calls = 0;
    const call: Tools["call"] = (...given) => {
      calls += 1;
      return answers[calls - 1]?.(...given) ?? Promise.reject(new Error("called too often"));
    };
    const { found } = await run({ ...ports, tools: { ...ports.tools, call } });
    expect(found.calls.map(({ status, error_code: code }) => [status, code])).toEqual([
      [503, "UNAVAILABLE"],
      [404, "NOT_FOUND"],
      [200, null],
    ]);
    expect(aborted).toEqual([true]);
    expect(asked[1]?.exchanges?.[0]?.answers).toEqual([
      expect.stringContaining("no answer within 30 s"),
      expect.stringContaining("there is no tool listLogs"),
      expect.stringContaining("narrow it"),
    ]);
  });

  it("ends with what is no error of a call", async () => {
    const { ports } = setting([{ calls: 1, tokens: 1, ms: 1 }]);
    const call = () => Promise.reject(new TypeError("a fault of the service"));
    await expect(run({ ...ports, tools: { ...ports.tools, call } })).rejects.toThrow("a fault of the service");
    const notPlanned = { status: 200, body: { success: true }, planned: { arguments: {}, reason: null } };
    const carriesOut = () => Promise.resolve(notPlanned);
    await expect(run({ ...ports, tools: { ...ports.tools, call: carriesOut } })).rejects.toThrow("was not a plan");
  });
});
