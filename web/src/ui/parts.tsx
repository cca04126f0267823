import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Refusal, Unreachable } from "../api/call.ts";
import type { Resource } from "../api/resource.ts";
import { texts } from "../texts/shell.ts";
import { local, relative } from "./format.ts";
import { Icon, type IconName } from "./icons.tsx";

export type Tone = "ok" | "warn" | "bad" | "info" | "idle";

export const Badge = ({
  tone,
  children,
}: {
  readonly tone: Tone;
  readonly children: ComponentChildren;
}): JSX.Element => <span class={`badge ${tone}`}>{children}</span>;

/** Moves on, so that relative times do. */
const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 15_000);

/** How long ago, with the time itself where it is pointed at. */
export function Time({ at }: { readonly at: string | null | undefined }): JSX.Element {
  if (at === null || at === undefined) return <span class="quiet">–</span>;
  return (
    <time dateTime={at} title={local(at)}>
      {relative(at, now.value)}
    </time>
  );
}

export const Card = (props: {
  readonly title?: string;
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}): JSX.Element => (
  <section class={`card ${props.class ?? ""}`}>
    {props.title !== undefined && (
      <header>
        <h2>{props.title}</h2>
        {props.aside !== undefined && <div class="aside">{props.aside}</div>}
      </header>
    )}
    {props.children}
  </section>
);

/** Nothing is there, and what that means or what to do. */
export const Empty = ({
  children,
  icon = "ok",
}: {
  readonly children: ComponentChildren;
  readonly icon?: IconName;
}): JSX.Element => (
  <div class="empty">
    <Icon name={icon} />
    <p>{children}</p>
  </div>
);

export const Loading = ({ rows = 3 }: { readonly rows?: number }): JSX.Element => (
  <div class="loading" role="status" aria-label={texts.loading}>
    {Array.from({ length: rows }, (_, at) => (
      <span key={at} />
    ))}
  </div>
);

/** What went wrong, in the words of the service, which say what to do. Trying again does not help a key that lacks a scope. */
export function Problem({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }): JSX.Element {
  const scope = error instanceof Refusal && error.code === "FORBIDDEN" ? error.details["required_scope"] : undefined;
  if (typeof scope === "string")
    return (
      <div class="problem" role="alert">
        <Icon name="lock" />
        <p>{texts.missingScope(scope)}</p>
      </div>
    );
  const isKnown = error instanceof Refusal || error instanceof Unreachable || error instanceof DOMException;
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p>{isKnown ? error.message : texts.unexpected(error.message)}</p>
        {onRetry !== undefined && (
          <button type="button" onClick={onRetry}>
            {texts.tryAgain}
          </button>
        )}
      </div>
    </div>
  );
}

interface NotShownProps {
  readonly list?: readonly { what: string; reason: string }[] | undefined;
  /** Files of the journal that could not be read. */
  readonly unread?: readonly { file: string; reason: string }[] | undefined;
}

/** What is null, left out or not known, and why. */
export function NotShown({ list = [], unread = [] }: NotShownProps): JSX.Element | null {
  const lines = [
    ...list.map(({ what, reason }) => texts.notShown(what, reason)),
    ...unread.map(({ file, reason }) => texts.notRead(file, reason)),
  ];
  return lines.length === 0 ? null : (
    <ul class="not-shown">
      {lines.map((line) => (
        <li key={line}>
          <Icon name="warning" /> {line}
        </li>
      ))}
    </ul>
  );
}

/** An answer in its states: being asked for, failed, and there; an error beside old data is said above it. */
export function Loaded<T>(props: {
  readonly of: Resource<T>;
  readonly rows?: number;
  readonly children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, error, refresh } = props.of;
  if (data === undefined)
    return error === undefined ? <Loading rows={props.rows ?? 3} /> : <Problem error={error} onRetry={refresh} />;
  return (
    <>
      {error !== undefined && !(error instanceof Unreachable) && <Problem error={error} onRetry={refresh} />}
      {props.children(data)}
    </>
  );
}

/** Names and values. Members whose value is undefined are left out. */
export const Facts = ({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }): JSX.Element => (
  <dl class="facts">
    {Object.entries(of).map(([name, value]) =>
      value === undefined ? null : (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null || value === "" ? <span class="quiet">–</span> : value}</dd>
        </div>
      ),
    )}
  </dl>
);

/** A share of something, drawn, with its words. */
export const Meter = ({
  value,
  label,
  tone = "info",
}: {
  readonly value: number;
  readonly label: string;
  readonly tone?: Tone;
}) => (
  <span
    class={`meter ${tone}`}
    role="meter"
    aria-label={label}
    aria-valuenow={Math.round(value)}
    aria-valuemin={0}
    aria-valuemax={100}
  >
    <span style={{ width: `${Math.min(100, Math.max(0, value))}%` }} />
  </span>
);

interface Line {
  readonly key: string;
  readonly text: ComponentChildren;
  readonly aside?: ComponentChildren;
}

/** A line for each of a few things. */
export const Lines = ({ of, empty }: { readonly of: readonly Line[]; readonly empty: string }): JSX.Element =>
  of.length === 0 ? (
    <Empty>{empty}</Empty>
  ) : (
    <ul class="lines">
      {of.map(({ key, text, aside }) => (
        <li key={key}>
          <span class="grow">{text}</span>
          <span class="quiet">{aside}</span>
        </li>
      ))}
    </ul>
  );

/** A part of a drawer that is folded away, and made when it is opened first. */
export function Part(props: {
  readonly title: string;
  readonly open?: boolean;
  readonly children: () => ComponentChildren;
}): JSX.Element {
  const { title, open = false, children } = props;
  const wasOpened = useSignal(open);
  return (
    <details
      class="part"
      open={open}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) wasOpened.value = true;
      }}
    >
      <summary>{title}</summary>
      {wasOpened.value && children()}
    </details>
  );
}

/** So near to the end is at the end. */
const endPx = 20;

/** Text of many lines that scrolls. @param followed the end stays in sight while it grows, unless somebody has scrolled up. */
export function TextBox(props: {
  readonly label: string;
  readonly followed?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { label, followed, children } = props;
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (followed !== undefined && isAtEnd.current) box.current?.scrollTo(0, box.current.scrollHeight);
  }, [followed]);
  return (
    <section
      ref={box}
      class="text-box"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
      tabIndex={0}
      aria-label={label}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight > scrollHeight - endPx;
      }}
    >
      <pre>{children}</pre>
    </section>
  );
}
