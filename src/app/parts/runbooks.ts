import { lookApart } from "#adapters/exec/look.ts";
import { createRunbooks } from "#adapters/runbooks/index.ts";
import { runbookDirectory } from "#config/places.ts";
import { canonicalUnit, isWithin } from "#domain/logs/unit-pattern.ts";
import type { Runbooks } from "#domain/ports/runbooks.ts";
import { runbookHandlers } from "#domain/runbooks/handlers.ts";
import type { PartContext } from "../part.ts";

export const createRunbooksPart = (runbooks: Runbooks) => ({
  handlers: runbookHandlers(runbooks, { canonicalUnit, isWithin }),
  runbooks,
});

export const buildRunbooksPart = ({ config: { settings } }: Pick<PartContext, "config">) =>
  createRunbooksPart(createRunbooks({ directory: runbookDirectory(settings), look: lookApart }));
