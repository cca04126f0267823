import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useCall } from "../../api/resource.ts";
import { dayAndTime, type Entry, entryTone } from "../../list/entry.ts";
import { hrefOf, Link, query } from "../../router.tsx";
import { texts } from "../../texts/logs.ts";
import { bytes, local } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";
import { Badge, Empty, Facts, Loaded, Loading, NotShown, Problem, type Tone } from "../../ui/parts.tsx";

const badges: Readonly<Record<ReturnType<typeof entryTone>, Tone>> = {
  error: "bad",
  warn: "warn",
  info: "info",
  debug: "idle",
};

type Field = NonNullable<Entry["fields"]>[number];
const shown = ({ text, base64 = "" }: Field): string => text ?? texts.bytes(Math.floor((base64.length * 3) / 4));

/** A value that the list can be narrowed to. */
const Narrow = ({ name, value }: { readonly name: string; readonly value: string }): JSX.Element => (
  <Link
    to="logs"
    label={texts.onlyThis(value)}
    query={{
      ...Object.fromEntries([...query.value.keys()].map((key) => [key, query.value.getAll(key)])),
      [name]: value,
    }}
  >
    {value}
  </Link>
);

function Fields({ fields }: { readonly fields: readonly Field[] }): JSX.Element {
  return (
    <details open>
      <summary>{texts.fields(fields.length)}</summary>
      <table class="fields">
        <thead class="hidden">
          <tr>
            <th scope="col">{texts.field}</th>
            <th scope="col">{texts.fieldValue}</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field, at) => (
            <tr key={`${field.name} ${at}`}>
              <th scope="row">{field.name}</th>
              <td>{shown(field)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

/** What was written right before and after it, by all units. */
function Around({ cursor, onChoose }: { readonly cursor: string; readonly onChoose: (cursor: string) => void }) {
  const isOpen = useSignal(false);
  const context = useCall("getLogContext", { query: { cursor, before: 10, after: 10 } }, { skip: !isOpen.value });
  return (
    <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary>{texts.context}</summary>
      {isOpen.value && (
        <Loaded of={context} rows={6}>
          {({ entries, index, unread }) => (
            <>
              <NotShown unread={unread} />
              <ol class="around">
                {entries.map((entry, at) => (
                  <li key={entry.cursor}>
                    <button
                      type="button"
                      class={`around-entry ${entryTone(entry.priority)}`}
                      aria-current={at === index ? "true" : undefined}
                      onClick={() => onChoose(entry.cursor)}
                    >
                      <span class="quiet">{dayAndTime(entry.timestamp)[1]}</span>
                      <span class="around-unit">{entry.unit || entry.identifier}</span>
                      <span class="around-message">{entry.message}</span>
                    </button>
                  </li>
                ))}
              </ol>
            </>
          )}
        </Loaded>
      )}
    </details>
  );
}

/** Copies a text, and says so. Browsers have a clipboard over HTTPS and on localhost alone. */
function Copy({ text, children }: { readonly text: () => string; readonly children: ComponentChildren }) {
  const state = useSignal<"copied" | "failed" | undefined>(undefined);
  if (!isSecureContext) return null;
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text());
      state.value = "copied";
    } catch {
      state.value = "failed";
    }
  };
  return (
    <button type="button" onClick={() => void copy()}>
      <Icon name="copy" />
      {state.value === undefined ? children : state.value === "copied" ? texts.copied : texts.copyFailed}
    </button>
  );
}

const linkOf = (cursor: string): string => hrefOf("logs", { entry: cursor });

function Body({ entry, isListed }: { readonly entry: Entry; readonly isListed: boolean }): JSX.Element {
  const { unit, identifier, boot_id: boot, next_offset: next } = entry;
  return (
    <>
      {!isListed && <p class="hint">{texts.notInList}</p>}
      <pre class="message">{entry.message}</pre>
      {next !== undefined && <p class="quiet">{texts.cut(bytes(next))}</p>}
      <Facts
        of={{
          [texts.timestamp]: `${local(entry.timestamp)}.${/\.(\d+)/.exec(entry.timestamp)?.[1] ?? "0"}`,
          [texts.priority]: (
            <Badge tone={badges[entryTone(entry.priority)]}>{texts.priorities[entry.priority] ?? ""}</Badge>
          ),
          [texts.unit]: unit === "" ? "" : <Narrow name="unit" value={unit} />,
          [texts.identifier]: identifier === "" ? "" : <Narrow name="identifier" value={identifier} />,
          [texts.process]: entry.pid,
          [texts.host]: entry.hostname,
          [texts.boot]: <Narrow name="boot" value={boot} />,
        }}
      />
    </>
  );
}

export interface EntryPaneProps {
  readonly cursor: string;
  /** Whether the list has it, as far as that is known. */
  readonly isListed: boolean;
  readonly onChoose: (cursor: string) => void;
  readonly onClose: () => void;
}

/** One entry with all its fields and what stands around it. */
export function EntryPane({ cursor, isListed, onChoose, onClose }: EntryPaneProps): JSX.Element {
  const { data, error, refresh } = useCall("listLogs", { query: { entry: cursor, fields: "*" } });
  const entry = data?.logs[0];
  return (
    <section class="card entry-pane" aria-label={texts.entry}>
      <header>
        <h2>{texts.entry}</h2>
        <div class="aside">
          {entry !== undefined && (
            <>
              <Copy text={() => JSON.stringify(entry, null, 2)}>{texts.copyJson}</Copy>
              <Copy text={() => new URL(linkOf(cursor), location.href).href}>{texts.copyLink}</Copy>
              {!isSecureContext && <a href={linkOf(cursor)}>{texts.link}</a>}
            </>
          )}
          <button type="button" class="plain" aria-label={texts.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section class="entry-body" tabIndex={0} aria-label={texts.entryBody}>
        {error !== undefined && <Problem error={error} onRetry={refresh} />}
        {data === undefined && error === undefined && <Loading rows={6} />}
        {data !== undefined && entry === undefined && (
          <>
            <Empty icon="search">{texts.gone}</Empty>
            <NotShown unread={data.unread} />
          </>
        )}
        {entry !== undefined && (
          <>
            <Body entry={entry} isListed={isListed} />
            <Around key={cursor} cursor={cursor} onChoose={onChoose} />
            <Fields fields={entry.fields ?? []} />
          </>
        )}
      </section>
    </section>
  );
}
