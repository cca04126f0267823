import { type Signal, signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { DiagnosisPreview, DiagnosisStep, Diagnosis as Found } from "#contract/diagnosis.ts";
import { call, callInPieces, type Input } from "../api/call.ts";
import { useCall } from "../api/resource.ts";
import { isElevated, mayDo, session } from "../session.ts";
import { texts } from "../texts/diagnosis.ts";
import { texts as shared } from "../texts/shell.ts";
import { CommandsButton, commandOf, quote } from "../ui/commands.tsx";
import { ElevateDialog } from "../ui/elevate.tsx";
import { bytes } from "../ui/format.ts";
import { Part, Problem, TextBox } from "../ui/parts.tsx";
import { Calls, DiagnosisAnswer } from "./diagnosis-answer.tsx";

/** What is asked about; nothing of it for a question about the host. */
export interface Subject {
  readonly check?: string;
  readonly unit?: string;
}

type Stage =
  | { readonly is: "new" }
  | { readonly is: "asking"; readonly calls: readonly DiagnosisStep[] }
  | { readonly is: "previewed"; readonly preview: DiagnosisPreview }
  | { readonly is: "done"; readonly found: Found }
  | { readonly is: "failed"; readonly error: Error };

interface Asked {
  readonly question: Signal<string>;
  readonly stage: Signal<Stage>;
}

/** By session and subject: who follows a citation finds the answer again on the way back. */
const kept = new Map<string, Asked>();
function askedOf(subject: Subject): Asked {
  const key = JSON.stringify([session.value?.id, subject]);
  const found = kept.get(key) ?? { question: signal(""), stage: signal<Stage>({ is: "new" }) };
  kept.set(key, found);
  return found;
}

/** The calls with one that begins, or has ended. */
const withStep = (calls: readonly DiagnosisStep[], step: DiagnosisStep): readonly DiagnosisStep[] => [
  ...calls.filter(({ id }) => id !== step.id),
  step,
];

function commandFor({ check, unit }: Subject, question: string): string {
  const asked = question === "" ? "" : quote(question);
  if (check !== undefined) return `steward ask --check ${check} ${asked}`.trimEnd();
  return (unit === undefined ? `steward ask ${asked}` : `steward ask --unit ${unit} ${asked}`).trimEnd();
}

type Body = NonNullable<Input<"diagnose">["body"]>;

function useAsking({ stage }: Asked) {
  const stop = useRef<AbortController | undefined>(undefined);
  const during = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    stop.current?.abort();
    const own = new AbortController();
    stop.current = own;
    stage.value = { is: "asking", calls: [] };
    try {
      await work(own.signal);
    } catch (error) {
      if (!own.signal.aborted) stage.value = { is: "failed", error: error as Error };
    }
  };
  const end = (): void => {
    stop.current?.abort();
    if (stage.peek().is === "asking") stage.value = { is: "new" };
  };
  useEffect(() => end, [stage]);
  return {
    end,
    ask: (body: Body) =>
      during(async (signal) => {
        for await (const { event, data } of callInPieces("diagnose", { body: { ...body, stream: true } }, { signal })) {
          const now = stage.peek();
          if (event === "step" && now.is === "asking")
            stage.value = { is: "asking", calls: withStep(now.calls, data as DiagnosisStep) };
          if (event === "done") stage.value = { is: "done", found: data as Found };
        }
        if (stage.peek().is === "asking") throw new Error(texts.brokeOff);
      }),
    preview: (body: Body) =>
      during(async (signal) => {
        const preview = await call("diagnose", { body, query: { preview: true } }, { signal });
        stage.value = { is: "previewed", preview: preview as DiagnosisPreview };
      }),
  };
}

function Preview({ of }: { readonly of: DiagnosisPreview }): JSX.Element {
  const { connector, messages, tools, bytes: size, redactions, omitted } = of;
  return (
    <>
      <p>{[texts.sent(connector, bytes(size)), ...(redactions > 0 ? [texts.redacted(redactions)] : [])].join(", ")}</p>
      {messages.map(({ role, content }) => (
        <Part key={role} title={texts.roles[role]} open={role === "user"}>
          {() => <TextBox label={texts.roles[role]}>{content}</TextBox>}
        </Part>
      ))}
      {tools.length > 0 && (
        <Part title={texts.mayCall(tools.length)}>
          {() => (
            <ul class="calls">
              {tools.map(({ name, description }) => (
                <li key={name}>
                  <b>{name}</b> <span class="quiet">{description}</span>
                </li>
              ))}
            </ul>
          )}
        </Part>
      )}
      {omitted.map((each) => (
        <p key={each} class="quiet small">
          {texts.omitted(each)}
        </p>
      ))}
    </>
  );
}

