import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Answer } from "../../api/call.ts";
import { type Resource, useCall } from "../../api/resource.ts";
import { entryTone } from "../../list/entry.ts";
import { setQuery } from "../../router.tsx";
import { texts } from "../../texts/logs.ts";
import { count, local } from "../../ui/format.ts";
import { Loading, Problem } from "../../ui/parts.tsx";
import { asked, type Filters } from "./filters.ts";

type Facets = Answer<"getLogFacets">;
type Name = keyof Facets["facets"];

const few = 8;
const many = 100;
const liveEveryMs = 30_000;

export interface FacetsProps {
  /** What is chosen. */
  readonly filters: Filters;
  /** What the list shows, which follows what is chosen once there is an answer: entries of these are counted. */
  readonly counted: Filters;
  readonly time: { readonly since: string; readonly until: string };
  readonly isLive: boolean;
}

interface FacetProps extends FacetsProps {
  /** Counts of all fields that nothing is chosen of. */
  readonly common: Resource<Facets>;
}

const names = ["priority", "unit", "identifier", "boot", "transport", "hostname"] as const;

const isChosenIn = ({ units, ...others }: Filters, name: Name): boolean =>
  name === "unit" ? units.length > 0 : name in others && others[name as "boot"] !== undefined;

const queryOf = ({ counted, time, isLive }: FacetsProps, fields: readonly Name[], limit: number) => ({
  query: {
    ...asked(counted),
    since: time.since,
    ...(!isLive && { until: time.until }),
    fields: fields.join(","),
    limit,
  },
});

/** Counts by a field, whatever of that field is chosen: else nothing could be added to it. */
function useFacet(props: FacetProps, name: Name, limit = few): Resource<Facets> {
  const { counted, isLive, common } = props;
  const isCommon = limit === few && !isChosenIn(counted, name);
  const without = { ...counted, ...(name === "unit" ? { units: [] } : { [name]: undefined }) };
  const own = useCall("getLogFacets", queryOf({ ...props, counted: without }, [name], limit), {
    skip: isCommon,
    ...(isLive && { every: liveEveryMs }),
  });
  const { data, ...rest } = isCommon ? common : own;
  // The counts of a short time ago stay until there are new ones.
  const last = useRef(data);
  if (data?.facets[name] !== undefined) last.current = data;
  return { ...rest, data: data ?? last.current };
}

interface ValueProps {
  readonly label: string;
  readonly count: number | undefined;
  readonly isChosen: boolean;
  readonly tone?: string;
  readonly onChange: () => void;
}

const Value = ({ label, count: number, isChosen, tone, onChange }: ValueProps): JSX.Element => (
  <li>
    <label class="check">
      <input type="checkbox" checked={isChosen} onChange={onChange} />
      {tone !== undefined && <span class="swatch" style={{ "--key": `var(--bar-${tone})` }} />}
      <span class="facet-name" title={label}>
        {label}
      </span>
      <span class="facet-count">{count(number)}</span>
    </label>
  </li>
);

/** Least severe ones that can be chosen. */
const leasts = [3, 4, 5, 6] as const;

function PriorityFacet(props: FacetProps): JSX.Element {
  const found = useFacet(props, "priority");
  const { priority } = props.filters;
  const values = found.data?.facets.priority;
  const upTo = (least: number): number | undefined =>
    values?.reduce((sum, { value, count: number }) => (Number(value) <= least ? sum + number : sum), 0);
  const chosen = priority === undefined || leasts.some((least) => least === priority) ? leasts : [priority, ...leasts];
  return (
    <details open class="facet">
      <summary>{texts.facets.priority}</summary>
      <ul>
        {chosen.map((least) => (
          <Value
            key={least}
            label={texts.andWorse(texts.severities[least] ?? "")}
            tone={entryTone(least)}
            count={upTo(least)}
            isChosen={priority === least}
            onChange={() => setQuery({ priority: priority === least ? undefined : String(least) })}
          />
        ))}
      </ul>
    </details>
  );
}

interface ListedFacetProps extends FacetProps {
  readonly name: "unit" | "identifier" | "boot";
  readonly chosen: readonly string[];
  /** What is chosen afterwards. */
  readonly onChoose: (values: readonly string[]) => void;
  readonly labelOf: (value: string) => string;
  readonly isShut?: boolean;
}

