import type { JSX } from "preact";
import { type Block, blocksOf, type Inline } from "./markdown.ts";

function Piece({ of }: { readonly of: Inline }): JSX.Element {
  if (typeof of === "string") return <>{of}</>;
  switch (of.is) {
    case "code":
      return <code>{of.text}</code>;
    case "strong":
      return <strong>{of.text}</strong>;
    case "em":
      return <em>{of.text}</em>;
    case "link":
      return (
        <a href={of.href} rel="noopener noreferrer" target="_blank">
          {of.text}
        </a>
      );
  }
}

const Line = ({ of }: { readonly of: readonly Inline[] }): JSX.Element => (
  <>
    {of.map((each, at) => (
      <Piece key={at} of={each} />
    ))}
  </>
);

function Part({ of }: { readonly of: Block }): JSX.Element {
  switch (of.is) {
    case "heading":
      // Below the heading of the dialog.
      return of.level <= 2 ? (
        <h3>
          <Line of={of.text} />
        </h3>
      ) : (
        <h4>
          <Line of={of.text} />
        </h4>
      );
    case "paragraph":
      return (
        <p>
          <Line of={of.text} />
        </p>
      );
    case "code":
      return <pre>{of.text}</pre>;
    case "list": {
      const items = of.items.map((item, at) => (
        <li key={at}>
          <Line of={item} />
        </li>
      ));
      return of.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
  }
}

/** A text in Markdown as elements: nothing in it is markup of HTML. */
export const Markdown = ({ text }: { readonly text: string }): JSX.Element => (
  <div class="markdown">
    {blocksOf(text).map((block, at) => (
      <Part key={at} of={block} />
    ))}
  </div>
);
