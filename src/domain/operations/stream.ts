import type { OperationFrame, StreamHandlers, StreamSession, streams } from "#contract/streams.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { toOperationEntry } from "./handlers.ts";
import type { Operations } from "./operations.ts";
import { isFinished, type Operation } from "./state.ts";

/** Named in a cursor; more do not run at once, since they share a lock. */
const maxNamed = 8;
const cursorShape = /^[0-9a-z-]{1,64}(?:~[0-9a-z-]{1,64}){0,8}$/;

const isOpen = ({ state }: Operation): boolean => !isFinished(state.status);

/** Where a client that was disconnected continues: the newest operation that it knows, and those whose end it has not seen. */
function cursorOf(all: readonly Operation[]): string {
  const newest = all[0]?.spec.id ?? "0";
  const open = all.filter(isOpen).slice(0, maxNamed);
  return [newest, ...open.map(({ spec }) => spec.id)].join("~");
}

/** Whether a client may not have seen how an operation is by now. */
function isMissedAfter(cursor: string): (operation: Operation) => boolean {
  const [newest = "", ...open] = cursor.split("~");
  return ({ spec }) => spec.id > newest || open.includes(spec.id);
}

/** `/ws/operations`. Each frame is encoded once, for all clients. */
export function createOperationStream(ports: {
  readonly operations: Pick<Operations, "get" | "list" | "follow">;
  readonly encode: (text: string) => Uint8Array;
}): StreamHandlers<typeof streams>["operations"] {
  const { operations, encode } = ports;
  const sessions = new Map<StreamSession, string | undefined>();
  let stop: (() => void) | undefined;

  const frameOf = (operation: Operation, cursor: string): Uint8Array => {
    const frame: OperationFrame = { ...toOperationEntry(operation), cursor };
    return encode(JSON.stringify(frame));
  };

  const publish = (operation: Operation): void => {
    const frames = [frameOf(operation, cursorOf(operations.list()))];
    for (const [session, id] of sessions) if (id === undefined || id === operation.spec.id) session.send(frames);
  };

  /** What a client gets first: what it asked for, else what runs, and what it has missed. */
  const current = ({ id, cursor }: { id?: string; cursor?: string }): readonly Uint8Array[] => {
    const all = operations.list();
    const isMissed = cursor === undefined ? () => false : isMissedAfter(cursor);
    const wanted = all.filter((each) => (id === undefined ? isOpen(each) || isMissed(each) : each.spec.id === id));
    const now = cursorOf(all);
    return wanted.toReversed().map((each) => frameOf(each, now));
  };

  return (query) => {
    const { id, cursor } = query;
    if (cursor !== undefined && !cursorShape.test(cursor)) throw invalid("cursor", "Must be a cursor of this stream");
    if (id !== undefined && operations.get(id) === undefined)
      throw new DomainError("NOT_FOUND", `cannot find operation ${id}`, { id });
    return (session) => {
      const frames = current(query);
      if (frames.length > 0) session.send(frames);
      sessions.set(session, id);
      stop ??= operations.follow(publish);
      return {
        receive() {
          throw invalid("type", "this stream takes no messages", "cannot accept this message: this stream takes none");
        },
        dispose() {
          sessions.delete(session);
          if (sessions.size > 0) return;
          stop?.();
          stop = undefined;
        },
      };
    };
  };
}
