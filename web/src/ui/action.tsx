import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo } from "preact/hooks";
import type { Approval } from "#contract/approvals.ts";
import type { Plan } from "#contract/operation.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { type Answer, call, type Input, type Name, Refusal } from "../api/call.ts";
import { operations } from "../api/operations.generated.ts";
import { refreshAll } from "../api/resource.ts";
import { Link, page } from "../router.tsx";
import { identity, isElevated, mayDo } from "../session.ts";
import { texts as shared, actionTexts as texts } from "../texts/shell.ts";
import { CommandLines, commandOf } from "./commands.tsx";
import { Dialog } from "./dialog.tsx";
import { ElevateDialog } from "./elevate.tsx";
import { bytes } from "./format.ts";
import { OperationProgress } from "./operation.tsx";
import { Facts, Loading, Problem } from "./parts.tsx";

export interface ActionProps<K extends Name> {
  readonly operation: K;
  readonly input: Input<K>;
  /** On the button: one or two words. */
  readonly label: string;
  /** Over the plan: what is done to what. */
  readonly title: string;
  /** The unit, package or the like that a narrowed key has to name. */
  readonly resource?: string;
  readonly primary?: boolean;
  /** Reasons not to offer it now, for people. */
  readonly disabled?: string | undefined;
  /** The line of `steward` that does the same. */
  readonly steward?: string;
  /** Settings above the plan; when they change the input, it is planned again. */
  readonly options?: ComponentChildren;
  /** Long work: it is followed and not waited for. */
  readonly later?: boolean;
  readonly onDone?: (answer: Answer<K>) => void;
  /** Whether the page shows what came of it: the dialog goes. */
  readonly isFollowed?: (answer: Answer<K>) => boolean;
}

type Done = { readonly message?: string; readonly success?: boolean };

const isPlan = (answer: unknown): answer is Plan => (answer as { dry_run?: boolean } | undefined)?.dry_run === true;
export const isOperation = (answer: unknown): answer is OperationEntry =>
  typeof answer === "object" && answer !== null && "kind" in answer && "progress" in answer;
const isApproval = (answer: unknown): answer is Pick<Approval, "id"> =>
  typeof answer === "object" && answer !== null && "proposer" in answer;
/** It was refused since something else would be done now than what was shown. */
const isOutdated = (error: unknown): boolean => error instanceof Refusal && error.details["reason"] === "plan_changed";

const mostNamed = 12;
function Names({ of }: { readonly of: readonly string[] }): JSX.Element {
  const isAll = useSignal(false);
  const named = isAll.value ? of : of.slice(0, mostNamed);
  return (
    <span class="names">
      {named.map((each) => (
        <code key={each}>{each}</code>
      ))}
      {named.length < of.length && (
        <button type="button" class="plain" onClick={() => (isAll.value = true)}>
          {texts.more(of.length - named.length)}
        </button>
      )}
    </span>
  );
}

interface PlanProps {
  readonly plan: Plan;
  readonly title?: string;
}

