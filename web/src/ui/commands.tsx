import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { addressOf, type Input, type Name } from "../api/call.ts";
import { operations } from "../api/operations.generated.ts";
import { texts } from "../texts/shell.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icons.tsx";

/** A call that a page makes, and the line of `steward` that does the same. */
export interface Command {
  readonly curl: string;
  readonly steward?: string | undefined;
}

/** A word of a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** How a script makes a call that this page makes. */
export function commandOf<K extends Name>(name: K, input?: Input<K>, steward?: string): Command {
  const parts = (input ?? {}) as { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };
  const method = operations[name][0];
  const words = [
    "curl",
    ...(method === "GET" ? [] : [`-X ${method}`]),
    '-H "X-API-Key: $KEY"',
    ...(parts.body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(parts.body))}`]),
    quote(addressOf(name, parts).href),
  ];
  return { curl: words.join(" "), steward };
}

function Line({ text }: { readonly text: string }): JSX.Element {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
  };
  return (
    <div class="command">
      <code>{text}</code>
      {/* Browsers have a clipboard over HTTPS and on localhost alone. */}
      {isSecureContext && (
        <button type="button" onClick={() => void copy()}>
          <Icon name="copy" />
          {copied.value ? texts.copied : texts.copy}
        </button>
      )}
    </div>
  );
}

export const CommandLines = ({ of }: { readonly of: readonly Command[] }): JSX.Element => (
  <div class="commands">
    {of
      .flatMap(({ curl, steward }) => [curl, ...(steward === undefined ? [] : [steward])])
      .map((line) => (
        <Line key={line} text={line} />
      ))}
  </div>
);

/** The button that shows how a script gets what the page shows. */
export function CommandsButton({ of }: { readonly of: readonly Command[] }): JSX.Element {
  const isOpen = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (isOpen.value = true)}>
        <Icon name="code" />
        {texts.commands}
      </button>
      {isOpen.value && (
        <Dialog title={texts.commandsTitle} onClose={() => (isOpen.value = false)}>
          <p class="quiet">{texts.commandsHow}</p>
          <CommandLines of={of} />
        </Dialog>
      )}
    </>
  );
}
