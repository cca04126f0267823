import { lookup as lookupAddress } from "node:dns/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { connect } from "node:net";
import { TLSSocket } from "node:tls";
import { readTextFile } from "#adapters/files/index.ts";
import { guardedLookup, isLinkLocal } from "#adapters/link-local/index.ts";
import { healthy, type Probe, type ProbeResult, unhealthy } from "#domain/ports/probe.ts";
import type { Unit } from "#domain/ports/units.ts";
import { untilAborted } from "#kernel/async.ts";
import { toDay } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";

export interface HttpTarget {
  readonly url: string;
  readonly timeoutMs: number;
  readonly caFile?: string;
  readonly certificateDays?: number;
}

export interface Answer {
  readonly status: number;
  readonly certificateEnd: number | undefined;
}

const linkLocal = (): Error => new Error("it leads to a link-local address, which is never asked");

const lookup = guardedLookup(linkLocal);

function checkHost(host: string): void {
  if (isLinkLocal(host)) throw linkLocal();
}

/** An error with a message: what fails for each address of a name has none of its own. */
const worded = (error: Error): Error =>
  error instanceof AggregateError && error.message === ""
    ? new Error(error.errors.map((each) => errorMessage(each)).join("; "))
    : error;

const certificateEndOf = (socket: unknown): number | undefined =>
  socket instanceof TLSSocket ? Date.parse(socket.getPeerCertificate().valid_to) : undefined;

async function fetchAnswer(
  target: HttpTarget,
  { path, body }: { readonly path?: string; readonly body?: string },
  signal: AbortSignal,
): Promise<Answer> {
  const { url: text, timeoutMs, caFile } = target;
  const url = path === undefined ? new URL(text) : new URL(text.replace(/\/*$/, path));
  checkHost(url.hostname);
  const ca = caFile === undefined ? undefined : readTextFile(caFile);
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(url, {
      method: body === undefined ? "GET" : "POST",
      agent: false,
      signal: over,
      lookup,
      headers: {
        "user-agent": "steward",
        ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
      ...(ca !== undefined && { ca }),
    });
    request.on("response", (response) => {
      resolve({ status: response.statusCode ?? 0, certificateEnd: certificateEndOf(response.socket) });
      response.destroy();
    });
    request.on("error", (error) => {
      reject(over.aborted && !signal.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : worded(error));
    });
    request.end(body);
  });
}

const dayMs = 24 * 60 * 60 * 1000;

/** The reason stays the same from probe to probe as long as nothing changes: no figures that count down. */
function certificateFault({ certificateEnd }: Answer, { certificateDays }: HttpTarget): string | undefined {
  if (certificateDays === undefined || certificateEnd === undefined) return undefined;
  if (certificateEnd - Date.now() >= certificateDays * dayMs) return undefined;
  return `its certificate ends on ${toDay(certificateEnd)}`;
}

const isGood = (status: number): boolean => status >= 200 && status < 300;

const requests = {
  http: {},
  /** Whether it takes traces over HTTP: none are sent, which the protocol allows. */
  collector: { path: "/v1/traces", body: '{"resourceSpans":[]}' },
  prometheus: { path: "/-/healthy" },
} as const;

type ProbedByHttp = HttpTarget & { readonly kind: keyof typeof requests; readonly statuses?: readonly number[] };

async function probeHttp(target: ProbedByHttp, signal: AbortSignal): Promise<ProbeResult> {
  const answer = await fetchAnswer(target, requests[target.kind], signal);
  const { status } = answer;
  if (!(target.statuses?.includes(status) ?? isGood(status))) return unhealthy(`it answers ${status}`);
  const fault = certificateFault(answer, target);
  return fault === undefined ? healthy : unhealthy(fault);
}

export interface TcpTarget {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

async function probeTcp(target: TcpTarget, signal: AbortSignal): Promise<ProbeResult> {
  const { host, port, timeoutMs } = target;
  checkHost(host);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup, autoSelectFamily: true });
    const end = (work: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      work();
    };
    const onAbort = (): void => end(() => reject(new Error("given up")));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    socket.setTimeout(timeoutMs, () => end(() => reject(new Error(`no connection within ${timeoutMs / 1000} s`))));
    socket.once("error", (error) => end(() => reject(worded(error))));
    socket.once("connect", () => end(() => resolve(healthy)));
  });
}

export interface DnsTarget {
  readonly hostname: string;
  readonly timeoutMs: number;
}

/** By the host's own resolver, with /etc/hosts, as other programs find the name. */
async function probeDns({ hostname, timeoutMs }: DnsTarget, signal: AbortSignal): Promise<ProbeResult> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    await untilAborted(lookupAddress(hostname), over);
    return healthy;
  } catch (error) {
    if (signal.aborted) throw error;
    return unhealthy(over.aborted ? `no address within ${timeoutMs / 1000} s` : `no address for ${hostname}`);
  }
}

export type ReadUnit = (name: string) => Promise<Pick<Unit, "loadState" | "activeState" | "subState" | "result">>;

const runs: readonly string[] = ["active", "reloading", "refreshing", "activating"];

async function probeUnit(name: string, read: ReadUnit): Promise<ProbeResult> {
  const { loadState, activeState, subState, result } = await read(name);
  if (loadState === "not-found") return unhealthy(`there is no unit ${name}`);
  if (runs.includes(activeState) && subState !== "auto-restart") return healthy;
  const why = result === "" || result === "success" ? "" : `: ${result}`;
  return unhealthy(`${name} is ${activeState} (${subState})${why}`);
}

export type ProbeTarget =
  | ProbedByHttp
  | (TcpTarget & { readonly kind: "tcp" })
  | (DnsTarget & { readonly kind: "dns" })
  | { readonly kind: "unit"; readonly unit: string };

export function createComponentProbe(ports: { readonly target: ProbeTarget; readonly readUnit: ReadUnit }): Probe {
  const { target, readUnit } = ports;
  switch (target.kind) {
    case "unit":
      return () => probeUnit(target.unit, readUnit);
    case "tcp":
      return (signal) => probeTcp(target, signal);
    case "dns":
      return (signal) => probeDns(target, signal);
    case "http":
    case "collector":
    case "prometheus":
      return (signal) => probeHttp(target, signal);
  }
}
