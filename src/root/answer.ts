import { Ajv } from "ajv";
import { ownSchemas } from "#contract/schema.ts";
import { describeSchemaFault } from "#contract/schema-fault.ts";
import { DomainError } from "#domain/common/error.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { PluginUnconfirmed } from "#domain/plugins/confirmation.ts";
import { errorSummary, toError } from "#kernel/errors.ts";
import type { RootRequest } from "./protocol.ts";
import type { RecordRoot } from "./record.ts";
import { isRootTask, type RootTask, type RootTaskInput, rootTasks, rootTaskTimeoutMs } from "./tasks.ts";
import { type RootWork, rootWork, type TaskContext } from "./work.ts";

const ajv = new Ajv({ ...ownSchemas, verbose: true });

export function refuse(why: string): never {
  throw new DomainError("VALIDATION_ERROR", `cannot do what was requested: ${why}`);
}

/** How long a read may take to end when it is stopped. */
const endMs = 20_000;

const hangs = (task: RootTask): HostUnavailable =>
  new HostUnavailable(`cannot finish ${task}: something on the host gives no answer`, {
    missing: "answer",
    retryable: true,
  });

const hanging = (task: RootTask, signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const onAbort = (): void => void setTimeout(() => reject(hangs(task)), endMs);
    signal.addEventListener("abort", onAbort, { once: true });
  });

const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(toError(signal.reason)), { once: true }));

type Work = (context: TaskContext) => Promise<unknown>;

function admitted({ task, input }: RootRequest): { readonly task: RootTask; readonly work: Work } {
  if (!isRootTask(task)) return refuse("it is not on the list");
  const workFor = <T extends RootTask>(name: T): Work => {
    const isInput = ajv.compile<RootTaskInput<T>>(rootTasks[name].input);
    if (!isInput(input)) {
      const faults = (isInput.errors ?? []).map((error) => `input${error.instancePath} ${describeSchemaFault(error)}`);
      throw new DomainError("VALIDATION_ERROR", `cannot do ${name}: ${faults.join(", ")}`);
    }
    const work: RootWork = rootWork;
    return (context) => work[name](input, context);
  };
  return { task, work: workFor(task) };
}

/** What changes the host is in root's own record: the service's may not be trusted. */
export async function answerRequest(
  request: RootRequest,
  ports: Omit<TaskContext, "signal"> & { readonly record: RecordRoot; readonly cancelled: AbortSignal },
): Promise<unknown> {
  const { record, cancelled } = ports;
  const { id, task: name, input } = request;
  const refused = (error: unknown): void => record({ id, request: name, phase: "refused", error: errorSummary(error) });
  let found: ReturnType<typeof admitted>;
  try {
    found = admitted(request);
  } catch (error) {
    refused(error);
    throw error;
  }
  const { task, work } = found;
  let isStarted = false;
  const begin = (): void => {
    record({ id, request: task, phase: "begun", input });
    isStarted = true;
  };
  if (rootTasks[task].effect === "write" && task !== "fix") begin();
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(rootTaskTimeoutMs(task))]);
  const announce: TaskContext["announce"] = async (given): Promise<void> => {
    const proceeds = ports.announce(given);
    if ((given.plan?.steps.length ?? 0) === 0) return;
    await Promise.race([proceeds, rejection(signal)]);
    begin();
  };
  try {
    const working = work({ ...ports, signal, announce });
    const output = await (rootTasks[task].effect === "write"
      ? working
      : Promise.race([working, hanging(task, signal)]));
    if (isStarted) record({ id, request: task, phase: "done" });
    return output;
  } catch (error) {
    if (isStarted) record({ id, request: task, phase: "failed", error: errorSummary(error) });
    else if (error instanceof PluginUnconfirmed) refused(error);
    throw error;
  }
}
