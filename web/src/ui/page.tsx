import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { identity } from "../session.ts";
import { texts } from "../texts/shell.ts";
import { type Command, CommandsButton } from "./commands.tsx";

/** A page with its heading, what it counts, its buttons, and how a script gets the same. */
export function Page(props: {
  readonly title: string;
  readonly count?: string | undefined;
  readonly actions?: ComponentChildren;
  readonly commands: readonly Command[];
  /** Fills the window, and scrolls inside. */
  readonly fixed?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title, count, actions, commands, fixed = false, children } = props;
  const host = identity.value?.host ?? location.host;
  useEffect(() => {
    document.title = `${title} · ${host} · ${texts.product}`;
  }, [title, host]);
  return (
    <div class={fixed ? "page fixed" : "page"}>
      <header class="page-head">
        <h1>{title}</h1>
        {count !== undefined && <span class="quiet">{count}</span>}
        <div class="actions">
          {actions}
          <CommandsButton of={commands} />
        </div>
      </header>
      {children}
    </div>
  );
}

/**
 * A part of a page that is loaded once the rest of it is shown.
 * @param waiting what stands in its place meanwhile, of the same height.
 */
export function lazily(load: () => Promise<() => JSX.Element>, waiting: () => JSX.Element): () => JSX.Element {
  const loaded = signal<{ readonly part: () => JSX.Element } | undefined>(undefined);
  return () => {
    useEffect(() => {
      if (loaded.peek() !== undefined) return;
      void load().then(
        (part) => {
          loaded.value = { part };
        },
        // Its file is gone since the service was updated, which the console says by itself.
        () => undefined,
      );
    }, []);
    const Part = loaded.value?.part;
    return Part === undefined ? waiting() : <Part />;
  };
}
