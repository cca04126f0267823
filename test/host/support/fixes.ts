import type { FixResult } from "#contract/checks.ts";
import type { Plan } from "#contract/operation.ts";
import type { Session } from "./session.ts";

export const unchanged = { added: [], removed: [], changed: [] };
/** What the host writes by itself while a test looks at it. */
export const ownTraces = { ignore: [/^\/var\/log\/journal/, /^\/var\/lib\/systemd\//] };

const isPlan = (answer: FixResult | Plan): answer is Plan => "dry_run" in answer;

export const fixesOf = (session: Session) => ({
  check: (id: string) => session.api.getCheck({ params: { check_id: id } }),
  fix: async (id: string): Promise<FixResult> => {
    const answer = await session.api.fixCheck({ params: { check_id: id }, query: {}, body: {} });
    if (isPlan(answer)) throw new Error("a plan was given where a result was asked for");
    return answer;
  },
  plan: async (id: string): Promise<Plan> => {
    const answer = await session.api.fixCheck({ params: { check_id: id }, query: { dry_run: true }, body: {} });
    if (!isPlan(answer)) throw new Error("a result was given where a plan was asked for");
    return answer;
  },
  /** restarts the service with these settings. */
  configure: async (lines: readonly string[]): Promise<void> => {
    await session.host.writeFile("/etc/steward/config.yaml", `${lines.join("\n")}\n`);
    await session.host.exec(["systemctl", "reset-failed", "steward.service"]);
    await session.service.restart();
  },
});
