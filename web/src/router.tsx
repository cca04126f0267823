import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { consoleUrl } from "./api/call.ts";

const address = signal(new URL(location.href));
addEventListener("popstate", () => {
  address.value = new URL(location.href);
});

/** The page, as the last part of the address: `logs`; empty for the overview. */
export const page = computed(() => address.value.pathname.slice(consoleUrl.pathname.length));
/** What the page shows of its kind. */
export const query = computed(() => address.value.searchParams);

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The address of a page, without members that are undefined or empty. */
export function hrefOf(name: string, parameters: Query = {}): string {
  const url = new URL(name, consoleUrl);
  for (const [key, value] of Object.entries(parameters))
    for (const each of typeof value === "string" ? [value] : (value ?? []))
      if (each !== "") url.searchParams.append(key, each);
  return url.pathname + url.search;
}

/** Opens an address of the console. @param replace puts it in the place of the present one in the history. */
export function go(href: string, { replace = false } = {}): void {
  const url = new URL(href, consoleUrl);
  if (url.href === address.peek().href) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  const isOtherPage = url.pathname !== address.peek().pathname;
  address.value = url;
  if (isOtherPage) {
    scrollTo(0, 0);
    document.getElementById("main")?.focus();
  }
}

/** Changes members of the query; undefined and empty ones are removed. */
export function setQuery(parameters: Query, options = { replace: true }): void {
  const before = Object.fromEntries([...new Set(query.peek().keys())].map((key) => [key, query.peek().getAll(key)]));
  go(hrefOf(page.peek(), { ...before, ...parameters }), options);
}

export interface LinkProps {
  readonly to: string;
  readonly query?: Query;
  readonly class?: string;
  readonly current?: boolean;
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A link to a page of the console. */
export function Link({ to, query: parameters, class: name, current, label, children }: LinkProps): JSX.Element {
  const href = hrefOf(to, parameters);
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a href={href} class={name} aria-current={current ? "page" : undefined} aria-label={label} onClick={follow}>
      {children}
    </a>
  );
}
