import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Approval } from "#contract/approvals.ts";
import type { Answer } from "../api/call.ts";
import { useCall } from "../api/resource.ts";
import { Link } from "../router.tsx";
import { identity } from "../session.ts";
import { texts } from "../texts/approvals.ts";
import { ActionButton, PlanView } from "../ui/action.tsx";
import { CommandsButton, commandOf } from "../ui/commands.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { OperationProgress } from "../ui/operation.tsx";
import { Badge, Facts, Loaded, Part, TextBox, Time, type Tone } from "../ui/parts.tsx";

const tones = {
  pending: "warn",
  approved: "info",
  running: "info",
  done: "ok",
  failed: "bad",
  denied: "idle",
  expired: "idle",
  cancelled: "idle",
} as const satisfies Record<Approval["status"], Tone>;

export const ApprovalStatus = ({ of: { status } }: { readonly of: Pick<Approval, "status"> }): JSX.Element => (
  <Badge tone={tones[status]}>{texts.statuses[status]}</Badge>
);

/** What its path names; empty for a call that is about no single thing. */
export const targetOf = ({ arguments: given }: Pick<Approval, "arguments">): string =>
  Object.values((given["params"] ?? {}) as Readonly<Record<string, string>>).join(", ");

export const callOf = (of: Pick<Approval, "operation" | "arguments">): string =>
  texts.callOf(of.operation, targetOf(of));

function sentenceOf({ status, approvers, approvals, error, decided_by: by, result }: Approval): string {
  if (status === "pending") return texts.waits(approvers - approvals.length);
  if (status === "denied") return texts.sentences.denied(by?.name ?? "");
  const { message } = (result ?? {}) as { readonly message?: string };
  return error?.message ?? message ?? texts.sentences[status];
}

/** How the plan differs from the one that was shown before. */
const Changed = ({ of: { changed } }: { readonly of: Approval }): JSX.Element | null =>
  changed === null ? null : (
    <section class="hint warn">
      <p>{texts.changed}</p>
      <ul class="bullets">
        {changed.added.map((line) => (
          <li key={line}>{texts.added(line)}</li>
        ))}
        {changed.missing.map((line) => (
          <li key={line}>{texts.missing(line)}</li>
        ))}
      </ul>
    </section>
  );

interface DecisionProps {
  readonly of: Approval;
  readonly onApproved: (answer: Answer<"approve">) => void;
}

const always = (): boolean => true;

/** What can be decided about a call that waits. */
function Decision({ of, onApproved }: DecisionProps): JSX.Element {
  const reason = useSignal("");
  const { id, plan_digest: digest, scopes, proposer, approvals } = of;
  const keyId = identity.value?.key_id;
  const isOwn = proposer.key_id === keyId;
  const isApproved = approvals.some((each) => each.key_id === keyId);
  const given = reason.value.trim();
  const body = given === "" ? {} : { reason: given };
  const input = { params: { id }, body };
  const needed = scopes.join(", ");
  const why = isOwn ? texts.isOwn(needed) : isApproved ? texts.isApproved(needed) : undefined;
  const call = callOf(of);
  return (
    <>
      <label>
        {texts.ownReason}
        <input
          type="text"
          maxLength={500}
          autocomplete="off"
          value={reason.value}
          onInput={({ currentTarget }) => (reason.value = currentTarget.value)}
        />
      </label>
      <div class="buttons">
        <ActionButton
          operation="approve"
          // Nothing else is approved than what is shown here.
          input={{ ...input, body: { ...body, plan_digest: digest } }}
          label={texts.approve}
          title={texts.approveTitle(call)}
          primary
          disabled={why}
          steward={`steward approve ${id}`}
          options={of.changed && <Changed of={of} />}
          isFollowed={always}
          onDone={onApproved}
        />
        {isOwn ? (
          <ActionButton
            operation="cancelApproval"
            input={input}
            label={texts.withdraw}
            title={texts.withdrawTitle(call)}
            steward={`steward approvals cancel ${id}`}
            isFollowed={always}
          />
        ) : (
          <ActionButton
            operation="deny"
            input={input}
            label={texts.deny}
            title={texts.denyTitle(call)}
            steward={`steward deny ${id}`}
            isFollowed={always}
          />
        )}
      </div>
      {why !== undefined && <p class="quiet">{why}</p>}
    </>
  );
}

