import { expect } from "vitest";
import type { Judgement } from "#contract/auth.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { send, type TestReply, type TestService } from "./harness.ts";

/** What `GET /auth/can` is asked with a key. */
export type Asked = readonly [key: string, operation: string, resource?: string];

export function askWhether(service: TestService, ...[key, operation, resource]: Asked): Promise<TestReply> {
  const query = new URLSearchParams({ operation, ...(resource !== undefined && { resource }) });
  return send(service, { path: `/api/v1/auth/can?${query}`, key });
}

/** The answer, which must be a 200. */
export async function judgement(service: TestService, ...asked: Asked): Promise<Judgement> {
  const { status, json } = await askWhether(service, ...asked);
  expect(status).toBe(200);
  return json as Judgement;
}

/** A window in which these scopes are not good; without any it is taken away. */
export const freezeScopes = (service: TestService, deny: readonly string[]): void =>
  service.service.replaceWindows(
    deny.length === 0
      ? []
      : [
          {
            ...{ name: "freeze", cron: "", timezone: undefined, allow: [], deny, isSilent: false },
            times: { calendar: createFakeCalendar(86_400_000), durationMs: 3_600_000, delayMs: 0 },
          },
        ],
  );
