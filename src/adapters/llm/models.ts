import { recordsIn } from "#kernel/values.ts";
import { ErrorAnswer, fieldOf, nonEmptyString } from "./failures.ts";
import type { Access, Asking } from "./kind.ts";

export function modelsIn(listing: unknown, list: "data" | "models"): readonly string[] {
  return recordsIn(fieldOf(listing, list)).flatMap(({ id, name, model, aliases }) => {
    const names = [id, name, model, ...(Array.isArray(aliases) ? aliases : [])].map(nonEmptyString);
    return [...new Set(names.filter((each) => each !== undefined))];
  });
}

const isPageMissing = (error: unknown): boolean =>
  error instanceof ErrorAnswer && [404, 405, 501].includes(error.statusCode);

const isMissing = (error: unknown): boolean => error instanceof ErrorAnswer && error.statusCode === 404;

/** Asks for the page of the model itself. At an address of one's own there may be no such page: then a chat tells. */
export async function probeModel(
  url: string,
  { isOwnAddress }: Pick<Access, "isOwnAddress">,
  asking: Asking,
  maxTokens = 1,
): Promise<void> {
  try {
    await asking.get(url);
  } catch (error) {
    if (isOwnAddress && isPageMissing(error)) return asking.chat({ maxTokens });
    if (isMissing(error)) asking.modelMissing();
    throw error;
  }
}

/** Servers that speak like OpenAI may have no listing, or take any name: then a chat tells. */
export async function probeListing(
  url: string,
  { model, isOwnAddress }: Pick<Access, "model" | "isOwnAddress">,
  asking: Asking,
): Promise<void> {
  let offered: readonly string[] = [];
  try {
    offered = modelsIn(await asking.get(url), "data");
  } catch (error) {
    if (!isOwnAddress || !isPageMissing(error)) throw error;
  }
  if (offered.includes(model)) return;
  if (!isOwnAddress) return asking.modelMissing(offered);
  await asking.chat({ maxTokens: 1 });
}
