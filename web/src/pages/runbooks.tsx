import type { JSX } from "preact";
import type { Input } from "../api/call.ts";
import { useCall } from "../api/resource.ts";
import { runbookTexts as texts } from "../texts/checks.ts";
import { Markdown } from "../ui/markdown-view.tsx";
import { Loaded, NotShown, Part } from "../ui/parts.tsx";

function Text({ id }: { readonly id: string }): JSX.Element {
  const answer = useCall("getRunbook", { params: { id } });
  return (
    <Loaded of={answer}>
      {({ body, origin }) => (
        <>
          {origin === "local" && <p class="quiet">{texts.local}</p>}
          <Markdown text={body} />
        </>
      )}
    </Loaded>
  );
}

/** The runbooks of a check or a unit, each a part of its drawer. @param props.open whether the first is unfolded. */
export function Runbooks(props: {
  readonly of: NonNullable<Input<"listRunbooks">["query"]>;
  readonly open?: boolean;
}): JSX.Element | null {
  const { data } = useCall("listRunbooks", { query: props.of });
  if (data === undefined) return null;
  return (
    <>
      {data.runbooks.map(({ id, title }, at) => (
        <Part key={id} title={texts.runbook(title)} open={props.open === true && at === 0}>
          {() => <Text id={id} />}
        </Part>
      ))}
      <NotShown list={data.faults.map(({ file, reason }) => ({ what: file, reason }))} />
    </>
  );
}
