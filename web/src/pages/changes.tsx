import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Answer } from "../api/call.ts";
import { texts } from "../texts/overview.ts";
import { Lines, Time } from "../ui/parts.tsx";

export interface Change {
  readonly key: string;
  readonly at: string;
  readonly text: string;
}

/** Calls that changed something; sign-ins are not among them. */
export function callsOf({ entries }: Answer<"listAudit">): readonly Change[] {
  return entries.flatMap(({ seq, time, operation, outcome, dry_run: isDry, key_name: key, target }) => {
    const isOwn = operation === null || /Session|Ticket|Code|Passkey/.test(operation) || operation.includes(".");
    if (isOwn || isDry || outcome !== "ok") return [];
    return [{ key: `a${seq}`, at: time, text: texts.change(operation, Object.values(target ?? {}).join(", "), key) }];
  });
}

/** Changes, the newest first: a few, and the others once they are asked for. */
export function Changes(props: { readonly of: readonly Change[]; readonly few: number }): JSX.Element {
  const { of, few } = props;
  const isWhole = useSignal(false);
  return (
    <>
      <Lines
        empty={texts.noChanges}
        of={(isWhole.value ? of : of.slice(0, few)).map(({ key, at, text }) => ({
          key,
          text,
          aside: <Time at={at} />,
        }))}
      />
      {of.length > few && !isWhole.value && (
        <button type="button" class="plain pad" onClick={() => (isWhole.value = true)}>
          {texts.olderChanges(of.length - few)}
        </button>
      )}
    </>
  );
}
