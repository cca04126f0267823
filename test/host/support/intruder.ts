import { expect } from "vitest";
import { installedPrograms } from "../program.ts";
import type { Session } from "./session.ts";

export const socket = "/run/steward-tasks/requests.sock";
export const asked = "/var/lib/steward/operations";
export const done = "/var/lib/steward-tasks/operations";

/** Sends what is on standard input, keeps its side open, and prints what comes back until the other side ends. */
const sender = `
const socket = require("node:net").connect(process.argv[1], () => process.stdin.on("data", (chunk) => socket.write(chunk)));
socket.on("error", (error) => { console.error(error.code); process.exitCode = 1; });
socket.on("close", () => process.stdin.destroy());
socket.pipe(process.stdout);
`;

/** Anyone who has taken over the service: writes and starts what its user may, and looks at what root has made of it. */
export function createIntruder(session: Pick<Session, "host">) {
  let made = 0;
  const newOperation = (): string => {
    made += 1;
    return `20260131-235959-999-${made.toString(16).padStart(8, "0")}`;
  };
  const newRequest = (): string => {
    made += 1;
    return `request-${made.toString(16).padStart(32, "0")}`;
  };
  const hostile = (line: string) =>
    session.host.exec(["sh", "-ec", line], { user: "steward", allowFailure: true, timeoutMs: 60_000 });
  const must = async (line: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await hostile(line);
    expect({ line, exitCode, stderr }).toMatchObject({ exitCode: 0 });
    return stdout;
  };
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  /** Sends text to root's side, as the service does, and waits until that has ended. */
  const send = (text: string, user = "steward") =>
    session.host.exec(
      ["sh", "-ec", `printf %s ${quoted(text)} | ${installedPrograms[0]} -e ${quoted(sender)} ${socket}`],
      { user, allowFailure: true, timeoutMs: 60_000 },
    );
  /** Sends a request; its answer, undefined when there was none. */
  const request = async (task: string, input: unknown, id = newRequest()): Promise<unknown> => {
    const { stdout } = await send(`${JSON.stringify({ id, task, input })}\n`);
    const last = stdout.trim().split("\n").at(-1) ?? "";
    return last === "" ? undefined : (JSON.parse(last) as unknown);
  };
  const runOperation = (id: string) => request("operation.run", {}, id);
  const spec = (id: string, over: object = {}): string =>
    JSON.stringify({
      id,
      kind: "snapshots.create",
      input: { description: "honest" },
      createdAt: 1_760_000_000_000,
      keyId: null,
      idempotencyKey: null,
      ...over,
    });
  const write = (path: string, text: string): Promise<string> =>
    must(`umask 077; mkdir -p "$(dirname ${path})"; printf %s ${quoted(text)} > ${path}`);
  const rootsFile = (id: string, name: string): Promise<string | undefined> =>
    session.host.readFile(`${done}/${id}/${name}`).then(
      (text) => text,
      () => undefined,
    );
  const stateOf = async (id: string): Promise<Record<string, unknown> | undefined> => {
    const text = await rootsFile(id, "state.json");
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
  };

  return { newOperation, newRequest, hostile, must, send, request, runOperation, spec, write, rootsFile, stateOf };
}
