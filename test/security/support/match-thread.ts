import { parentPort } from "node:worker_threads";
import { compileExpression } from "#domain/logs/expression.ts";
import { ExpressionUnsupported } from "#domain/logs/expression-tree.ts";

export interface MatchRequest {
  readonly expression: string;
  readonly text: string;
}

/** Whether the text matches; `refused` where the expression is. */
export type MatchReply = boolean | "refused";

function match({ expression, text }: MatchRequest): MatchReply {
  try {
    return compileExpression(expression).test(text);
  } catch (error) {
    if (error instanceof ExpressionUnsupported) return "refused";
    throw error;
  }
}

parentPort?.on("message", (request: MatchRequest) => parentPort?.postMessage(match(request)));
