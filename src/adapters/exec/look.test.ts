import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CommandFailed } from "./command.ts";
import type { Exec } from "./index.ts";
import { createApartLook, type Look, lookHere } from "./look.ts";

const lengths: Look<readonly string[], number> = {
  name: "lengths",
  look(paths, { begin, answer }) {
    for (const path of paths) if (begin(path)) answer(path, path.length);
  },
};
const { signal } = new AbortController();

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Plays the process of its own: paths of which the name says so give no answer or a late one, and some of those cannot be killed. */
function apart(leftBefore: readonly string[] = []) {
  const begun: string[] = [];
  const left = [...leftBefore];
  const run: Exec = (_, { input = "", signal: over, onOutput, onLeft } = {}) =>
    new Promise((resolve, reject) => {
      const { input: paths, skip } = JSON.parse(input) as { input: readonly string[]; skip: readonly string[] };
      const write = (line: unknown): void => onOutput?.(Buffer.from(`${JSON.stringify(line)}\n`));
      for (const path of paths.filter((each) => !skip.includes(each))) {
        begun.push(path);
        write([path]);
        if (path.includes("silent")) {
          over?.addEventListener("abort", () => {
            if (path.includes("unkillable")) onLeft?.(1);
            reject(new CommandFailed("killed"));
          });
          void vi.advanceTimersByTimeAsync(5_000);
          return;
        }
        if (path.includes("slow")) vi.advanceTimersByTime(4_000);
        if (over?.aborted) return reject(new CommandFailed("killed"));
        write([path, path.length]);
        if (path.includes("pause")) vi.advanceTimersByTime(4_000);
        if (over?.aborted) return reject(new CommandFailed("killed"));
      }
      resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false });
    });
  const look = createApartLook({ left: { add: (path) => void left.push(path), paths: () => left }, run });
  return { look, begun, left };
}

it("a look in this process has the answers of all paths", async () => {
  const { answers, silent, isWhole } = await lookHere(lengths, ["/a", "/bc"], signal);
  expect([[...answers], [...silent], isWhole]).toEqual([
    [
      ["/a", 2],
      ["/bc", 3],
    ],
    [],
    true,
  ]);
});

it("a path that gives no answer is passed over, and hides no other", async () => {
  const { look, begun, left } = apart();
  const { answers, silent, isWhole } = await look(lengths, ["/a", "/silent", "/bc"], signal);
  expect([[...answers.keys()], [...silent], isWhole]).toEqual([["/a", "/bc"], ["/silent"], true]);
  expect([begun, left]).toEqual([["/a", "/silent", "/bc"], []]);
});

it("a path is not looked at again while a process that cannot be killed waits for it", async () => {
  const { look, begun, left } = apart();
  for (let at = 0; at < 3; at += 1) {
    const { silent } = await look(lengths, ["/silent/unkillable"], signal);
    expect([...silent]).toEqual(["/silent/unkillable"]);
  }
  expect([begun, left]).toEqual([["/silent/unkillable"], ["/silent/unkillable"]]);
});

it("no process is started where four are left behind", async () => {
  const { look, begun } = apart(["/1", "/2", "/3", "/4"]);
  expect(await look(lengths, ["/a"], signal)).toMatchObject({ isWhole: false });
  expect(begun).toEqual([]);
});

it("a look ends when its time is over, and says that it is not whole", async () => {
  const { look } = apart();
  const paths = Array.from({ length: 9 }, (_, at) => `/silent/${at}`);
  const { silent, isWhole } = await look(lengths, paths, signal);
  expect([[...silent], isWhole]).toEqual([paths.slice(0, 3), false]);
});

it.each([
  ["during a path that may still answer", "slow", 3],
  ["between two paths", "pause", 4],
])("a look whose time is over %s keeps its answers, and calls nothing silent", async (_, name, count) => {
  const { look } = apart();
  const paths = Array.from({ length: 5 }, (_path, at) => `/${name}/${at}`);
  const { answers, silent, isWhole } = await look(lengths, paths, signal);
  expect([[...answers.keys()], [...silent], isWhole]).toEqual([paths.slice(0, count), [], false]);
});

it("who asks for the same meanwhile has the same answer", async () => {
  const { look, begun } = apart();
  await Promise.all([look(lengths, ["/silent"], signal), look(lengths, ["/silent"], signal)]);
  expect(begun).toEqual(["/silent"]);
});

it("a process that tells nothing is unavailable, with what it said", async () => {
  const run: Exec = () => Promise.resolve({ exitCode: 1, stdout: "", stderr: "no memory\n", truncated: false });
  const look = createApartLook({ left: { add: () => undefined, paths: () => [] }, run });
  await expect(look(lengths, ["/a"], signal)).rejects.toThrow(
    "cannot look at lengths in a process of its own: no memory",
  );
});
