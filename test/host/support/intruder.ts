import { expect } from "vitest";
import type { Session } from "./session.ts";

export const asks = "/run/steward-service/asks";
export const answers = "/run/steward-tasks";
export const asked = "/var/lib/steward/operations";
export const done = "/var/lib/steward-tasks/operations";

/** Whoever has taken over the service: writes and starts what its user may, and looks at what root has made of it. */
export function createIntruder(session: Pick<Session, "host">) {
  let made = 0;
  const newOperation = (): string => {
    made += 1;
    return `20260131-235959-999-${made.toString(16).padStart(8, "0")}`;
  };
  const newAsk = (): string => {
    made += 1;
    return `ask-${made.toString(16).padStart(32, "0")}`;
  };
  const hostile = (line: string) =>
    session.host.exec(["sh", "-ec", line], { user: "steward", allowFailure: true, timeoutMs: 60_000 });
  const must = async (line: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await hostile(line);
    expect({ line, exitCode, stderr }).toMatchObject({ exitCode: 0 });
    return stdout;
  };
  /** Starts the door, as the service does, and waits until it has closed again. */
  const open = (id: string) => hostile(`systemctl start --no-ask-password 'steward-task@${id}.service'`);
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
    must(`umask 077; mkdir -p "$(dirname ${path})"; printf %s '${text.replaceAll("'", "'\\''")}' > ${path}`);
  const rootsFile = (id: string, name: string): Promise<string | undefined> =>
    session.host.readFile(`${done}/${id}/${name}`).then(
      (text) => text,
      () => undefined,
    );
  const stateOf = async (id: string): Promise<Record<string, unknown> | undefined> => {
    const text = await rootsFile(id, "state.json");
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>);
  };
  const answerOf = (id: string): Promise<string | undefined> =>
    session.host.readFile(`${answers}/${id}.json`).then(
      (text) => text,
      () => undefined,
    );

  return { newOperation, newAsk, hostile, must, open, spec, write, rootsFile, stateOf, answerOf };
}
