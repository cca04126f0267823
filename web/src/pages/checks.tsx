import type { JSX } from "preact";
import type { HealthCheckResult } from "#contract/checks.ts";
import { pace, useCall } from "../api/resource.ts";
import { Link, query, setQuery } from "../router.tsx";
import { texts } from "../texts/checks.ts";
import { commandOf } from "../ui/commands.tsx";
import { FilterField, Segments } from "../ui/filter.tsx";
import { count } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Empty, Loaded, Time } from "../ui/parts.tsx";
import { CheckDrawer, FixButton } from "./check-drawer.tsx";
import { CheckStatus } from "./states.tsx";

const filters = ["all", "fail", "warn", "pass", "skip"] as const;
const ranks = { fail: 0, warn: 1, pass: 2, skip: 3 } as const;
const rankOf = ({ status }: HealthCheckResult): number => ranks[status];

/** By category; what fails comes first, within a category and among them. */
function byCategory(results: readonly HealthCheckResult[]): readonly [string, readonly HealthCheckResult[]][] {
  const sorted = results.toSorted((one, other) => rankOf(one) - rankOf(other));
  return [...Map.groupBy(sorted, ({ category }) => category)];
}

function Row({ of, isSilenced }: { readonly of: HealthCheckResult; readonly isSilenced: boolean }): JSX.Element {
  const { check_id: id, name, status, message } = of;
  return (
    <li>
      <CheckStatus of={status} />
      <span class="check-name">
        <Link to="checks" query={{ ...Object.fromEntries(query.value), check: id }}>
          {name}
        </Link>
        {isSilenced && <Badge tone="idle">{texts.silenced}</Badge>}
      </span>
      <span class="check-message">{message}</span>
      <span class="quiet">
        <Time at={of.since} />
      </span>
      <span class="check-fix">{of.fixable && rankOf(of) < ranks.pass && <FixButton of={of} />}</span>
    </li>
  );
}

export function ChecksPage(): JSX.Element {
  const checks = useCall("listChecks", {}, { every: pace.seldom });
  const silences = useCall("listSilences", {}, { every: pace.seldom });
  const silenced = new Set(silences.data?.silences.map(({ check }) => check));
  const filter = filters.find((each) => each === query.value.get("status")) ?? "all";
  const text = query.value.get("q") ?? "";
  const chosen = query.value.get("check");
  const matching = checks.data?.results.filter(({ check_id: id, name, message }) =>
    `${id}\n${name}\n${message}`.toLowerCase().includes(text.toLowerCase()),
  );
  const isShown = ({ status }: HealthCheckResult, by = filter): boolean =>
    by === "all" ? status !== "skip" : status === by;
  return (
    <Page title={texts.title} commands={[commandOf("listChecks", {}, "steward doctor --why")]}>
      <div class="row">
        <FilterField label={texts.filter} value={text} onChange={(q) => setQuery({ q })} />
        <Segments
          label={texts.statuses}
          of={filters.map((each) => ({
            value: each,
            name: (
              <>
                {texts.statusFilter[each]}{" "}
                <span class="number">{count(matching?.filter((result) => isShown(result, each)).length)}</span>
              </>
            ),
          }))}
          chosen={filter}
          onChoose={(each) => setQuery({ status: each === "all" ? undefined : each })}
        />
      </div>
      <Loaded of={checks} rows={12}>
        {({ results }) => {
          const shown = byCategory((matching ?? []).filter((result) => isShown(result)));
          const found = results.find(({ check_id: id }) => id === chosen);
          return (
            <>
              {shown.length === 0 && <Empty icon="search">{texts.noMatch}</Empty>}
              {shown.map(([category, of]) => (
                <Card key={category} title={texts.categoryTitle(category)} class="checks">
                  <ul>
                    {of.map((result) => (
                      <Row key={result.check_id} of={result} isSilenced={silenced.has(result.check_id)} />
                    ))}
                  </ul>
                </Card>
              ))}
              {chosen !== null && (
                <CheckDrawer
                  key={chosen}
                  id={chosen}
                  of={found}
                  silence={silences.data?.silences.find(({ check }) => check === chosen)}
                  onClose={() => setQuery({ check: undefined })}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
