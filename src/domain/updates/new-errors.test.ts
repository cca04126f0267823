import { expect, it } from "vitest";
import type { CountedTemplate, TemplateQuery } from "#domain/ports/journal.ts";
import { createNewErrors, newErrorsText } from "./new-errors.ts";

it("errors that the host has never logged are those that are remembered as no error from before, 20 at most", async () => {
  const template = (text: string, firstError: number | undefined): CountedTemplate => ({
    ...{ id: "0".repeat(16), unit: "a.service", identifier: "a", origin: "", text, priority: 3, count: 1 },
    ...{ first: 5_000_000, last: 5_000_000, cursor: null, before: 0, status: "new", firstError },
  });
  const many = Array.from({ length: 30 }, (_, at) => template(`error ${at}`, undefined));
  const asked: TemplateQuery[] = [];
  const unread = [{ file: "/var/log/journal/a.journal", reason: "it cannot be opened (EIO)" }];
  const templates = [template("removed", 4_999_999), template("now", 5_000_000), ...many];
  const errors = createNewErrors({
    templates(query) {
      asked.push(query);
      return Promise.resolve({ templates, total: 32, other: 0, distinct: 32, unread });
    },
  });
  const found = await errors.between(5_000, 6_000, new AbortController().signal);
  expect(found.errors.map(({ text }) => text)).toEqual(["now", ...many.slice(0, 19).map(({ text }) => text)]);
  expect(asked).toMatchObject([
    { priority: 3, since: 5_000_000, until: 6_000_999, before: { since: 0, until: 4_999_999 }, status: "new" },
  ]);
  expect(newErrorsText({ ...found, errors: found.errors.slice(0, 1) })).toEqual([
    "1 kind of errors never logged before: a.service: now",
    "which errors are new is not certain, cannot read /var/log/journal/a.journal (it cannot be opened (EIO))",
  ]);
  expect(newErrorsText({ errors: [], unread: [] })).toEqual([]);
});
