import type { JSX } from "preact";
import type { Diagnosis, DiagnosisProposal, DiagnosisStep } from "#contract/diagnosis.ts";
import type { Name } from "../api/call.ts";
import { operations } from "../api/operations.generated.ts";
import { Link } from "../router.tsx";
import { texts } from "../texts/diagnosis.ts";
import { ActionButton, PlanView } from "../ui/action.tsx";
import { bytes, count } from "../ui/format.ts";
import { Badge, Part } from "../ui/parts.tsx";
import { type Segment, segmentsOf } from "./citations.ts";

const placeOf = (call: string): string => `call-${call}`;

/** Shows a call, wherever it is folded away. */
function showCall(id: string): void {
  const element = document.getElementById(placeOf(id));
  element?.closest("details")?.setAttribute("open", "");
  element?.scrollIntoView({ block: "nearest" });
  element?.focus();
}

function Citation({ of: { text, to } }: { readonly of: Segment }): JSX.Element {
  if (to === undefined) return <>{text}</>;
  if (to === "nothing")
    return (
      <s class="cite" title={texts.notThere}>
        {text}
        <span class="hidden">{` (${texts.notThere})`}</span>
      </s>
    );
  if ("entry" in to)
    return (
      <Link to="logs" query={{ entry: to.entry }} class="cite" label={texts.toEntry(text)}>
        {text}
      </Link>
    );
  return (
    <button type="button" class="plain cite" aria-label={texts.toCall(text)} onClick={() => showCall(to.call)}>
      {text}
    </button>
  );
}

/** The pieces of a line in runs of those that are in a sentence without evidence, and of others. */
function runsOf(line: readonly Segment[]): readonly (readonly Segment[])[] {
  const runs: Segment[][] = [];
  for (const segment of line) {
    const last = runs.at(-1);
    if (last?.[0]?.isUnsupported === segment.isUnsupported) last.push(segment);
    else runs.push([segment]);
  }
  return runs;
}

function Line({ of }: { readonly of: readonly Segment[] }): JSX.Element {
  return (
    <p>
      {runsOf(of).map((run, at) => {
        const pieces = run.map((segment, place) => <Citation key={place} of={segment} />);
        return run[0]?.isUnsupported === true ? (
          <mark key={at} title={texts.noEvidence}>
            {pieces}
          </mark>
        ) : (
          pieces
        );
      })}
    </p>
  );
}

/** The values that a model gave, on one line. */
const argumentsIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return [value.join(", ")];
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).flatMap(([name, each]) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? argumentsIn(each)
      : [`${name} ${argumentsIn(each).join("")}`],
  );
};

const toneOf = (status: number | null) => (status === null ? "info" : status < 400 ? "ok" : "warn");

/** The calls of the model, each with what became of it. */
export const Calls = ({ of }: { readonly of: readonly DiagnosisStep[] }): JSX.Element => (
  <ol class="calls">
    {of.map(({ id, operation, arguments: given, status, error_code: code, bytes: size, duration_ms: ms }) => (
      <li key={id} id={placeOf(id)} tabIndex={-1}>
        <span class="quiet">{id}</span> <b>{operation}</b> <span class="given">{argumentsIn(given).join(", ")}</span>{" "}
        <Badge tone={toneOf(status)}>{status === null ? texts.running : texts.status(status, code)}</Badge>
        {ms !== null && size !== null && (
          <span class="quiet small">{` ${texts.took(ms)}, ${texts.bytes(bytes(size))}`}</span>
        )}
      </li>
    ))}
  </ol>
);

const isOperation = (name: string): name is Name => Object.hasOwn(operations, name);

/** A change that the model proposes: its plan, and the button that plans it again and carries it out. */
function Proposal({ of }: { readonly of: DiagnosisProposal }): JSX.Element {
  const { operation, arguments: given, reason, plan } = of;
  const { params = {}, body = {} } = given as { params?: Record<string, unknown>; body?: Record<string, unknown> };
  const [about] = [...Object.values(params), ...Object.values(body)].filter((each) => typeof each === "string");
  const title = texts.proposal(operation, String(about ?? ""));
  return (
    <li>
      <h4>{title}</h4>
      {reason !== null && <p class="quiet">{reason}</p>}
      <PlanView plan={plan} title={texts.planned} />
      {isOperation(operation) ? (
        <ActionButton operation={operation} input={given} label={texts.carryOut(operation)} title={title} />
      ) : (
        <p class="hint warn">{texts.unknownProposal}</p>
      )}
    </li>
  );
}

/** What a model has found, with what it rests on. */
export function DiagnosisAnswer({ of }: { readonly of: Diagnosis }): JSX.Element {
  const { answer, calls, proposals, usage, method, reason, stopped_by: stopped, invalid_citations: invalid } = of;
  return (
    <section class="diagnosis" aria-label={texts.answer}>
      {method === "one_shot" && <p class="hint warn">{texts.oneShot(reason ?? "")}</p>}
      {stopped !== null && <p class="hint warn">{texts.stoppedBy[stopped]}</p>}
      <div class="answer">
        {segmentsOf(answer, of).map((line, at) => (
          <Line key={at} of={line} />
        ))}
      </div>
      {of.unsupported.length > 0 && <p class="quiet small">{texts.marked}</p>}
      {invalid.length > 0 && <p class="hint warn">{texts.invalid(invalid.join(", "))}</p>}
      <p class="quiet small">
        {[
          texts.by(of.model, of.connector),
          texts.tokens(count(usage.input_tokens + usage.output_tokens)),
          ...(of.runbooks === undefined || of.runbooks.length === 0 ? [] : [texts.advised(of.runbooks.join(", "))]),
          ...(of.redactions > 0 ? [texts.redacted(of.redactions)] : []),
        ].join(" · ")}
      </p>
      {proposals.length > 0 && (
        <>
          <h3>{texts.proposals}</h3>
          <ul class="proposals">
            {proposals.map((each) => (
              <Proposal key={JSON.stringify([each.operation, each.arguments])} of={each} />
            ))}
          </ul>
        </>
      )}
      {calls.length === 0 ? (
        method === "tools" && <p class="quiet">{texts.calls(0)}</p>
      ) : (
        <Part title={texts.calls(calls.length)} open>
          {() => <Calls of={calls} />}
        </Part>
      )}
      {of.omitted.map((each) => (
        <p key={each} class="quiet small">
          {texts.omitted(each)}
        </p>
      ))}
    </section>
  );
}
