import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { exitCode } from "#cli/output/output.ts";
import { describeMismatch } from "#client/answer.ts";
import { operations } from "#contract/index.ts";
import { type Operation, Plan } from "#contract/operation.ts";
import { type CliRun, type CliSetting, runInProcess } from "../api/cli-run.ts";
import { type AnsweringServer, httpAnswer, startAnsweringServer } from "./support/answering-server.ts";
import { askingCommands, commandNames, endingAtFirstText, withoutService } from "./support/cli-commands.ts";
import { answerTo, rowOf, terminalText } from "./support/hostile-service.ts";

let server: AnsweringServer;
beforeAll(async () => {
  server = await startAnsweringServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.answer = () => undefined;
});

const run = (argv: readonly string[], setting: CliSetting = {}, key = "stw_x"): Promise<CliRun> =>
  runInProcess(["--url", server.url, ...argv], {
    ...endingAtFirstText(argv),
    ...setting,
    environment: { STEWARD_API_KEY: key },
    local: { redact: (text) => Promise.resolve(text), ...setting.local },
  });

const commands = askingCommands();
const named = commands.map((argv) => [argv.join(" "), argv] as const);

const esc = String.raw`\u001b`;
const ownStyles = new RegExp(`${esc}\\[(?:[124]|2[24]|3[1-69])m`, "gu");

/** What a terminal acts upon, with what is around it; styles that the program itself has are left out where it has any. */
function actedUpon({ out, err }: CliRun, hasColours = false): string | undefined {
  const text = out + err;
  const plain = hasColours ? text.replaceAll(ownStyles, "") : text;
  const found = /.{0,60}(?:[^\n\t\P{Cc}]|[\u202a-\u202e\u2066-\u2069]).{0,60}/u.exec(plain)?.[0];
  return found === undefined ? undefined : JSON.stringify(found);
}

/** What the program says when it runs into what it did not expect. */
const breakdown =
  /TypeError|SyntaxError|RangeError|is not a function|is not iterable|Cannot read prop|of (undefined|null)\b|is not valid JSON|Invalid time value|\n\s+at /;

it("the command lines of these tests are of every command", () => {
  const covered = commandNames.filter((name) => commands.some((argv) => argv.join(" ").startsWith(name)));
  expect([...covered, ...withoutService].sort()).toEqual([...commandNames].sort());
});

describe("text for terminals in an answer", () => {
  const answers = {
    answers: ({ method, url }: { method: string; url: string }) => {
      const [name, operation] = rowOf(method, url) ?? [];
      const answer = operation && JSON.stringify(answerTo({ query: url, operation, text: terminalText }));
      const isEvent = name === "diagnose" && !url.includes("preview=true");
      return answer && httpAnswer(isEvent ? `event: done\ndata: ${answer}\n\n` : answer);
    },
    errors: () => {
      const error = { code: "CONFLICT", message: terminalText, details: { [terminalText]: terminalText } };
      return httpAnswer(JSON.stringify({ error }), { status: "409 Conflict" });
    },
  };

  it.each(named)("is printed as nothing but text: %s [terminal-escapes]", async (_, argv) => {
    for (const [kind, answer] of Object.entries(answers)) {
      server.answer = answer;
      for (const setting of [{}, { columns: 80, hasColours: true, hasErrorColours: true }]) {
        const ended = await run(argv, setting);
        expect([kind, actedUpon(ended, "columns" in setting)]).toEqual([kind, undefined]);
        expect([kind, ended.out + ended.err]).not.toEqual([kind, expect.stringMatching(breakdown)]);
        expect(ended.out + ended.err).not.toBe("");
        // The answer is one that the command takes; chat wants events, api diagnose none, and there is no plugin x.
        const isOther = argv[1] === "diagnose" || (argv[0] === "chat" && argv.includes("hello"));
        const isRefused = kind === "errors" || argv[0] === "x" || isOther;
        if (!isRefused) expect([ended.err, ended.code]).not.toEqual([ended.err, exitCode.couldNotRun]);
      }
    }
  });
});

