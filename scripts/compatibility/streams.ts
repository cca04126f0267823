import { compareInput, compareOutput, type Json, list, type Pair, record, resolved } from "./breaking.ts";

/** The messages of a channel in one direction, by their names. */
function messagesOf(document: Json, channel: string, action: "send" | "receive"): ReadonlyMap<string, Json> {
  const operations = Object.values(record(document["operations"]))
    .map(record)
    .filter((each) => each["action"] === action && record(each["channel"])["$ref"] === `#/channels/${channel}`);
  return new Map(
    operations
      .flatMap(({ messages }) => list(messages))
      .map((reference) => {
        const name = String(record(reference)["$ref"]).split("/").at(-1) ?? "";
        // The channel refers to the message, and the operation to that of the channel.
        return [name, resolved(document, resolved(document, reference))];
      }),
  );
}

function sentFaults(pair: Pair, channel: string): readonly string[] {
  const [was, is] = [messagesOf(pair.before, channel, "send"), messagesOf(pair.after, channel, "send")];
  const changed = [...was].flatMap(([name, { payload }]) => {
    const current = is.get(name);
    return current === undefined ? [`${name}: is gone`] : compareOutput(pair, payload, current["payload"], name, 0);
  });
  return [...changed, ...[...is.keys()].flatMap((name) => (was.has(name) ? [] : [`${name}: is sent now`]))];
}

function takenFaults(pair: Pair, channel: string): readonly string[] {
  const is = messagesOf(pair.after, channel, "receive");
  return [...messagesOf(pair.before, channel, "receive")].flatMap(([name, { payload }]) => {
    const current = is.get(name);
    return current === undefined ? [`${name}: is gone`] : compareInput(pair, payload, current["payload"], name, 0);
  });
}

const queryOf = (channel: Json): unknown => record(record(channel["bindings"])["ws"])["query"];

/**
 * What of an AsyncAPI document would break clients that were written for an earlier one (docs/versioning.md): a stream that is gone
 * or elsewhere, a query or a message that is refused now, what may be missing or of another type in a frame, a kind of frame that
 * nobody has reckoned with.
 */
export function breakingStreams(before: Json, after: Json, today: string): readonly string[] {
  const pair: Pair = { before, after, today };
  return Object.entries(record(before["channels"])).flatMap(([name, old]) => {
    const [was, is] = [record(old), record(record(after["channels"])[name])];
    if (Object.keys(is).length === 0) return [`stream ${name}: is gone`];
    const [from, to] = [was["address"], is["address"]];
    return [
      ...(from === to ? [] : [`address is ${String(to)}, was ${String(from)}`]),
      ...compareInput(pair, queryOf(was), queryOf(is), "query", 0),
      ...sentFaults(pair, name),
      ...takenFaults(pair, name),
    ].map((fault) => `stream ${name}: ${fault}`);
  });
}
