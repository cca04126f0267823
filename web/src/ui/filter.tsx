import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Whether a key that is pressed here is text for something else. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;

const pauseMs = 200;

export interface FilterFieldProps {
  readonly label: string;
  readonly value: string;
  /** Called once the typing pauses. */
  readonly onChange: (value: string) => void;
}

/** The field that filters a page: `/` leads into it, Escape out of it. */
export function FilterField({ label, value, onChange }: FilterFieldProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const typed = useSignal<string | undefined>(undefined);
  const change = (text: string, waitMs: number): void => {
    typed.value = text;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      typed.value = undefined;
      onChange(text);
    }, waitMs);
  };
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      field.current?.select();
    };
    document.addEventListener("keydown", focus);
    return () => {
      clearTimeout(timer.current);
      document.removeEventListener("keydown", focus);
    };
  }, []);
  return (
    <input
      ref={field}
      type="search"
      aria-label={label}
      placeholder={`${label}  /`}
      autocomplete="off"
      spellcheck={false}
      maxLength={256}
      value={typed.value ?? value}
      onInput={({ currentTarget }) => change(currentTarget.value, pauseMs)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") change(currentTarget.value, 0);
        if (key === "Escape") currentTarget.blur();
      }}
    />
  );
}

/** A choice of one among a few. */
export function Segments<T extends string>(props: {
  readonly label: string;
  readonly of: readonly { readonly value: T; readonly name: ComponentChildren }[];
  readonly chosen: T;
  readonly onChoose: (value: T) => void;
}): JSX.Element {
  return (
    <fieldset class="segments" aria-label={props.label}>
      {props.of.map(({ value, name }) => (
        <button key={value} type="button" aria-pressed={value === props.chosen} onClick={() => props.onChoose(value)}>
          {name}
        </button>
      ))}
    </fieldset>
  );
}
