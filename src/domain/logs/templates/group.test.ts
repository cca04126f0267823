import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MessageClass } from "#domain/ports/journal.ts";
import { anythingAfter, generalize, groupClasses, wordsOf } from "./group.ts";

const origin = { unit: "a.service", identifier: "a", origin: "" };
const classesOf = (texts: readonly string[], from: Partial<MessageClass> = {}): readonly MessageClass[] =>
  texts.map((text) => ({ ...origin, ...from, text }));
const digest = (text: string): string => text;
const textsOf = (classes: readonly MessageClass[]): readonly string[] =>
  groupClasses(classes, digest)
    .templates.map(({ text }) => text)
    .toSorted();

const users = ["alice", "bob", "carol", "dave", "erin", "frank", "grace"];

describe("templates of messages with the same words", () => {
  it("are one where many words stand in one place", () => {
    expect(textsOf(classesOf(users.map((user) => `session opened for ${user} now`)))).toEqual([
      "session opened for <*> now",
    ]);
  });

  it("are several where there are few such words, or where the first one differs", () => {
    const few = users.slice(0, 5).map((user) => `session opened for ${user} now`);
    expect(textsOf(classesOf(few))).toEqual(few.toSorted());
    const verbs = users.map((user) => `${user} opened a session`);
    expect(textsOf(classesOf(verbs))).toEqual(verbs.toSorted());
  });

  it("are one where a wildcard stands in that place already", () => {
    expect(textsOf(classesOf(["port <*> is open", "port http is open"]))).toEqual(["port <*> is open"]);
  });

  it("are one where two places have many words each", () => {
    const pairs = users.map((user, at) => `user ${user} left group ${users[(at * 3) % 7] ?? ""} today`);
    expect(textsOf(classesOf(pairs))).toEqual(["user <*> left group <*> today"]);
  });

  it("are several where they are of different units, identifiers or places in the source", () => {
    const text = "port <*> is open";
    const others = [{}, { unit: "b.service" }, { identifier: "b" }, { origin: "b.c:3" }];
    const { templates } = groupClasses(
      others.flatMap((other) => classesOf([text], other)),
      digest,
    );
    expect(templates).toHaveLength(4);
    expect(new Set(templates.map(({ id }) => id)).size).toBe(4);
  });
});

describe("templates of messages with an origin", () => {
  it("have the same text and id for one place in the source, in whichever order messages come", () => {
    const texts = ["job done", "job one done", "job two lost"];
    const orders = [texts, texts.toReversed(), texts.toSorted(), [...texts.slice(2), ...texts.slice(0, 2)]];
    const found = orders.map((each) => groupClasses(classesOf(each, { origin: "job.c:3" }), digest).templates);
    for (const templates of found) expect(templates).toEqual(found[0]);
    expect(found[0]).toHaveLength(1);
  });

  it("join messages of one MESSAGE_ID and unit, whatever they say", () => {
    const messageId = "0123456789abcdef0123456789abcdef";
    const classes = [
      ...classesOf(["Started this", "Started that at once"], { origin: messageId }),
      ...classesOf(["Other words"], { origin: messageId, identifier: "b" }),
      ...classesOf(["Started this"], { origin: messageId, unit: "b.service" }),
    ];
    expect(textsOf(classes)).toEqual(["<*>", "Started this"]);
    expect(groupClasses(classes, digest).templates[0]?.id).toBe(`a.service\0${messageId}`);
  });

  it("join messages of one place in the source that have words in common", () => {
    expect(textsOf(classesOf(["Reloading this unit", "Reloading that other unit"], { origin: "x.c:7" }))).toEqual([
      "Reloading <*> unit",
    ]);
  });

  it("do not join messages of one place in the source without words in common", () => {
    const texts = ["disk is full", "user came"];
    expect(textsOf(classesOf(texts, { origin: "log.c:7" }))).toEqual(texts);
  });
});

describe("templates of a program with too many different messages", () => {
  it("are one for each first word", () => {
    const texts = [anythingAfter("GET"), "GET this and that", "GET", "PUT this"];
    expect(textsOf(classesOf(texts))).toEqual(["GET <*>", "PUT this"]);
  });
});

const word = fc.constantFrom("a1", "open", "closed", "user", "<*>", "x", "y", "z", "q", "r", "s");
const text = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" "));
const texts = fc.uniqueArray(text, { minLength: 1, maxLength: 60 });

const groupsOf = (all: readonly string[]): ReadonlyMap<string, string> => {
  const { templates, templateOf } = groupClasses(classesOf(all), digest);
  return new Map(all.map((each, at) => [each, templates[templateOf[at] ?? 0]?.id ?? ""]));
};

describe("templates of any messages", () => {
  it("have the same ids in whichever order the messages come", () => {
    fc.assert(
      fc.property(texts, fc.func(fc.nat()), (all, rank) => {
        const other = all.toSorted((left, right) => rank(left) - rank(right));
        expect(Object.fromEntries(groupsOf(other))).toEqual(Object.fromEntries(groupsOf(all)));
      }),
    );
  });

  it("only generalize: what was one template stays one as more messages come", () => {
    fc.assert(
      fc.property(texts, texts, (some, more) => {
        const before = groupsOf(some);
        const after = groupsOf([...new Set([...some, ...more])]);
        for (const members of Map.groupBy(some, (each) => before.get(each)).values())
          expect(new Set(members.map((each) => after.get(each))).size).toBe(1);
      }),
    );
  });

  it("say what all of their messages say", () => {
    fc.assert(
      fc.property(texts, (all) => {
        const { templates, templateOf } = groupClasses(classesOf(all), digest);
        for (const [at, each] of all.entries()) {
          const template = wordsOf(templates[templateOf[at] ?? 0]?.text ?? "");
          expect(generalize(template, wordsOf(each))).toEqual(template);
        }
      }),
    );
  });
});
