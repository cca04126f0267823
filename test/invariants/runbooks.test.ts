import { beforeAll, describe, expect, it } from "vitest";
import { lookHere } from "#adapters/exec/look.ts";
import { createRunbooks } from "#adapters/runbooks/index.ts";
import { inertProgram } from "#cli/program.ts";
import { builtInCheckIds } from "#contract/check-meanings.ts";
import { systemMetrics } from "#contract/system-metrics.ts";
import { adviceOn } from "#domain/explain/advice.ts";
import { isWithin } from "#domain/logs/unit-pattern.ts";
import type { Runbook } from "#domain/ports/runbooks.ts";

const checkIds = builtInCheckIds.filter((id) => id !== "package_status");

let all: readonly Runbook[];
beforeAll(async () => {
  const { read } = createRunbooks({ directory: "/nowhere", look: lookHere });
  const { runbooks, faults } = await read(new AbortController().signal);
  expect(faults).toEqual([]);
  all = runbooks;
});

const codeIn = ({ body }: Runbook): readonly string[] =>
  [...body.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);

/** The words of a command, with something in the place of what a reader fills in. */
const wordsOf = (line: string): readonly string[] =>
  (line.match(/'[^']*'|\S+/g) ?? [])
    .slice(1)
    .map((word) => word.replace(/^'(.*)'$/, "$1"))
    .map((word) => (/^P?PID$/.test(word) ? "1" : word));

const checksIn = (words: readonly string[]): readonly string[] =>
  words.filter((_, at) => words[at - 1] === "--check" || (at === 1 && words[0] === "check"));

describe("the built-in runbooks", () => {
  it("are for each built-in check, and for nothing else", () => {
    const named = all.flatMap(({ appliesTo }) => appliesTo.map(({ check }) => check));
    expect(new Set(named)).toEqual(new Set(checkIds));
    expect(named).toHaveLength(checkIds.length);
  });

  it.each(checkIds)("advise on %s in a size that a model is given as a whole", (check) => {
    const { ids, omitted, redactions } = adviceOn({ runbooks: all, faults: [] }, { checks: [check] }, isWithin);
    expect([ids.length, omitted, redactions]).toEqual([1, [], 0]);
  });

  it("name commands of steward that its program takes, with figures and checks that exist", async () => {
    const lines = all.flatMap((runbook) => codeIn(runbook).map((code) => [runbook.id, code] as const));
    const commands = lines.filter(([, code]) => code.startsWith("steward "));
    expect(commands.length).toBeGreaterThan(100);
    for (const [id, line] of commands) {
      const words = wordsOf(line);
      // It has taken the words where it goes as far as what a tree for reading does not have.
      const outcome = inertProgram("1.2.3").parseAsync([...words], { from: "user" });
      await expect(outcome, `${id}: ${line}`).rejects.toThrow("cannot run a command");
      expect([line, checksIn(words).filter((check) => !checkIds.includes(check))]).toEqual([line, []]);
      const figures = words[0] === "metrics" ? words.slice(1, words.indexOf("--since")) : [];
      expect([line, figures.filter((name) => !Object.hasOwn(systemMetrics, name))]).toEqual([line, []]);
    }
  });

  it("lead to runbooks that exist", () => {
    const named = all.flatMap(({ body }) => [...body.matchAll(/(?:runbook|see) `(\w+)`/g)].map(([, id]) => id));
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((id) => !all.some((runbook) => runbook.id === id))).toEqual([]);
  });

  it("say first what is wrong, then what to look at, what fixes it and what not to do", () => {
    for (const { id, body } of all) {
      const titles = [...body.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
      expect([id, titles]).toEqual([id, ["Look, in order", "What fixes it", "What not to do"]]);
      const lines = body.split("\n").filter((line) => line !== "");
      expect([id, lines.length <= 25, body.startsWith("#")]).toEqual([id, true, false]);
    }
  });
});