function ListedFacet(props: ListedFacetProps): JSX.Element | null {
  const { name, chosen, onChoose, labelOf, isShut = false } = props;
  const isWhole = useSignal(false);
  const { data, error, refresh } = useFacet(props, name, isWhole.value ? many : few);
  const values = data?.facets[name] ?? [];
  const lacking = chosen.filter((each) => !values.some(({ value }) => value === each));
  const shown = [...lacking.map((value) => ({ value, count: data === undefined ? undefined : 0 })), ...values];
  const distinct = data?.distinct[name];
  if (data !== undefined && shown.length === 0) return null;
  return (
    <details open={!isShut || chosen.length > 0} class="facet">
      <summary>{texts.facets[name]}</summary>
      {data === undefined && error === undefined && <Loading />}
      {data === undefined && error !== undefined && <Problem error={error} onRetry={refresh} />}
      <ul>
        {shown.map(({ value, count: number }) => {
          const isChosen = chosen.includes(value);
          return (
            <Value
              key={value}
              label={labelOf(value)}
              count={number}
              isChosen={isChosen}
              onChange={() => onChoose(isChosen ? chosen.filter((each) => each !== value) : [...chosen, value])}
            />
          );
        })}
      </ul>
      {distinct !== undefined && distinct !== values.length && !isWhole.value && (
        <button type="button" class="plain" onClick={() => (isWhole.value = true)}>
          {texts.showMore(distinct === null ? null : distinct - values.length)}
        </button>
      )}
    </details>
  );
}

/** What entries have that the list cannot be narrowed to; nothing where all have the same. */
function CountedFacet({ name, ...props }: FacetProps & { readonly name: "hostname" | "transport" }) {
  const { data } = useFacet(props, name);
  const values = data?.facets[name] ?? [];
  if (values.length < 2) return null;
  return (
    <details class="facet">
      <summary>{texts.facets[name]}</summary>
      <ul>
        {values.map(({ value, count: number }) => (
          <li key={value} class="check">
            <span class="facet-name">{value}</span>
            <span class="facet-count">{count(number)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** How many filters are set that the facets show. */
export const activeFacets = ({ units, priority, identifier, boot }: Filters): number =>
  units.length + [priority, identifier, boot].filter((each) => each !== undefined).length;

export function Facets(props: FacetsProps): JSX.Element {
  const { filters, counted, isLive } = props;
  const open = names.filter((name) => !isChosenIn(counted, name));
  const common = useCall("getLogFacets", queryOf(props, open, few), isLive ? { every: liveEveryMs } : {});
  const boots = useCall("listLogBoots");
  const last = (values: readonly string[]): string | undefined => values.at(-1);
  const one = (value: string | undefined): readonly string[] => (value === undefined ? [] : [value]);
  const bootLabel = (id: string): string => {
    const found = boots.data?.boots.find(({ boot_id }) => boot_id === id);
    return found === undefined ? id.slice(0, 12) : texts.bootOf(found.index, local(found.first).slice(5, 16));
  };
  return (
    <div class="facets">
      {activeFacets(filters) > 0 && (
        <button
          type="button"
          class="plain"
          onClick={() => setQuery({ unit: undefined, priority: undefined, identifier: undefined, boot: undefined })}
        >
          {texts.clear}
        </button>
      )}
      <PriorityFacet {...props} common={common} />
      <ListedFacet
        {...props}
        common={common}
        name="unit"
        chosen={filters.units}
        onChoose={(units) => setQuery({ unit: units })}
        labelOf={(unit) => texts.value(unit.replace(/\.service$/, ""))}
      />
      <ListedFacet
        {...props}
        common={common}
        name="identifier"
        isShut
        chosen={one(filters.identifier)}
        onChoose={(values) => setQuery({ identifier: last(values) })}
        labelOf={texts.value}
      />
      <ListedFacet
        {...props}
        common={common}
        name="boot"
        isShut
        chosen={one(filters.boot)}
        onChoose={(values) => setQuery({ boot: last(values) })}
        labelOf={bootLabel}
      />
      <CountedFacet {...props} common={common} name="transport" />
      <CountedFacet {...props} common={common} name="hostname" />
    </div>
  );
}
