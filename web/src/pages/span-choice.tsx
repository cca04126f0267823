import type { JSX } from "preact";
import { query, setQuery } from "../router.tsx";
import { chartTexts as texts } from "../texts/overview.ts";

/** Which time the charts show. */
export function SpanChoice(): JSX.Element {
  const isDay = query.value.get("span") === "day";
  const choice = (day: boolean, label: string): JSX.Element => (
    <button type="button" aria-pressed={isDay === day} onClick={() => setQuery({ span: day ? "day" : undefined })}>
      {label}
    </button>
  );
  return (
    <div class="segments">
      {choice(false, texts.hour)}
      {choice(true, texts.day)}
    </div>
  );
}