describe("what a plugin prints", () => {
  it("is text at a terminal, and in a pipe too", async () => {
    const printed = `one\ttwo\r\nthree\n${terminalText}`;
    server.answer = ({ method, url }) => {
      const [name, operation] = rowOf(method, url) ?? [];
      if (name === "listPlugins")
        return httpAnswer('{"error":{"code":"FORBIDDEN","message":"no"}}', { status: "403 F" });
      return operation && httpAnswer(JSON.stringify(answerTo({ query: url, operation, text: printed })));
    };
    for (const setting of [{}, { columns: 80, hasColours: true, hasErrorColours: true }]) {
      const ended = await run(["x", "word"], setting);
      expect(ended.out).toMatch(/^one\ttwo\nthree\nx/);
      expect(actedUpon(ended)).toBeUndefined();
    }
  });
});

/** Calls whose answers are not JSON: they are passed on as they are. */
const notJson = new Set(
  Object.entries<Operation>(operations)
    .filter(([, { mediaType, mediaTypes }]) => mediaType !== undefined || mediaTypes !== undefined)
    .map(([name]) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)),
);

/** How a command ends that was given no answer of Steward. A report says what it lacks, and is made. */
function failedBy(argv: readonly string[]): number {
  if (argv[0] === "report") return exitCode.fine;
  return argv.includes("--nagios") ? 3 : exitCode.couldNotRun;
}

describe("an answer of the wrong shape", () => {
  let runs = 0;
  const anything = fc.jsonValue({ maxDepth: 2 });
  /** Which member of an answer is something else, counted over all of them, and what. */
  const change = fc.record({ at: fc.nat(), value: fc.option(anything, { nil: undefined }), isWhole: fc.boolean() });

  /** Changes one member somewhere in a value, or leaves it out. */
  function changed(value: unknown, at: number, to: unknown): unknown {
    let count = 0;
    const sizeOf = (each: unknown): number =>
      typeof each === "object" && each !== null
        ? Object.values(each).reduce((sum: number, one) => sum + 1 + sizeOf(one), 0)
        : 0;
    const target = at % Math.max(1, sizeOf(value));
    const walk = (each: unknown): unknown => {
      if (typeof each !== "object" || each === null) return each;
      const members = Object.entries(each).flatMap(([name, member]) => {
        count += 1;
        if (count - 1 !== target) return [[name, walk(member)] as const];
        return to === undefined ? [] : [[name, to] as const];
      });
      return Array.isArray(each) ? members.map(([, member]) => member) : Object.fromEntries(members);
    };
    return walk(value);
  }

  it.each(named)("is reported as not an answer of Steward: %s", async (_, argv) => {
    await fc.assert(
      fc.asyncProperty(change, async ({ at, value, isWhole }) => {
        let wrong = false;
        let asked = 0;
        // A command that has ended may have left requests on their way.
        runs += 1;
        const own = `stw_${runs}`;
        server.answer = ({ method, url, key }) => {
          const [, operation] = rowOf(method, url) ?? [];
          if (operation === undefined || key !== own) return undefined;
          asked += 1;
          const good = answerTo({ query: url, operation, text: "x" });
          const body = isWhole && value !== undefined ? value : changed(good, at, value);
          const schema = url.includes("dry_run=true") ? Plan : operation.response;
          wrong ||=
            operation.mediaType === undefined &&
            operation.mediaTypes === undefined &&
            describeMismatch(schema, body) !== undefined;
          return httpAnswer(JSON.stringify(body));
        };
        const { code, out, err } = await run(argv, {}, own);
        expect(asked).toBeGreaterThan(0);
        expect(out + err).not.toMatch(breakdown);
        if (!wrong) return;
        expect(out + err).toMatch(/not an answer of Steward|a dry run with something else|the answer broke off/);
        expect(code).toBe(failedBy(argv));
      }),
      { numRuns: 12 },
    );
  });

  it.each([[["operations", "watch", "x"]], [["operations", "watch", "x", "--json"]]])(
    "is not waited for where an operation has ended in a way of a later service: %j",
    async (argv) => {
      server.answer = ({ method, url }) => {
        const [, operation] = rowOf(method, url) ?? [];
        const good = operation && answerTo({ query: url, operation, text: "x" });
        return httpAnswer(JSON.stringify({ ...Object(good), status: "cancelled" }));
      };
      const { code, err } = await run(argv);
      expect({ code, err }).toEqual({ code: exitCode.foundTrouble, err: "x\nsteward: x x ended as cancelled\n" });
    },
  );

  it.each(named)("that is not JSON is reported as not an answer of Steward: %s", async (_, argv) => {
    server.answer = () => httpAnswer(`{"a":${terminalText}}`);
    const ended = await run(argv);
    expect(actedUpon(ended)).toBeUndefined();
    if (argv[0] === "api" && notJson.has(argv[1] ?? "")) return;
    expect(ended.out + ended.err).toMatch(/not an answer of Steward|the answer broke off/);
    expect(ended.code).toBe(failedBy(argv));
  });
});

