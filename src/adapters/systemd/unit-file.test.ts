import { expect, it } from "vitest";
import { parseUnitFile } from "./parse.ts";

it("reads the description of the Unit section, the last one if there are several", () => {
  const text =
    "# comment\n[Unit]\nDescription=First\nDescription = The  second one \n[Service]\nDescription=not this\n";
  expect(parseUnitFile(text)).toEqual({ description: "The  second one", install: "none" });
});

it("continues lines that end in a backslash, over comments", () => {
  expect(parseUnitFile("[Unit]\nDescription=one \\\n# why\ntwo\n").description).toBe("one  two");
});

it("reports what enabling would do", () => {
  expect(parseUnitFile("[Install]\nWantedBy=multi-user.target\n").install).toBe("links");
  expect(parseUnitFile("[Install]\nAlias=other.service\nAlso=x.socket\n").install).toBe("links");
  expect(parseUnitFile("[Install]\nAlso=x.socket\n").install).toBe("also");
  expect(parseUnitFile("[Install]\nWantedBy=\n").install).toBe("none");
  expect(parseUnitFile("[Unit]\nWantedBy=x\n").install).toBe("none");
  expect(parseUnitFile("")).toEqual({ description: "", install: "none" });
});
