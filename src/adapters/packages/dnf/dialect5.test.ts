import { describe, expect, it } from "vitest";
import type { Exec } from "#adapters/exec/index.ts";
import { appliesUpdates, dialect5 } from "./dialect5.ts";
import { openDnf } from "./host.ts";

const { signal } = new AbortController();
const clock = { monotonicMs: () => 0, sleep: () => Promise.resolve() };

/** A dnf5 that refuses these options, and the arguments that it was given. */
function refusing(refusals: Readonly<Record<string, string>>) {
  const reported: (readonly string[])[] = [];
  const exec: Exec = (argv) => {
    reported.push(argv);
    const [, stderr] = Object.entries(refusals).find(([option]) => argv.includes(option)) ?? [];
    const stdout = stderr === undefined ? "answer\n" : "";
    return Promise.resolve({ exitCode: stderr === undefined ? 0 : 2, stdout, stderr: stderr ?? "", truncated: false });
  };
  return { reported, dnf5: openDnf({ exec, clock, root: "/nowhere" }, dialect5) };
}

describe("questions to dnf5", () => {
  it.each([
    ["a version without the lock", "--setopt=skip_system_repo_lock=1", 'Option "skip_system_repo_lock" not found.'],
    ["a host without repositories", "--setopt=*.repo_gpgcheck=0", "No matching repositories for *."],
  ])("are answered by %s", async (_what, option, refusal) => {
    const { reported, dnf5 } = refusing({ [option]: refusal });
    expect(await dnf5.ask(["check-upgrade"], signal)).toBe("answer\n");
    expect(reported.map((argv) => argv.includes(option))).toEqual([true, false]);
  });

  it("fail with any other refusal, after one attempt", async () => {
    const { reported, dnf5 } = refusing({ "--json": 'Unknown argument "--json" for command "list".' });
    await expect(dnf5.ask(["history", "list", "--json"], signal)).rejects.toThrow(
      'dnf5 refuses to answer: Unknown argument "--json" for command "list".',
    );
    expect(reported).toHaveLength(1);
  });

  it("that need no repository name no repository", async () => {
    const { reported, dnf5 } = refusing({});
    await dnf5.ask([dialect5.withoutRepositories, "history", "list"], signal);
    expect(reported[0]?.filter((word) => word.includes("*"))).toEqual([]);
  });
});

it.each([
  [[], false],
  [["[commands]\napply_updates = no\n"], false],
  [["[commands]\napply_updates = no\n", "[commands]\n# apply_updates = no\napply_updates=True\n"], true],
  [["[commands]\napply_updates = yes\n", "[commands]\napply_updates = no\n"], false],
  [["apply_updates_later = yes\n", ""], false],
])("knows whether %j lets dnf5 install updates by itself", (settings, expected) => {
  expect(appliesUpdates(settings)).toBe(expected);
});