describe("a connection that goes wrong", () => {
  const bell = "\u001b]0;owned\u0007\u001b]52;c;eA==\u0007\u009b31m\r\b\u007f";
  const long = "x".repeat(3_000_000);
  const error = (message: string) => JSON.stringify({ error: { code: "CONFLICT", message } });
  const wires: readonly [string, string | Buffer | undefined][] = [
    ["a reset", undefined],
    ["nothing", ""],
    ["no HTTP", `${bell}\r\n\r\n`],
    ["a status line with controls", Buffer.from(`HTTP/1.1 200 ${bell}\r\nContent-Length: 0\r\n\r\n`, "latin1")],
    ["a status that is none", `HTTP/1.1 9${bell}\r\n\r\n`],
    ["a refusal with a reason that has controls", httpAnswer("{}", { status: `418 ${bell.replaceAll("\r", "")}` })],
    ["a page of HTML", httpAnswer(`<title>${bell}</title>`, { status: "502 Bad Gateway" })],
    [
      "a request id with controls",
      httpAnswer(error("x"), { status: "409 C", headers: ["X-Request-Id: \u009b31m\u0085"] }),
    ],
    ["a long message", httpAnswer(error(long), { status: "409 Conflict" })],
    ["a long line that is not JSON", httpAnswer(long)],
    ["a redirect", httpAnswer("", { status: "302 Found", headers: ["Location: http://127.0.0.1:1/\u009b31m"] })],
    ["a redirect nowhere", httpAnswer("", { status: "302 Found", headers: ["Location: \u009b\u0085:"] })],
    ["a wait that is none", httpAnswer(error("x"), { status: "429 T", headers: ["Retry-After: \u009b31m"] })],
    ["a body that is cut off", httpAnswer('{"total":').subarray(0, -3)],
    ["chunks that are none", `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${bell}\r\n`],
    ["a coding that is none", `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n${bell}`],
  ];
  const some = commands.filter((argv) =>
    [
      "status",
      "services list --json",
      "api list-services",
      "check x --nagios",
      "x word",
      "logs",
      "doctor",
      "chat hello",
    ].includes(argv.join(" ")),
  );

  it.each(wires)("shows nothing but text, and ends with 2: %s", async (_, answer) => {
    server.answer = () => answer;
    for (const argv of some) {
      const ended = await run(argv);
      expect([argv, actedUpon(ended)]).toEqual([argv, undefined]);
      expect([argv, ended.out + ended.err]).not.toEqual([argv, expect.stringMatching(breakdown)]);
      expect([argv, ended.code]).toEqual([argv, argv.includes("--nagios") ? 3 : exitCode.couldNotRun]);
      const longest = Math.max(...(ended.out + ended.err).split("\n").map(({ length }) => length));
      expect(longest).toBeLessThan(5_000);
    }
  });

  it("is an error of each host that is asked", async () => {
    server.answer = () => httpAnswer(`{"services":${bell}`);
    const directory = mkdtempSync(join(tmpdir(), "steward-answers-"));
    mkdirSync(join(directory, "steward"));
    writeFileSync(join(directory, "key"), "stw_x\n", { mode: 0o600 });
    const context = { url: server.url, key_file: join(directory, "key") };
    writeFileSync(join(directory, "steward/contexts.yaml"), JSON.stringify({ contexts: { a: context, b: context } }));
    const ended = await runInProcess(["--context", "a,b", "services", "list", "--json"], {
      environment: { XDG_CONFIG_HOME: directory },
    });
    rmSync(directory, { recursive: true });
    expect(actedUpon(ended)).toBeUndefined();
    expect(ended.code).toBe(exitCode.couldNotRun);
    expect(JSON.parse(ended.out)).toEqual(
      ["a", "b"].map((context) => ({ context, ok: false, error: expect.stringMatching(/not an answer of Steward/) })),
    );
  });
});