function Outcome({ stage }: { readonly stage: Stage }): JSX.Element | null {
  switch (stage.is) {
    case "new":
      return null;
    case "asking":
      return (
        <div role="status">
          {stage.calls.length > 0 && <h3>{texts.steps}</h3>}
          <Calls of={stage.calls} />
          <p class="quiet">{stage.calls.some(({ status }) => status === null) ? texts.looking : texts.thinking}</p>
        </div>
      );
    case "previewed":
      return <Preview of={stage.preview} />;
    case "done":
      return <DiagnosisAnswer of={stage.found} />;
    case "failed":
      return <Problem error={stage.error} />;
  }
}

/** Asks a language model what is wrong, and shows what it looks at, says and proposes. */
export function Diagnosis({ of: subject }: { readonly of: Subject }): JSX.Element {
  const asked = askedOf(subject);
  const { question, stage } = asked;
  const connector = useSignal("");
  const isRefused = useSignal(false);
  /** What is done once there is administrative access. */
  const waiting = useSignal<(() => void) | undefined>(undefined);
  const { data: models } = useCall("listConnectors", {}, { skip: mayDo("connectors:read") !== "does" });
  const asking = useAsking(asked);
  if (mayDo("connectors:chat") !== "does") return <p class="hint">{shared.missingScope("connectors:chat")}</p>;
  if (models?.connectors.length === 0) return <p class="hint">{texts.noConnector}</p>;

  const words = question.value.trim();
  const body: Body = {
    ...subject,
    ...(words !== "" && { question: words }),
    ...(connector.value !== "" && { connector: connector.value }),
  };
  const about = subject.check === undefined ? (subject.unit === undefined ? undefined : "unit") : "check";
  const begin = (work: (body: Body) => Promise<void>): void => {
    isRefused.value = about === undefined && words === "";
    if (isRefused.value) return;
    const run = (): void => void work(body);
    if (isElevated.value) run();
    else waiting.value = run;
  };
  const isAsking = stage.value.is === "asking";
  return (
    <div class="asking">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          begin(asking.ask);
        }}
      >
        <label>
          {about === undefined ? texts.question : texts.questionOf[about]}
          <textarea
            rows={2}
            maxLength={2000}
            value={question.value}
            aria-invalid={isRefused.value}
            onInput={({ currentTarget }) => (question.value = currentTarget.value)}
          />
        </label>
        {isRefused.value && (
          <p class="hint warn" role="alert">
            {texts.needsQuestion}
          </p>
        )}
        {models !== undefined && models.connectors.length > 1 && (
          <label>
            {texts.connector}
            <select value={connector.value} onChange={({ currentTarget }) => (connector.value = currentTarget.value)}>
              <option value="">{texts.usual(models.default)}</option>
              {models.connectors.map(({ name, model }) => (
                <option key={name} value={name}>
                  {`${name}: ${model}`}
                </option>
              ))}
            </select>
          </label>
        )}
        <div class="buttons">
          {isAsking ? (
            <button type="button" onClick={asking.end}>
              {texts.stop}
            </button>
          ) : (
            <>
              <button type="submit" class="primary">
                {stage.value.is === "done" ? texts.again : texts.ask}
              </button>
              <button type="button" onClick={() => begin(asking.preview)}>
                {texts.preview}
              </button>
            </>
          )}
          <CommandsButton of={[commandOf("diagnose", { body }, commandFor(subject, words))]} />
        </div>
        <p class="quiet small">{texts.rights}</p>
      </form>
      <Outcome stage={stage.value} />
      {waiting.value !== undefined && (
        <ElevateDialog
          onClose={() => (waiting.value = undefined)}
          onElevated={() => {
            const run = waiting.value;
            waiting.value = undefined;
            run?.();
          }}
        />
      )}
    </div>
  );
}

/** The same as a part of a drawer, which is open where there is an answer. */
export function DiagnosisPart({ of }: { readonly of: Subject }): JSX.Element {
  const wasAsked = useMemo(() => askedOf(of).stage.peek().is !== "new", []);
  return (
    <Part title={texts.title} open={wasAsked}>
      {() => <Diagnosis of={of} />}
    </Part>
  );
}
