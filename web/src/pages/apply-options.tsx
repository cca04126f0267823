import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Input } from "../api/call.ts";
import { go, hrefOf } from "../router.tsx";
import { texts } from "../texts/updates.ts";
import { ActionButton, isOperation } from "../ui/action.tsx";

const snapshots = { asSettings: undefined, take: true, required: "required", none: false } as const;

interface Options {
  readonly everything: boolean;
  readonly securityOnly: boolean;
  readonly guard: boolean;
  readonly restart: boolean;
  readonly snapshot: keyof typeof snapshots;
}

export function Check(props: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
      />
      <span>{props.children}</span>
    </label>
  );
}

/** A choice in a list. */
export function Select<T extends string>(props: {
  readonly label: string;
  readonly of: Readonly<Record<T, string>>;
  readonly value: T;
  readonly onChange: (value: T) => void;
}): JSX.Element {
  return (
    <label>
      {props.label}
      <select value={props.value} onChange={({ currentTarget }) => props.onChange(currentTarget.value as T)}>
        {Object.entries<string>(props.of).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Shows an operation where it can be followed, also after a reload. */
export function follow(answer: unknown): void {
  if (isOperation(answer)) go(hrefOf("updates", { operation: answer.id }));
}

const { options: words } = texts;

function ApplyOptions({ of, chosen }: { readonly of: Signal<Options>; readonly chosen: readonly string[] }) {
  const { everything, securityOnly, guard, restart, snapshot } = of.value;
  const set = (change: Partial<Options>): void => {
    of.value = { ...of.value, ...change };
  };
  return (
    <>
      {chosen.length > 0 ? (
        <p>{words.onlyChosen(chosen.join(", "))}</p>
      ) : (
        <>
          <Select
            label={words.type}
            of={{ packages: words.packages, all: words.everything }}
            value={everything ? "all" : "packages"}
            onChange={(value) => set({ everything: value === "all" })}
          />
          <Check checked={securityOnly} onChange={(is) => set({ securityOnly: is })}>
            {words.securityOnly}
          </Check>
        </>
      )}
      <Check checked={guard} onChange={(is) => set({ guard: is })}>
        {words.guard}
      </Check>
      <Check checked={restart} onChange={(is) => set({ restart: is })}>
        {words.restart}
      </Check>
      <Select
        label={words.snapshot}
        of={{ asSettings: words.asSettings, take: words.take, required: words.required, none: words.none }}
        value={snapshot}
        onChange={(value) => set({ snapshot: value })}
      />
    </>
  );
}

function commandFor(chosen: readonly string[], { securityOnly, guard, restart, snapshot }: Options): string {
  return [
    "steward updates apply",
    ...chosen.map((name) => `--package ${name}`),
    ...(securityOnly && chosen.length === 0 ? ["--security"] : []),
    ...(guard ? ["--guard"] : []),
    ...(restart ? ["--restart-stale"] : []),
    ...(snapshot === "none" ? ["--no-snapshot"] : []),
    ...(snapshot === "required" ? ["--require-rollback"] : []),
  ].join(" ");
}

/** Installs updates: the chosen ones, else all of them, or those for security. */
export function ApplyButton(props: {
  readonly chosen: readonly string[];
  /** What is shown, and so what is offered first. */
  readonly securityOnly: boolean;
  readonly disabled: string | undefined;
}): JSX.Element {
  const { chosen, disabled } = props;
  const options = useSignal<Options>({
    ...{ everything: false, guard: true, restart: false, snapshot: "asSettings" },
    securityOnly: props.securityOnly,
  });
  useEffect(() => {
    options.value = { ...options.value, securityOnly: props.securityOnly };
  }, [props.securityOnly]);
  const { everything, securityOnly, guard, restart, snapshot } = options.value;
  const taken = snapshots[snapshot];
  const body: NonNullable<Input<"applyUpdates">["body"]> = {
    ...(chosen.length > 0
      ? { packages: [...chosen] }
      : { ...(everything && { type: "all" as const }), ...(securityOnly && { security_only: true }) }),
    guard,
    ...(restart && { restart_stale: true }),
    ...(taken !== undefined && { create_snapshot: taken }),
  };
  return (
    <ActionButton
      operation="applyUpdates"
      input={{ body }}
      label={chosen.length > 0 ? texts.installChosen(chosen.length) : texts.install}
      title={texts.installTitle}
      primary
      later
      disabled={disabled}
      steward={commandFor(chosen, options.value)}
      options={<ApplyOptions of={options} chosen={chosen} />}
      isFollowed={isOperation}
      onDone={(answer) => follow(answer)}
    />
  );
}