describe("names that a person gives", () => {
  const hostile = "x\u001b]0;owned\u0007\u009b2J\u202e";
  it.each([
    ["an address", ["--url", `http://${hostile}/`, "status"]],
    ["an address of another scheme", ["--url", `${hostile}:/`, "status"]],
    ["a key file", ["--key-file", `/nowhere/${hostile}`, "status"]],
    ["a certificate", ["--cacert", `/nowhere/${hostile}`, "status"]],
    ["a context", ["--context", hostile, "status"]],
    ["several contexts", ["--context", `${hostile},b`, "status"]],
    ["a command", [hostile]],
    ["an option", [`--${hostile}`]],
    ["a word of a command", ["services", "restart", hostile]],
    ["a choice", ["services", "list", "--status", hostile]],
    ["a body", ["api", "create-key", "--data", `{${hostile}`]],
    ["a file with a body", ["api", "create-key", "--data", `@/nowhere/${hostile}`]],
    ["a time", ["logs", "--since", hostile]],
    ["a directory", ["plugins", "new", hostile]],
  ])("are shown as text: %s", async (_, argv) => {
    server.answer = () => httpAnswer("{}", { status: "404 Not Found" });
    const ended = await run(argv);
    expect(ended.out + ended.err).not.toBe("");
    expect(actedUpon(ended)).toBeUndefined();
    expect(ended.out + ended.err).not.toMatch(breakdown);
  });
});

describe("a stream that goes wrong", () => {
  const list = answerTo({ query: "", operation: operations.listLogs, text: terminalText }) as {
    logs: readonly object[];
  };
  const [first] = list.logs;
  const error = { type: "error", message: terminalText, error: { code: "CONFLICT", message: terminalText } };
  const cases: readonly [string, (socket: WebSocket) => void, RegExp][] = [
    ["what is not JSON", (socket) => socket.send(`{${terminalText}`), /not an answer of Steward \(it is not JSON\)/],
    ["what is no frame", (socket) => socket.send('{"logs":1}'), /not an answer of Steward \(/],
    ["bytes", (socket) => socket.send(Buffer.from([0, 27, 155])), /not an answer of Steward \(/],
    [
      "an end with a reason that has controls",
      (socket) => socket.close(4401, "\u001b]0;x\u0007\u009b2J"),
      /UNAUTHORIZED/,
    ],
    [
      "an entry and an error with controls, and an end",
      (socket) => {
        socket.send(JSON.stringify(first));
        socket.send(JSON.stringify(error));
        socket.close(1008, "x");
      },
      /CONFLICT/,
    ],
  ];

  it("of pages that repeats itself ends the reading of all entries", async () => {
    server.answer = () => httpAnswer(JSON.stringify(list));
    const ended = await run(["logs", "-n", "all", "-o", "export"]);
    expect([ended.code, ended.err]).toEqual([exitCode.couldNotRun, expect.stringContaining("the same page")]);
  });

  it.each(cases)("ends the command, and shows nothing but text: %s", async (_, send, message) => {
    const http = createServer((request, response) => {
      const [, operation] = rowOf(request.method, request.url) ?? [];
      const answer = operation && answerTo({ query: request.url ?? "", operation, text: "x" });
      // No page after this one.
      response.end(JSON.stringify({ ...(answer as object), next_cursor: null }));
    });
    const sockets = new WebSocketServer({ server: http });
    sockets.on("connection", send);
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const address = http.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    try {
      for (const more of [[], ["-o", "json"]]) {
        const argv = ["--url", `http://127.0.0.1:${port}`, "logs", "-f", ...more];
        const ended = await runInProcess(argv, { environment: { STEWARD_API_KEY: "stw_x" } });
        expect([ended.code, ended.err]).toEqual([exitCode.couldNotRun, expect.stringMatching(message)]);
        expect(actedUpon(ended)).toBeUndefined();
      }
    } finally {
      sockets.close();
      http.closeAllConnections();
      http.close();
    }
  });
});
