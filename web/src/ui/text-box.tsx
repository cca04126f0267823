import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard.
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
