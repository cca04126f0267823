import type { JSX } from "preact";
import { useCall } from "../api/resource.ts";
import { texts } from "../texts/services.ts";
import { local } from "../ui/format.ts";
import { Loaded } from "../ui/parts.tsx";

const toneOf = (priority: number): string | undefined => (priority <= 3 ? "bad" : priority === 4 ? "warn" : undefined);

/** The end of the log of a unit. */
export function UnitLog({ unit }: { readonly unit: string }): JSX.Element {
  const answer = useCall("listLogs", { query: { unit, limit: 20 } }, { every: 5000 });
  return (
    <Loaded of={answer}>
      {({ logs }) =>
        logs.length === 0 ? (
          <p class="quiet">{texts.noLog}</p>
        ) : (
          <ol class="log-end">
            {logs.map(({ cursor, timestamp, priority, message }) => (
              <li key={cursor} class={toneOf(priority)}>
                <time dateTime={timestamp}>{local(timestamp).slice(5)}</time>
                <span>{message}</span>
              </li>
            ))}
          </ol>
        )
      }
    </Loaded>
  );
}
