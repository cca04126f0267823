import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { refreshAll } from "../api/resource.ts";
import { openStream } from "../api/stream.ts";
import { Link } from "../router.tsx";
import { actionTexts as texts } from "../texts/shell.ts";
import { Meter } from "./parts.tsx";

export const isOver = ({ status }: Pick<OperationEntry, "status">): boolean => status === "done" || status === "failed";

/** An operation as it comes along; it is found again after a lost connection and after a restart of the service. */
export function useOperation(id: string, onEnd?: () => void): OperationEntry | undefined {
  const entry = useSignal<OperationEntry | undefined>(undefined);
  useEffect(() => {
    const stream = openStream("operations", {
      query: () => ({ id }),
      onFrame: (frame) => {
        if (typeof frame !== "object" || frame === null || !("id" in frame)) return;
        entry.value = frame as OperationEntry;
        if (!isOver(entry.value)) return;
        stream.close();
        refreshAll();
        onEnd?.();
      },
    });
    return stream.close;
  }, [id]);
  return entry.value;
}

/** How far an operation is, and how it ended. */
export function OperationProgress({ id, onEnd }: { readonly id: string; readonly onEnd?: () => void }): JSX.Element {
  const entry = useOperation(id, onEnd);
  const message = (entry?.result as { message?: string } | null | undefined)?.message;
  return (
    <div class="progress" role="status">
      {entry !== undefined && entry.status !== "failed" && (
        <Meter
          value={entry.progress.percent}
          label={entry.progress.step}
          tone={entry.status === "done" ? "ok" : "info"}
        />
      )}
      <p>{entry === undefined ? texts.running : entry.progress.step}</p>
      {entry?.status === "done" && <p class="hint ok">{message ?? texts.done}</p>}
      {entry?.status === "failed" && <p class="hint bad">{entry.error?.message}</p>}
      {(entry === undefined || !isOver(entry)) && <p class="quiet">{texts.inBackground}</p>}
      <Link to="operations" query={{ id }}>
        {texts.operation}
      </Link>
    </div>
  );
}
