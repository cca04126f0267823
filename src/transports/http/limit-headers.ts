import type { FastifyReply } from "fastify";
import type { Quota } from "#contract/operation.ts";
import { type Decision, type Window, type WindowState, wholeSeconds } from "#domain/access/rate-limit.ts";

const policies = new WeakMap<Window, string>();

function policyOf({ window }: WindowState): string {
  const known = policies.get(window);
  if (known !== undefined) return known;
  const policy = `"${window.name}";q=${window.quota};w=${window.seconds}`;
  policies.set(window, policy);
  return policy;
}

/** The headers of both windows. @param now epoch milliseconds. */
export function setLimitHeaders(reply: FastifyReply, { tightest, windows }: Decision, now: number): void {
  reply.header("x-ratelimit-limit", tightest.window.quota);
  reply.header("x-ratelimit-remaining", tightest.remaining);
  reply.header("x-ratelimit-reset", Math.ceil((now + tightest.endsInMs) / 1000));
  reply.header("ratelimit-policy", windows.map(policyOf).join(", "));
  const { window, remaining, endsInMs } = tightest;
  reply.header("ratelimit", `"${window.name}";r=${remaining};t=${wholeSeconds(endsInMs)}`);
}

function addItem(reply: FastifyReply, name: string, item: string): void {
  const before = reply.getHeader(name);
  reply.header(name, before === undefined ? item : `${String(before)}, ${item}`);
}

export function setQuotaHeaders(reply: FastifyReply, quota: Quota): void {
  const { name, limit, remaining, windowSeconds, resetSeconds } = quota;
  addItem(reply, "RateLimit-Policy", `"${name}";q=${limit};w=${windowSeconds}`);
  addItem(reply, "RateLimit", `"${name}";r=${remaining};t=${resetSeconds}`);
}
