import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useCall } from "../../api/resource.ts";
import { setQuery } from "../../router.tsx";
import { texts } from "../../texts/logs.ts";
import { Icon } from "../../ui/icons.tsx";
import { type Filters, isFilteredHere, isOpen, ranges } from "./filters.ts";

export const searchField = "log-search";
const typedMs = 500;

/** The expression, which is looked for once nobody types any more. */
function Search({ grep }: { readonly grep: string | undefined }): JSX.Element {
  const text = useSignal(grep ?? "");
  const sent = useRef(text.value);
  // What somebody has typed since it was sent stays.
  useEffect(() => {
    if (sent.current !== (grep ?? "")) text.value = grep ?? "";
    sent.current = grep ?? "";
  }, [grep]);
  const search = (): void => {
    sent.current = text.value;
    setQuery({ grep: text.value });
  };
  useEffect(() => {
    if (text.value === (grep ?? "")) return undefined;
    const timer = setTimeout(search, typedMs);
    return () => clearTimeout(timer);
  }, [text.value]);
  return (
    <form
      class="log-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <input
        id={searchField}
        type="search"
        class="mono"
        aria-label={texts.search}
        placeholder={texts.searchHint}
        autocomplete="off"
        spellcheck={false}
        maxLength={1024}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape") currentTarget.blur();
        }}
      />
    </form>
  );
}

const two = (value: number): string => String(value).padStart(2, "0");
/** A time as a field for dates takes it: of this browser's zone. */
function fieldOf(text: string | undefined): string {
  if (text === undefined || Number.isNaN(Date.parse(text))) return "";
  const at = new Date(text);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function Between({ since, until }: Filters): JSX.Element {
  const change = (name: "since" | "until", value: string): void =>
    setQuery({ [name]: value === "" ? undefined : new Date(value).toISOString() });
  return (
    <>
      {(["since", "until"] as const).map((name) => (
        <input
          key={name}
          type="datetime-local"
          step="1"
          aria-label={name === "since" ? texts.from : texts.to}
          title={name === "until" ? texts.toEmpty : undefined}
          value={fieldOf(name === "since" ? since : until)}
          onChange={({ currentTarget }) => change(name, currentTarget.value)}
        />
      ))}
    </>
  );
}

/** Which journal; nothing where there is one alone. */
function Namespace({ namespace }: Filters): JSX.Element | null {
  const { data } = useCall("listLogFieldValues", {
    params: { name: "_NAMESPACE" },
    query: { namespace: "*", limit: 100 },
  });
  const names = (data?.values ?? []).flatMap(({ text }) => (text === undefined ? [] : [text])).sort();
  if (names.length === 0 && namespace === undefined) return null;
  const known =
    namespace === undefined || namespace === "*" || names.includes(namespace) ? names : [...names, namespace];
  return (
    <select
      aria-label={texts.namespace}
      value={namespace ?? ""}
      onChange={({ currentTarget }) => setQuery({ namespace: currentTarget.value })}
    >
      <option value="">{texts.defaultNamespace}</option>
      <option value="*">{texts.everyNamespace}</option>
      {known.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

export interface ToolbarProps {
  readonly filters: Filters;
  /** When what is shown begins. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly isLive: boolean;
  readonly active: number;
  readonly onLive: () => void;
  readonly onFilters: () => void;
}

export function Toolbar(props: ToolbarProps): JSX.Element {
  const { filters, since, until, isLive, active, onLive, onFilters } = props;
  const choose = (range: string): void => {
    if (range === "custom") setQuery({ range: undefined, since, until }, { replace: false });
    else
      setQuery({ range: range === "1h" ? undefined : range, since: undefined, until: undefined }, { replace: false });
  };
  const canFollow = isOpen(filters);
  return (
    <div class="log-tools">
      <Search grep={filters.grep} />
      <select
        aria-label={texts.time}
        value={filters.range}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        {ranges.map((range) => (
          <option key={range} value={range}>
            {texts.ranges[range]}
          </option>
        ))}
      </select>
      {filters.range === "custom" && <Between {...filters} />}
      <Namespace {...filters} />
      <button
        type="button"
        class="live"
        aria-pressed={isLive}
        aria-disabled={!canFollow}
        title={canFollow ? (isFilteredHere(filters) ? texts.liveHere : undefined) : texts.liveClosed}
        onClick={() => {
          if (canFollow) onLive();
        }}
      >
        {texts.live}
      </button>
      <button type="button" class="narrow" onClick={onFilters}>
        <Icon name="filter" />
        {texts.filtersCount(active)}
      </button>
    </div>
  );
}
