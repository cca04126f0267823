import { addressOf } from "#client/http.ts";
import { apiBase } from "#contract/limits.ts";
import { isRecord } from "#kernel/values.ts";
import { createContextStore } from "../contexts/store.ts";
import type { LocalService, ServiceOptions } from "../core/ports.ts";
import { certificatesFor, findMeant, serviceFlags, serviceFor } from "../core/service.ts";
import { fetchWith } from "../core/transport.ts";
import { nameListOf } from "./name-sources.ts";
import { bashReply, isOffered, readTyped } from "./shell-words.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The options of a command line that say which service is asked. */
function serviceOptionsIn(words: readonly string[], environment: Environment): ServiceOptions {
  const found: Record<string, string> = {};
  for (const [at, word] of words.entries()) {
    const [, flag = word, value = words[at + 1]] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? [];
    const name = Object.entries(serviceFlags).find(([, each]) => each === flag)?.[0];
    if (name === undefined || value === undefined) continue;
    // The shell has not expanded it yet.
    found[name] = value.replace(/^~(?=\/)/, environment["HOME"] ?? "~");
  }
  return found;
}

async function namesOf(
  source: string,
  typed: string,
  { options, environment, localService, signal }: Asking & { readonly options: ServiceOptions },
): Promise<readonly string[]> {
  const list = nameListOf(source);
  if (list === undefined) return [];
  const meant = findMeant({
    options,
    environment,
    local: localService,
    contexts: createContextStore(environment),
    usesFile: () => undefined,
  });
  const fetchOfCertificates = await fetchWith(certificatesFor(meant));
  const { url, key, allow, fetch = fetchOfCertificates } = await serviceFor(meant);
  await allow?.();
  const address = addressOf(url, `${apiBase}${list.path}`);
  for (const [name, value] of Object.entries(list.query)) address.searchParams.set(name, value);
  if (list.isSearched && typed !== "") address.searchParams.set("search", typed);
  const response = await fetch(address, {
    redirect: "error",
    signal,
    headers: key === undefined ? {} : { "X-API-Key": key },
  });
  if (!response.ok) return [];
  const answer: unknown = await response.json();
  const items: unknown = isRecord(answer) ? answer[list.list] : undefined;
  if (!Array.isArray(items)) return [];
  const names = items.map((item: unknown) => (isRecord(item) ? item[list.member] : undefined));
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

interface Asking {
  readonly environment: Environment;
  readonly localService: () => Promise<LocalService>;
  readonly signal: AbortSignal;
}

/**
 * What a shell offers for a word: `FORM SOURCE TYPED KEPT [WORD...]`. `FORM` is `escaped` for bash, whose words come and
 * go as they stand on the line, and `plain` for shells that quote by themselves. `KEPT` is how many characters of what has been typed the shell
 * does not replace, `WORD` the words before it.
 * @throws whatever keeps the names from being read; it is not reported.
 */
export async function completeNames(argv: readonly string[], asking: Asking): Promise<readonly string[]> {
  const [form, source = "", typed = "", kept = "", ...words] = argv;
  const isEscaped = form === "escaped";
  // In fish the word has the name of the option, too.
  const value = isEscaped ? typed : typed.replace(/^--[a-z-]+=/, "");
  const { text } = readTyped(value);
  const options = serviceOptionsIn(
    words.map((word) => (isEscaped ? readTyped(word).text : word)),
    asking.environment,
  );
  const names = (await namesOf(source, text, { ...asking, options })).filter(
    (name) => name.startsWith(text) && isOffered(name),
  );
  if (!isEscaped) return names;
  return names.map((name) => bashReply(name, value, Number(kept))).filter((reply) => reply !== undefined);
}
