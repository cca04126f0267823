import { healthy, type ProbeResult, unhealthy } from "#domain/ports/probe.ts";
import { type Answer, ask, type HttpTarget } from "./request.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** The reason stays the same from probe to probe as long as nothing changes: no figures that count down. */
function certificateFault({ certificateEnd }: Answer, { certificateDays }: HttpTarget): string | undefined {
  if (certificateDays === undefined || certificateEnd === undefined) return undefined;
  if (certificateEnd - Date.now() >= certificateDays * dayMs) return undefined;
  return `its certificate ends on ${new Date(certificateEnd).toISOString().slice(0, 10)}`;
}

const judged = (answer: Answer, target: HttpTarget, isWanted: (status: number) => boolean): ProbeResult => {
  if (!isWanted(answer.status)) return unhealthy(`it answers ${answer.status}`);
  const fault = certificateFault(answer, target);
  return fault === undefined ? healthy : unhealthy(fault);
};

const isGood = (status: number): boolean => status >= 200 && status < 300;

export async function probeHttp(
  target: HttpTarget & { readonly statuses?: readonly number[] },
  signal: AbortSignal,
): Promise<ProbeResult> {
  const { statuses } = target;
  return judged(await ask(target, {}, signal), target, (status) => statuses?.includes(status) ?? isGood(status));
}

/** Whether a collector takes traces over HTTP: none are sent, which the protocol allows. */
export const probeCollector = async (target: HttpTarget, signal: AbortSignal): Promise<ProbeResult> =>
  judged(await ask(target, { path: "/v1/traces", body: '{"resourceSpans":[]}' }, signal), target, isGood);

export const probePrometheus = async (target: HttpTarget, signal: AbortSignal): Promise<ProbeResult> =>
  judged(await ask(target, { path: "/-/healthy" }, signal), target, isGood);
