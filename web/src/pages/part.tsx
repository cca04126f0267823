import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

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
