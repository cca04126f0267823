import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CommandFailed } from "./command.ts";
import type { Exec } from "./index.ts";
import { createApartLook, type Look, lookHere, serveLook } from "./look.ts";

const lengths: Look<readonly string[], number> = {
  name: "lengths",
  look(paths, { begin, answer }) {
    for (const path of paths) if (begin(path)) answer(path, path.length);
  },
};
const { signal } = new AbortController();

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const mountinfo = ["/ 8:1", "/home 8:1", "/nfs 0:50", "/net 0:51"]
  .map((mount, at) => {
    const [path = "", device = ""] = mount.split(" ");
    return `${at + 2} ${at === 0 ? 1 : 2} ${device} / ${path} rw - ext4 source rw`;
  })
  .join("\n");

/**
 * Plays the kernel below the process of its own: paths of which the name says so give no answer or a late one, and some of those
 * cannot be killed.
 */
function apart(leftBefore: readonly string[] = [], leftBy = lengths.name) {
  const started: string[] = [];
  const left = leftBefore.map((path) => ({ name: leftBy, path }));
  const run: Exec = (_, { input = "", signal: over, onOutput, onLeft } = {}) => {
    const spend = (ms: number): void => {
      vi.advanceTimersByTime(ms);
      if (over?.aborted) throw new CommandFailed("killed");
    };
    const look: Look<readonly string[], number> = {
      name: lengths.name,
      look: (paths, { begin, answer }) =>
        lengths.look(paths, {
          begin(path) {
            if (!begin(path)) return false;
            started.push(path);
            over?.addEventListener("abort", () => {
              if (path.includes("unkillable")) onLeft?.(1);
            });
            if (path.includes("silent")) spend(5_000);
            if (path.includes("slow")) spend(4_000);
            return true;
          },
          answer(path, length) {
            answer(path, length);
            if (path.includes("pause")) spend(4_000);
          },
        }),
    };
    const write = (text: string): void => onOutput?.(Buffer.from(text));
    return new Promise((resolve) => {
      serveLook(look, { read: () => input, write, mountinfo: () => mountinfo });
      resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false });
    });
  };
  const look = createApartLook({
    left: {
      add: (name, path) => void left.push({ name, path }),
      paths: (name) => left.filter((each) => each.name === name).map(({ path }) => path),
    },
    run,
  });
  return { look, started, left: () => left.map(({ path }) => path) };
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
  const { look, started, left } = apart();
  const { answers, silent, isWhole } = await look(lengths, ["/a", "/silent", "/bc"], signal);
  expect([[...answers.keys()], [...silent], isWhole]).toEqual([["/a", "/bc"], ["/silent"], true]);
  expect([started, left()]).toEqual([["/a", "/silent", "/bc"], []]);
});

it("a path is not inspected again while a process that cannot be killed waits for it", async () => {
  const { look, started, left } = apart();
  for (let at = 0; at < 3; at += 1) {
    const { silent } = await look(lengths, ["/silent/unkillable"], signal);
    expect([...silent]).toEqual(["/silent/unkillable"]);
  }
  expect([started, left()]).toEqual([["/silent/unkillable"], ["/silent/unkillable"]]);
});

it("the paths on the mount of a silent one are passed over as silent, and those on others are inspected", async () => {
  const { look, started } = apart();
  const paths = ["/nfs/silent/unkillable", "/nfs/2", "/etc/a\0/nfs/3", "/net/4", "/root/5", "/nfsd/6"];
  for (let at = 0; at < 2; at += 1) {
    const { answers, silent, isWhole } = await look(lengths, paths, signal);
    expect([[...answers.keys()], [...silent], isWhole]).toEqual([paths.slice(3), paths.slice(0, 3), true]);
  }
  expect(started).toEqual([...paths.slice(0, 1), ...paths.slice(3), ...paths.slice(3)]);
});

it("the paths of a directory on the root file system are passed over when four are silent, and others are inspected", async () => {
  const paths = ["/home/silent/4", "/home/5", "/root/6"];
  const before = ["/home/1", "/home/2", "/home/3"];
  const first = apart(before);
  expect([...(await first.look(lengths, paths, signal)).answers.keys()]).toEqual(["/root/6"]);
  expect(first.started).toEqual(["/home/silent/4", "/root/6"]);
  const second = apart(before.slice(1));
  expect([...(await second.look(lengths, paths, signal)).answers.keys()]).toEqual(["/home/5", "/root/6"]);
});

it("the processes that other looks leave behind hide no path", async () => {
  const { look } = apart(["/nfs/1", "/net/2", "/home/3", "/home/4", "/home/5", "/home/6"], "others");
  const { answers, isWhole } = await look(lengths, ["/nfs/7", "/home/8"], signal);
  expect([[...answers.keys()], isWhole]).toEqual([["/nfs/7", "/home/8"], true]);
});

it("a look ends when its time is over, and says that it is incomplete", async () => {
  const { look } = apart();
  const paths = Array.from({ length: 9 }, (_, at) => `/${at}/silent`);
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
  const { look, started } = apart();
  await Promise.all([look(lengths, ["/silent"], signal), look(lengths, ["/silent"], signal)]);
  expect(started).toEqual(["/silent"]);
});

it("a process that says nothing is unavailable, with what it said", async () => {
  const run: Exec = () => Promise.resolve({ exitCode: 1, stdout: "", stderr: "no memory\n", truncated: false });
  const look = createApartLook({ left: { add: () => undefined, paths: () => [] }, run });
  await expect(look(lengths, ["/a"], signal)).rejects.toThrow(
    "cannot look at lengths in a process of its own: no memory",
  );
});

it("a look ends where nobody waits for it any more, and not before", async () => {
  const runs: AbortSignal[] = [];
  const run: Exec = (_, { signal: over = signal } = {}) =>
    new Promise((_resolve, reject) => {
      runs.push(over);
      over.addEventListener("abort", () => reject(new CommandFailed("killed")));
    });
  const look = createApartLook({ left: { add: () => undefined, paths: () => [] }, run });
  const [one, other] = [new AbortController(), new AbortController()];
  const [first, second] = [one, other].map((each) => look(lengths, ["/a"], each.signal));
  one.abort(new Error("one has gone"));
  await expect(first).rejects.toThrow("one has gone");
  expect(runs.map(({ aborted }) => aborted)).toEqual([false]);
  other.abort(new Error("all have gone"));
  await expect(second).rejects.toThrow("all have gone");
  expect(runs.map(({ aborted }) => aborted)).toEqual([true]);
});
