import { Ajv } from "ajv";
import {
  isRootAsk,
  type RootAsk,
  type RootAskAnswer,
  type RootAskInput,
  RootAskRequest,
  rootAsks,
  rootAskTimeoutMs,
} from "#contract/root-tasks.ts";
import { ownSchemas } from "#contract/schema.ts";
import { DomainError } from "#domain/common/error.ts";
import { PluginUnconfirmed } from "#domain/plugins/confirmation.ts";
import { errorSummary } from "#kernel/errors.ts";
import { toWire } from "./errors.ts";
import type { RecordRoot } from "./record.ts";
import { createRootWork, type WorkParts } from "./work.ts";

const ajv = new Ajv(ownSchemas);
const isRequest = ajv.compile<{ ask: string; input: unknown }>(RootAskRequest);

function refuse(why: string): never {
  throw new DomainError("VALIDATION_ERROR", `cannot do what was asked: ${why}`);
}

function parsed(text: string): { readonly ask: string; readonly input: unknown } {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    return refuse("it is not JSON");
  }
  return isRequest(request) ? request : refuse("it is not of the form of an ask");
}

type Work = (signal: AbortSignal) => Promise<unknown>;

/** Does what is asked, if it is on the list, and gives the answer as it is written down. Never throws. */
export function createRootAnswers(
  parts: WorkParts & { readonly record: RecordRoot },
): (id: string, text: string, cancelled: AbortSignal) => Promise<RootAskAnswer> {
  const { record } = parts;
  const known = createRootWork(parts);
  const workFor = <A extends RootAsk>(ask: A, input: unknown): Work => {
    const isInput = ajv.compile<RootAskInput<A>>(rootAsks[ask].input);
    if (!isInput(input))
      throw new DomainError("VALIDATION_ERROR", `cannot do ${ask}: ${ajv.errorsText(isInput.errors)}`);
    return (signal) => known[ask](input, signal);
  };

  /** What is asked, checked. Whatever is refused here the service itself would not ask for. */
  const admitted = (id: string, text: string) => {
    let request = "";
    try {
      const { ask, input } = parsed(text);
      request = ask;
      if (!isRootAsk(ask)) return refuse("it is not on the list");
      return { ask, input, work: workFor(ask, input) };
    } catch (error) {
      record({ id, request, phase: "refused", error: errorSummary(error) });
      throw error;
    }
  };

  /** Root's own record of what changes the host: who asks has one as well, and may not be trusted. */
  const recorded = async (
    id: string,
    { ask, input }: { ask: RootAsk; input: unknown },
    work: () => Promise<unknown>,
  ) => {
    if (rootAsks[ask].effect === "write") record({ id, request: ask, phase: "begun", input });
    try {
      const output = await work();
      if (rootAsks[ask].effect === "write") record({ id, request: ask, phase: "done" });
      return output;
    } catch (error) {
      if (rootAsks[ask].effect === "write") record({ id, request: ask, phase: "failed", error: errorSummary(error) });
      else if (error instanceof PluginUnconfirmed)
        record({ id, request: ask, phase: "refused", input, error: error.message });
      throw error;
    }
  };

  return async (id, text, cancelled) => {
    try {
      const { work, ...request } = admitted(id, text);
      const signal = AbortSignal.any([cancelled, AbortSignal.timeout(rootAskTimeoutMs(request.ask))]);
      return { output: await recorded(id, request, () => work(signal)) };
    } catch (error) {
      return { error: toWire(error) };
    }
  };
}
