import type { Outcome } from "./check.ts";

/** What a check says of one of its objects. */
export interface Finding {
  readonly status: "pass" | "warn" | "fail";
  /** A clause for the message; not shown where it passes. */
  readonly problem: string;
}

export const passing: Finding = { status: "pass", problem: "" };

const mostProblems = 4;

/** The worst of the findings, with the problems of all that are not healthy, the worst first. */
export function combineFindings(
  findings: readonly Finding[],
  healthyMessage: string,
  details: Outcome["details"],
): Outcome {
  const of = (status: Finding["status"]): readonly Finding[] => findings.filter((each) => each.status === status);
  const failing = of("fail");
  const problems = [...failing, ...of("warn")].map(({ problem }) => problem);
  if (problems.length === 0) return { status: "pass", message: healthyMessage, details };
  const more = problems.length > mostProblems ? `; and ${problems.length - mostProblems} more` : "";
  const message = problems.slice(0, mostProblems).join("; ") + more;
  return { status: failing.length > 0 ? "fail" : "warn", message, details };
}
