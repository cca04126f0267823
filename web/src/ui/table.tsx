import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { texts } from "../texts/shell.ts";
import { count } from "./format.ts";
import { Empty } from "./parts.tsx";

export interface Column<T> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What rows are sorted by; a column without cannot be sorted by. */
  readonly sort?: (row: T) => string | number;
  readonly align?: "end";
  /** What becomes of it in a narrow window: left out, or written below the first column. */
  readonly narrow?: "hide" | "below";
}

export interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly empty?: ComponentChildren;
  /** The column that it is sorted by at first, after `-` from the most to the least; else in the order of the rows. */
  readonly sorted?: string;
  /** Called with what it is to be sorted by: the page keeps that, in `sorted`. */
  readonly onSort?: (sorted: string) => void;
}

const firstRows = 60;
const mostRows = 500;
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const compare = (one: string | number, other: string | number): number =>
  typeof one === "number" && typeof other === "number" ? one - other : collator.compare(String(one), String(other));

function sortRows<T>(rows: readonly T[], column: Column<T> | undefined, isDown: boolean): readonly T[] {
  const { sort } = column ?? {};
  if (sort === undefined) return rows;
  const sign = isDown ? -1 : 1;
  return rows.toSorted((one, other) => sign * compare(sort(one), sort(other)));
}

/** A table that sorts. Many rows are painted a little later, and those beyond 500 when they are asked for. */
export function Table<T>(props: TableProps<T>): JSX.Element {
  const { label, columns, rows, keyOf, empty, onSort } = props;
  const own = useSignal(props.sorted);
  const shown = useSignal(firstRows);
  useEffect(() => {
    if (shown.value >= mostRows) return undefined;
    const timer = setTimeout(() => (shown.value = mostRows), 60);
    return () => clearTimeout(timer);
  }, [shown]);
  if (rows.length === 0) return <Empty icon="search">{empty ?? texts.noMatch}</Empty>;
  const by = onSort === undefined ? own.value : props.sorted;
  const isDown = by?.startsWith("-") === true;
  const id = isDown ? by?.slice(1) : by;
  /** Figures are inspected from the most to the least. */
  const next = (column: Column<T>): string =>
    (column.id === id ? !isDown : column.align === "end") ? `-${column.id}` : column.id;
  const sortBy = (column: Column<T>): void => {
    own.value = next(column);
    onSort?.(own.value);
  };
  const sorted = sortRows(
    rows,
    columns.find((each) => each.id === id),
    isDown,
  );
  const below = columns.filter(({ narrow }) => narrow === "below");
  const classOf = ({ align, narrow }: Column<T>): string =>
    `${align ?? ""} ${narrow === undefined ? "" : "wide"}`.trim();
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section class="table-box" tabIndex={0} aria-label={label}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.id}
                  scope="col"
                  class={classOf(column)}
                  aria-sort={column.id === id ? (isDown ? "descending" : "ascending") : undefined}
                >
                  {column.sort === undefined ? (
                    column.title || <span class="hidden">{label}</span>
                  ) : (
                    <button
                      type="button"
                      class="sort"
                      title={texts.sortBy(column.title)}
                      onClick={() => sortBy(column)}
                    >
                      {column.title}
                    </button>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, shown.value).map((row) => (
              <tr key={keyOf(row)}>
                {columns.map((column, at) => (
                  <td key={column.id} class={classOf(column)}>
                    {column.cell(row)}
                    {at === 0 && below.length > 0 && (
                      <div class="below">
                        {below.map((each) => (
                          <span key={each.id}>{each.cell(row)}</span>
                        ))}
                      </div>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {shown.value >= mostRows && rows.length > shown.value && (
        <button type="button" onClick={() => (shown.value = rows.length)}>
          {texts.showAll(count(rows.length))}
        </button>
      )}
    </>
  );
}
