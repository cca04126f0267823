import type { HealthFrame, StreamHandlers, StreamSession, streams } from "#contract/streams.ts";
import { invalid } from "#domain/common/error.ts";
import { defined } from "#kernel/values.ts";
import type { CheckRun, CheckRunner } from "./runner.ts";

export interface HealthStreamPorts {
  readonly runner: Pick<CheckRunner, "ids" | "runMissing">;
  readonly encode: (text: string) => Uint8Array;
  readonly onTrouble: (error: unknown) => void;
}

/** `/ws/health`. Each frame is encoded once, for all clients and those that come later. */
export function createHealthStream(ports: HealthStreamPorts): {
  readonly open: StreamHandlers<typeof streams>["health"];
  readonly publish: (run: CheckRun) => void;
  readonly forget: (checkId: string) => void;
} {
  const { runner, encode, onTrouble } = ports;
  const sessions = new Set<StreamSession>();
  const latest = new Map<string, Uint8Array>();

  return {
    open: () => (session) => {
      const current = runner.ids.flatMap((id) => latest.get(id) ?? []);
      if (current.length > 0) session.send(current);
      sessions.add(session);
      // Checks that have never run send a frame when they have.
      runner.runMissing().catch(onTrouble);
      return {
        receive() {
          throw invalid("type", "this stream takes no messages", "cannot accept this message: this stream takes none");
        },
        dispose: () => sessions.delete(session),
      };
    },
    publish({ result, previousStatus }) {
      const frame: HealthFrame = { ...result, ...defined({ previous_status: previousStatus }) };
      const encoded = encode(JSON.stringify(frame));
      const frames = [encoded];
      latest.set(result.check_id, encoded);
      for (const session of sessions) session.send(frames);
    },
    forget: (checkId) => latest.delete(checkId),
  };
}
