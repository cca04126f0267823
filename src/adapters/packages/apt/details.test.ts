import { expect, it } from "vitest";
import { parseStanzas } from "./deb822.ts";
import { findRequiring } from "./details.ts";

const status = `Package: mailer
Status: install ok installed
Provides: mail-agent (= 1), other

Package: reader
Status: install ok installed
Depends: libx (>= 1), mail-agent,
 liby

Package: choosy
Status: hold ok installed
Recommends: sender | mailer:any (>= 2)

Package: gone
Status: deinstall ok config-files
Depends: mailer
`;

it("installed packages that refer to a package, or to what it provides, are found", () => {
  const stanzas = parseStanzas(status);
  expect(findRequiring(stanzas, "mailer")).toEqual([
    { name: "choosy", relation: "recommends", isAlternative: true },
    { name: "reader", relation: "depends", isAlternative: false },
  ]);
  expect(findRequiring(stanzas, "liby")).toEqual([{ name: "reader", relation: "depends", isAlternative: false }]);
  expect(findRequiring(stanzas, "reader")).toEqual([]);
});
