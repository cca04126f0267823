import { describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { streams } from "#contract/streams.ts";
import { filesBelow, read } from "../invariants/project.ts";
import { places } from "./support/hostile-requests.ts";

const sources = filesBelow("src").filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
const linesWith = (pattern: RegExp): readonly string[] =>
  sources.flatMap((path) =>
    read(path)
      .split("\n")
      .filter((line) => pattern.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );

describe("a process killed by a number or a name that others wrote", () => {
  it("is in no source: signals go to the groups of commands that the service has started itself, and where an operation says so [foreign-pids]", () => {
    // Itself it may end as a signal would have.
    expect(linesWith(/\.kill\((?!process\.pid,)/)).toEqual([
      'src/adapters/exec/command.ts: process.kill(-pid, "SIGKILL");',
      // Of `signalProcess`: by number and start, and by the policy of restarts.
      `src/adapters/procfs/processes.ts: process.kill(pid, \`SIG$\{signal}\`);`,
    ]);
    expect(linesWith(/[[(]\s*["'`](\/\S*\/)?(pkill|killall|kill|fuser|skill)["'`],/)).toEqual([]);
    // Of systemd only units are asked to end, by names that the service has made itself.
    expect(linesWith(/\b(KillUnit|QueueSignalUnit|KillUnitSubgroup)\b/)).toEqual([]);
  });
});

describe("server-side request forgery", () => {
  it("has no way in: no input of an operation or a stream is an address [request-forgery]", () => {
    const names = [
      ...places.map(({ operation, name }) => `${operation} ${name}`),
      ...Object.entries(streams).flatMap(([stream, { query, clientFrame }]) =>
        [query, clientFrame].flatMap((schema) =>
          Object.keys((schema as { properties?: object }).properties ?? {}).map((name) => `${stream} ${name}`),
        ),
      ),
    ];
    expect(names.length).toBeGreaterThan(60);
    const word =
      /(^|[^a-z])(url|uri|host|addr|address|endpoint|server|webhook|proxy|callback|redirect|port)s?([^a-z]|$)/i;
    expect(word.test("body.webhook_url")).toBe(true);
    expect(names.filter((name) => word.test(name))).toEqual([]);
  });
});

describe("code made from text", () => {
  it("is in no source: what comes from others is never evaluated [processes-of-attackers]", () => {
    // One constant, by which Node gives out its collector of garbage.
    expect(linesWith(/\beval\(|new Function\(|\bvm\b.*(run|Script)|node:vm|\brunIn\w+\(|setTimeout\(["'`]/)).toEqual([
      'src/app/heap.ts: import { runInNewContext } from "node:vm";',
      'src/app/heap.ts: const collector = runInNewContext("gc") as NodeJS.GCFunction;',
    ]);
    // A module that is loaded later is named in the source, not by what was read.
    expect(linesWith(/\bimport\((?!["'`])/).filter((line) => !/import\(\s*$/.test(line))).toEqual([]);
    // The one that there is stands in the text of a program that systemd runs to try itself out.
    expect(linesWith(/\brequire\(/).map((line) => line.split(":")[0])).toEqual(["src/adapters/plugins/index.ts"]);
  });
});

describe("rights that nobody gave", () => {
  it("have no operation without a scope but those that say nothing about the host [forgotten-authorisation]", () => {
    const open = Object.entries<Operation>(operations).filter(([, { scope }]) => scope === "public");
    // To begin a session the credential is in the body; what a passkey signs for it is a random number.
    expect(open.map(([name]) => name)).toEqual([
      "getLiveness",
      "getReadiness",
      "createSession",
      "getPasskeyRequestOptions",
    ]);
    // Any valid key, one without scopes too: what it is itself, and nothing of the host. Approvals are shown to, and decided by, those
    // who have proposed them or have all their scopes.
    const self = Object.entries<Operation>(operations).filter(([, { scope }]) => scope === "self");
    expect(self.map(([name]) => name)).toEqual([
      "whoami",
      "canI",
      "createToken",
      ...["elevateSession", "listSessions", "endSession", "createCode", "createTicket"],
      ...["getPasskeyCreationOptions", "createPasskey", "listPasskeys", "removePasskey"],
      ...["listApprovals", "getApproval", "approve", "deny", "cancelApproval"],
    ]);
  });
});
