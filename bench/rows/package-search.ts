import { existsSync } from "node:fs";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import { Versioned } from "#contract/operation.ts";
import { packagesHandlers } from "#domain/packages/handlers.ts";
import { compare, type Row, type Subject } from "../row.ts";

/** A pair of each is searched in a round. None is a part of another. */
const words = ["nginx", "compression", "postgres", "spreadsheet", "firmware", "telescope", "haskell", "subtitle"];

const timeoutMs = 300_000;

const subject: Subject = {
  work: "search of packages over the lists of this machine, another word each time",
  peer: "`apt search`",
  unit: "ms",
  judged: "peer/ours",
  goal: { is: "at least", value: 5 },
};

/** The handler, with what it asks of the lists: what HTTP adds stands in the row `info`. */
function openSearch() {
  const manager = apt.open({ exec, clock: systemClock, needsReboot: () => Promise.resolve(false) });
  const handlers = packagesHandlers({
    manager: () => Promise.resolve(manager),
    maySee: () => true,
    seesAll: () => true,
  });
  const { signal } = new AbortController();
  const context = {
    caller: undefined,
    signal: () => signal,
    prefersAsync: () => false,
    prefersWaitMs: () => undefined,
    idempotencyKey: () => undefined,
    touched: () => undefined,
    drawsOn: () => undefined,
    planned: () => undefined,
    windowOverride: () => undefined,
    answerIsSecret: () => undefined,
    checkWindows: () => undefined,
    tools: () => undefined,
    login: () => {
      throw new Error("cannot sign in here");
    },
    afterReply: () => undefined,
  };
  return async (search: string) => {
    const answer = await handlers.searchPackages({ query: { search } }, context);
    const list = answer instanceof Versioned ? answer.make() : answer;
    if (!("total" in list)) throw new Error("cannot measure the search: its answer is not a list of packages");
    return list.total;
  };
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
  const from = performance.now();
  const result = await work();
  return { ms: performance.now() - from, result };
}

export const packageSearch: Row = {
  name: "package-search",
  summary: "search over the lists of packages of this machine against apt search as a process",
  async measure({ say, ...options }) {
    if (!existsSync("/usr/bin/apt")) return [{ ...subject, skipped: "there is no apt" }];
    const search = openSearch();
    const first = await timed(() => search("dpkg"));
    const listed = await search("");
    say(`${listed} packages, the first search took ${Math.round(first.ms)} ms`);
    let round = 0;
    const wordOf = (): string => words[round % words.length] ?? "";
    const ours = async (): Promise<number> => (await timed(() => search(wordOf()))).ms;
    const peers = async (): Promise<number> => {
      const { ms } = await timed(() => exec(["/usr/bin/apt", "search", "--", wordOf()], { timeoutMs }));
      // It shows names alone, one in each line. `apt search` leaves out names that packages provide.
      const { stdout } = await exec(["/usr/bin/apt-cache", "search", "--", wordOf()], { timeoutMs });
      const its = stdout.split("\n").filter((line) => line !== "").length;
      if ((await search(wordOf())) !== its) throw new Error(`cannot compare: apt-cache finds others for ${wordOf()}`);
      round += 1;
      return ms;
    };
    const notes = () => [
      `${listed} packages; \`apt-cache search\` finds as many for each word`,
      `the first search, which reads the lists, took ${Math.round(first.ms)} ms`,
    ];
    return [await compare(subject, { ours, peer: peers, notes }, { say, ...options })];
  },
};