/** A plan for people: what would be done, to what, and what it costs. */
export function PlanView({ plan, title = texts.steps }: PlanProps): JSX.Element {
  const { steps, units, packages, bytes: download, reason, rollback_lacks: lacks } = plan;
  return (
    <div class="plan">
      {steps.length > 0 ? (
        <>
          <h3>{title}</h3>
          <ol>
            {steps.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
        </>
      ) : (
        <p>{texts.nothing}</p>
      )}
      {reason !== undefined && <p class="quiet">{reason}</p>}
      <Facts
        of={{
          [texts.units]: units.length > 0 ? <Names of={units} /> : undefined,
          [texts.packages]: packages.length > 0 ? <Names of={packages} /> : undefined,
          [texts.download]: download > 0 ? bytes(download) : undefined,
          [texts.frees]: plan.frees_bytes === undefined ? undefined : bytes(plan.frees_bytes),
        }}
      />
      {plan.requires_reboot && <p class="hint warn">{texts.reboot}</p>}
      {plan.rollback === "partial" && <p class="hint warn">{texts.partial((lacks ?? []).join(", "))}</p>}
      {plan.outside_window !== undefined && <p class="hint warn">{plan.outside_window.message}</p>}
      {plan.needs_approval !== undefined && (
        <p class="hint">{`${texts.proposes(plan.needs_approval.approvers)} ${plan.needs_approval.message}`}</p>
      )}
      {plan.risk === "risky" && <p class="hint warn">{texts.risky}</p>}
    </div>
  );
}

type Stage =
  | { readonly is: "planning"; readonly isChanged: boolean }
  | { readonly is: "planned"; readonly plan: Plan; readonly isChanged: boolean }
  | { readonly is: "running" }
  | { readonly is: "done"; readonly answer: unknown }
  | { readonly is: "failed"; readonly error: Error };

/** Whether what is planned now takes the place of a plan that somebody wanted carried out. */
const isPlannedAgain = (stage: Stage): boolean =>
  (stage.is === "planning" && stage.isChanged) || (stage.is === "failed" && isOutdated(stage.error));

function useAction<K extends Name>({ operation, input, later = false, onDone }: ActionProps<K>) {
  const stage = useSignal<Stage>({ is: "planning", isChanged: false });
  const fail = (error: unknown): void => {
    stage.value = { is: "failed", error: error as Error };
    // With what it was asked for again it is planned again.
    if (isOutdated(error)) refreshAll();
  };
  const plan = async (signal?: AbortSignal): Promise<void> => {
    const isChanged = isPlannedAgain(stage.peek());
    stage.value = { is: "planning", isChanged };
    try {
      const asked = { ...input, query: { ...(input as { query?: object }).query, dry_run: true } } as Input<K>;
      const answer = await call(operation, asked, signal && { signal });
      if (!isPlan(answer)) throw new Error("the service answered a dry run with something else than a plan");
      stage.value = { is: "planned", plan: answer, isChanged };
    } catch (error) {
      if (!signal?.aborted) fail(error);
    }
  };
  const run = async ({ plan_token: planToken }: Plan, override: string | undefined): Promise<void> => {
    stage.value = { is: "running" };
    try {
      const answer = await call(operation, input, { planToken, override, later });
      stage.value = { is: "done", answer };
      refreshAll();
      onDone?.(answer);
    } catch (error) {
      const changed = error instanceof Refusal ? error.details["plan"] : undefined;
      if (isPlan(changed)) stage.value = { is: "planned", plan: changed, isChanged: true };
      else fail(error);
    }
  };
  return { stage, plan, run };
}

function Outcome({ answer }: { readonly answer: unknown }): JSX.Element {
  if (isOperation(answer)) return <OperationProgress id={answer.id} />;
  if (isApproval(answer))
    return (
      <p class="hint" role="status">
        {texts.waits}{" "}
        <Link to="approvals" query={{ id: answer.id }}>
          {texts.approval}
        </Link>
      </p>
    );
  const { message, success } = answer as Done;
  return (
    <p class={success === false ? "hint bad" : "hint ok"} role="status">
      {message ?? texts.done}
    </p>
  );
}

/** Whether a window holds a call back when it is made now: what waits for approval is held back later. */
const isHeld = ({ outside_window: held, needs_approval: waits }: Plan): boolean =>
  held !== undefined && waits === undefined;
/** It goes into a header. */
const isReason = (text: string): boolean => /^[\x21-\x7e][\x20-\x7e]*$/.test(text);

/** Where somebody who may override a window says why. */
function OverrideField({ value }: { readonly value: Signal<string> }): JSX.Element | null {
  if (mayDo("windows:override") !== "does") return null;
  return (
    <>
      <label>
        {texts.override}
        <input
          type="text"
          maxLength={200}
          autocomplete="off"
          value={value.value}
          onInput={({ currentTarget }) => (value.value = currentTarget.value)}
        />
      </label>
      {value.value !== "" && !isReason(value.value) && <p class="hint warn">{texts.overrideForm}</p>}
    </>
  );
}

/** Settings may be typed: a plan is asked for once the typing pauses. */
const pauseMs = 400;

/** The plan of a call, and the button that carries it out. */
function ActionDialog<K extends Name>(props: ActionProps<K> & { readonly onClose: () => void }): JSX.Element {
  const { operation, input, label, title, steward, options, onClose } = props;
  const isRead = useSignal(false);
  const override = useSignal("");
  const { stage, plan, run } = useAction({
    ...props,
    onDone: (answer) => {
      props.onDone?.(answer);
      if (props.isFollowed?.(answer) === true) onClose();
    },
  });
  const key = JSON.stringify(input);
  const first = useMemo(() => key, []);
  // Before anybody can click: what is carried out is what the settings above the plan say.
  useLayoutEffect(() => {
    const stop = new AbortController();
    stage.value = { is: "planning", isChanged: isPlannedAgain(stage.peek()) };
    const timer = setTimeout(() => void plan(stop.signal), key === first ? 0 : pauseMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key]);
  const now = stage.value;
  const isRisky = now.is === "planned" && now.plan.risk === "risky";
  const needsReason = now.is === "planned" && isHeld(now.plan);
  const hasSteps = now.is === "planned" && now.plan.steps.length > 0;
  return (
    <Dialog title={title} onClose={onClose}>
      {options !== undefined && now.is !== "done" && now.is !== "running" && <div class="options">{options}</div>}
      {now.is === "planning" && (
        <>
          <p class="quiet">{texts.asking}</p>
          <Loading rows={3} />
        </>
      )}
      {now.is === "planned" && (
        <>
          {now.isChanged && <p class="hint warn">{texts.changed}</p>}
          <PlanView plan={now.plan} />
          {needsReason && <OverrideField value={override} />}
          {isRisky && (
            <label class="check">
              <input type="checkbox" checked={isRead.value} onChange={() => (isRead.value = !isRead.value)} />
              {texts.confirm}
            </label>
          )}
          <details class="more">
            <summary>{"API"}</summary>
            <CommandLines of={[commandOf(operation, input, steward)]} />
          </details>
        </>
      )}
      {now.is === "running" && (
        <p class="hint" role="status">
          {texts.running}
        </p>
      )}
      {now.is === "done" && <Outcome answer={now.answer} />}
      {now.is === "failed" && <Problem error={now.error} onRetry={() => void plan()} />}
      <footer>
        <button type="button" onClick={onClose}>
          {now.is === "done" ? texts.close : texts.cancel}
        </button>
        {hasSteps && (
          <button
            type="button"
            class={operations[operation][3] === "danger" ? "primary danger" : "primary"}
            disabled={(isRisky && !isRead.value) || (needsReason && !isReason(override.value))}
            onClick={() => void run(now.plan, needsReason ? override.value : undefined)}
          >
            {label}
          </button>
        )}
      </footer>
    </Dialog>
  );
}

/** What is shown of an action now. It outlives its button, whose row may be gone once it is done. */
interface Shown {
  readonly of: symbol;
  readonly step: "elevate" | "plan";
  readonly props: ActionProps<Name>;
}
const shown = signal<Shown | undefined>(undefined);

/** The dialog of the action that somebody has asked for, in its one place. */
export function ActionPlace(): JSX.Element | null {
  const now = shown.value;
  const close = (): void => {
    shown.value = undefined;
  };
  // A link in it leads to another page.
  useEffect(close, [page.value]);
  if (now === undefined) return null;
  if (now.step === "plan") return <ActionDialog {...now.props} onClose={close} />;
  return <ElevateDialog onClose={close} onElevated={() => (shown.value = { ...now, step: "plan" })} />;
}

/**
 * A button whose click shows first what would be done. Without administrative access that is asked for; what the key may not do is
 * there, disabled, and names the scope.
 */
export function ActionButton<K extends Name>(props: ActionProps<K>): JSX.Element {
  const { operation, label, resource, primary = false, disabled } = props;
  const own = useMemo(() => Symbol(operation), [operation]);
  const scope = operations[operation][2];
  const missing = identity.value === undefined ? texts.accessUnknown : shared.missingScope(scope);
  const lacks = mayDo(scope, resource) === "lacks" ? missing : disabled;
  const latest = props as unknown as ActionProps<Name>;
  // Settings above the plan change what is asked. At once: a field that got its value a short time later would lose what was typed meanwhile.
  useLayoutEffect(() => {
    const now = shown.peek();
    if (now?.of === own) shown.value = { ...now, props: latest };
  });
  return (
    <button
      type="button"
      class={primary ? "primary" : undefined}
      aria-disabled={lacks !== undefined}
      title={lacks}
      onClick={() => {
        if (lacks !== undefined) return;
        shown.value = { of: own, step: isElevated.value ? "plan" : "elevate", props: latest };
      }}
    >
      {label}
      {lacks !== undefined && <span class="hidden">{` (${lacks})`}</span>}
    </button>
  );
}
