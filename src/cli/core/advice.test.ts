import { expect, it } from "vitest";
import { inOwnWords } from "./errors.ts";

it.each([
  ["cannot restart dbus.service: … (confirm it with confirm: true)", "(confirm it with --confirm)"],
  ["back up its data, then name it in allow_downgrade", "name it in --allow-downgrade"],
  [
    "cannot carry out the plan: it has expired (ask again with ?dry_run=true, and send the token of that plan)",
    "(run it again)",
  ],
  ["with a reason in X-Window-Override it is done nevertheless", "in --override-window it is done"],
  ["only what is installed is known here (GET /updates/check)", "(steward updates)"],
])("advice of the service is in the words of the command line: %s", (theirs, own) => {
  expect(inOwnWords(theirs)).toContain(own);
});
