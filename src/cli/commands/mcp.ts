import { resolve } from "node:path";
import { Argument } from "commander";
import { type McpOptions, sendMcp } from "#client/mcp.ts";
import { isRecord } from "#kernel/values.ts";
import type { Command } from "../core/command.ts";
import { explainError } from "../core/errors.ts";
import type { CommandPorts, ServiceOptions } from "../core/ports.ts";
import { quoted } from "../core/service.ts";
import { patientFetch } from "../core/transport.ts";

type Message = Readonly<Record<string, unknown>>;

const internalError = -32_603;
const parseError = -32_700;

const errorAnswer = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message } });

function parsed(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The request that a notification of the client cancels. */
function cancelledBy({ method, params }: Message): unknown {
  return method === "notifications/cancelled" && isRecord(params) ? params["requestId"] : undefined;
}

/** The revision that an answer to a handshake names. */
function agreedIn(answer: string): string | undefined {
  const { result } = parsed(answer) ?? {};
  const version = isRecord(result) ? result["protocolVersion"] : undefined;
  return typeof version === "string" ? version : undefined;
}

/** A message that answers a request. A refusal that names none is the answer to the one that was sent. */
function answerTo(id: unknown, line: string): string | undefined {
  const message = parsed(line);
  if (message === undefined || message["method"] !== undefined) return undefined;
  return message["id"] === null && "error" in message ? JSON.stringify({ ...message, id }) : line;
}

const brokenOff = "the answer broke off: what was asked may have been done (look before it is asked again)";

/** Passes messages on to the service and its answers back, a line each, until the input ends and all is answered. */
async function relay(
  lines: AsyncIterable<string>,
  options: Omit<McpOptions, "signal" | "revision">,
  write: (line: string) => void,
): Promise<void> {
  const atWork = new Map<unknown, AbortController>();
  let revision: string | undefined;
  const answer = async (message: Message): Promise<void> => {
    const { id, method } = message;
    const isRequest = id !== undefined && method !== undefined;
    const ended = new AbortController();
    if (isRequest) atWork.set(id, ended);
    // Anyone who cancels a request waits for no answer; everybody else has one.
    let isAwaited = isRequest;
    const fail = (why: string): void => {
      if (isAwaited && !ended.signal.aborted) write(errorAnswer(id, internalError, why));
    };
    try {
      for await (const line of sendMcp({ ...options, revision, signal: ended.signal }, message)) {
        if (method === "initialize") revision = agreedIn(line) ?? revision;
        const last = isRequest ? answerTo(id, line) : undefined;
        if (last !== undefined) isAwaited = false;
        write(last ?? line);
      }
      fail(brokenOff);
    } catch (error) {
      fail(explainError(error));
    } finally {
      if (atWork.get(id) === ended) atWork.delete(id);
    }
  };
  const all = new Set<Promise<void>>();
  for await (const line of lines) {
    if (line.trim() === "") continue;
    const message = parsed(line);
    if (message === undefined) {
      write(errorAnswer(null, parseError, "a line must be one JSON object"));
      continue;
    }
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) {
      atWork.get(cancelled)?.abort();
      continue;
    }
    const work = answer(message).finally(() => all.delete(work));
    all.add(work);
    // The revision that it agrees on belongs to all that follows.
    if (message["method"] === "initialize") await work;
  }
  await Promise.all(all);
}

const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;
const toml = (args: readonly string[]): string =>
  `[mcp_servers.steward]\ncommand = "steward"\nargs = ${JSON.stringify(args)}\n`;
const servers = (args: readonly string[]): string => json({ mcpServers: { steward: { command: "steward", args } } });

/** What a client must be configured with, and where. */
const clients: Readonly<Record<string, readonly [place: string, settings: (args: readonly string[]) => string]>> = {
  "claude-code": ["a terminal", (args) => `claude mcp add steward -- steward ${args.map(quoted).join(" ")}\n`],
  "claude-desktop": ["claude_desktop_config.json (Settings, Developer, Edit Config)", servers],
  codex: ["~/.codex/config.toml", toml],
  cursor: ["~/.cursor/mcp.json", servers],
  gemini: ["~/.gemini/settings.json", servers],
  vscode: [".vscode/mcp.json", (args) => json({ servers: { steward: { type: "stdio", command: "steward", args } } })],
};

/** The options of this command line that lead to the same service, from whatever directory a client starts it in. */
const optionsOf = ({ context, url, keyFile }: ServiceOptions): readonly string[] => [
  ...(context === undefined ? [] : ["--context", context]),
  ...(url === undefined ? [] : ["--url", url]),
  ...(keyFile === undefined ? [] : ["--key-file", resolve(keyFile)]),
];

export function addMcpCommands(program: Command, ports: CommandPorts): void {
  const { io, connect, local, given } = ports;
  const mcp = program
    .command("mcp")
    .description("let language models use this host's operations, by the Model Context Protocol");
  mcp
    .presetCommand("serve")
    .description("speak the protocol on standard input and output, with the key of this command line")
    .option(
      "--toolsets <names>",
      "sets of tools, with commas: default, all, health, system, packages, updates and other tags",
    )
    .notes(`A client starts it; \`steward mcp install <client>\` prints how. What the key may not do, no model can do with it, and what is
dangerous takes the token of a plan. Give it a key of its own: \`steward keys create model --scope viewer\`.`)
    .action(async ({ toolsets }: { toolsets?: string }, command: Command) => {
      const { url, key, fetch = patientFetch } = await connect(command, { fetch: patientFetch });
      await relay(local.inputLines(), { url, key, fetch, toolsets }, (line) => io.out(`${line}\n`));
    });
  mcp
    .command("install")
    .description("print the settings with which a client starts it; nothing is written")
    .addArgument(new Argument("<client>", "the client").choices(Object.keys(clients)))
    .action((client: string, _: object, command: Command) => {
      const found = clients[client];
      if (found === undefined) return;
      const [place, settings] = found;
      io.err(`For ${place}:\n`);
      io.out(settings([...optionsOf(given(command)), "mcp"]));
    });
}
