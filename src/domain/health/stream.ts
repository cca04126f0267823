import type { HealthFrame, StreamHandlers, StreamSession, streams } from "#contract/streams.ts";
import { invalid } from "#domain/common/error.ts";
import type { CheckRun, CheckRunner } from "./runner.ts";

export interface HealthStreamPorts {
  readonly runner: Pick<CheckRunner, "ids" | "runMissing">;
  readonly encode: (text: string) => Uint8Array;
  /** Told when a run for a client fails, for the log. */
  readonly onTrouble: (error: unknown) => void;
}

/** `/ws/health`. Every frame is made once, when its run ends, for all clients there are and for those that come later. */
export function createHealthStream(ports: HealthStreamPorts): {
  readonly open: StreamHandlers<typeof streams>["health"];
  /** Tells all clients of a run. */
  readonly publish: (run: CheckRun) => void;
  /** Has nothing to say of a check any more. */
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
      // Those that have never run tell of themselves when they have.
      runner.runMissing().catch(onTrouble);
      return {
        receive() {
          throw invalid("type", "None is known here", "cannot accept this message: this stream takes none");
        },
        dispose: () => sessions.delete(session),
      };
    },
    publish({ result, previousStatus }) {
      const frame: HealthFrame = {
        ...result,
        ...(previousStatus !== undefined && { previous_status: previousStatus }),
      };
      const frames = [encode(JSON.stringify(frame))];
      for (const each of frames) latest.set(result.check_id, each);
      for (const session of sessions) session.send(frames);
    },
    forget: (checkId) => latest.delete(checkId),
  };
}