/** Who did something to it, when, and why. */
const Party = (props: {
  readonly of: Approval["proposer"];
  readonly at: string | null;
  readonly reason?: string | null;
}): JSX.Element => (
  <div>
    {texts.party(props.of.name, props.of.key_id)} <Time at={props.at} />
    {typeof props.reason === "string" && `: ${props.reason}`}
  </div>
);

function About({ of }: { readonly of: Approval }): JSX.Element {
  const { decided_by: by, operation_id: operation, approvals, approvers } = of;
  const isRefused = of.status === "denied" || of.status === "cancelled";
  return (
    <Facts
      of={{
        [texts.proposer]: <Party of={of.proposer} at={of.created_at} reason={of.reason} />,
        [texts.ends]: of.status === "pending" ? <Time at={of.expires_at} /> : undefined,
        [texts.scopes]: (
          <span class="names">
            {of.scopes.map((scope) => (
              <code key={scope}>{scope}</code>
            ))}
          </span>
        ),
        [texts.approvers]: (
          <>
            {texts.approvedBy(approvals.length, approvers)}
            {approvals.map((each) => (
              <Party key={each.key_id} of={each} at={each.approved_at} reason={each.reason} />
            ))}
          </>
        ),
        [texts.decided]:
          by !== null && isRefused ? <Party of={by} at={of.decided_at} reason={of.decision} /> : undefined,
        [texts.ended]: of.finished_at === null ? undefined : <Time at={of.finished_at} />,
        [texts.operation]:
          operation === null ? undefined : (
            <Link to="operations" query={{ id: operation }}>
              {operation}
            </Link>
          ),
      }}
    />
  );
}

/** As JSON, folded away. */
const Json = ({ title, of }: { readonly title: string; readonly of: unknown }): JSX.Element => (
  <Part title={title}>{() => <pre>{JSON.stringify(of, null, 2)}</pre>}</Part>
);

interface ShownProps {
  readonly of: Approval;
  /** The result that came with the approval: with what is shown only once. */
  readonly own: unknown;
  readonly onApproved: DecisionProps["onApproved"];
}

function Shown({ of, own, onApproved }: ShownProps): JSX.Element {
  const { id, status, operation_id: operation, result } = of;
  const hasMore = result !== null && own !== null && JSON.stringify(own) !== JSON.stringify(result);
  return (
    <>
      <p class="unit-head" role="status">
        <ApprovalStatus of={of} /> {sentenceOf(of)}
      </p>
      {hasMore && (
        <section class="hint warn">
          <p>{texts.wholeAnswer}</p>
          <TextBox label={texts.answer}>{JSON.stringify(own, null, 2)}</TextBox>
        </section>
      )}
      <Changed of={of} />
      {status === "pending" && <Decision of={of} onApproved={onApproved} />}
      {status === "running" && operation !== null && <OperationProgress id={operation} />}
      <PlanView plan={of.plan} {...(of.finished_at !== null && { title: texts.plan })} />
      <About of={of} />
      <div class="parts">
        <Json title={texts.arguments} of={of.arguments} />
        {result !== null && <Json title={texts.answer} of={result} />}
      </div>
      <div class="buttons">
        <CommandsButton of={[commandOf("getApproval", { params: { id } }, `steward approvals show ${id}`)]} />
      </div>
    </>
  );
}

interface DrawerProps {
  readonly id: string;
  /** Of the list: with another one this approval may have changed. */
  readonly revision: number | undefined;
  readonly onClose: () => void;
}

/** One approval, at the side of the list. */
export function ApprovalDrawer({ id, revision, onClose }: DrawerProps): JSX.Element {
  const approval = useCall("getApproval", { params: { id } });
  const own = useSignal<unknown>(null);
  const known = useRef(revision);
  useEffect(() => {
    if (known.current !== undefined && known.current !== revision) approval.refresh();
    known.current = revision;
  }, [revision]);
  return (
    <Dialog title={approval.data === undefined ? texts.title : callOf(approval.data)} onClose={onClose} drawer>
      <Loaded of={approval} rows={8}>
        {(of) => <Shown of={of} own={own.value} onApproved={(answer) => (own.value = answer.result)} />}
      </Loaded>
      {approval.error !== undefined && <p class="quiet">{texts.about}</p>}
    </Dialog>
  );
}
