import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

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
