import { Type } from "typebox";
import { expect, it } from "vitest";
import { Deprecated, deprecationFaults } from "./deprecation.ts";

const year = { since: "2027-01-31", sunset: "2028-01-31", instead: "`GET /new`" };

it.each([
  ["a year", year, []],
  ["longer", { ...year, sunset: "2030-12-31" }, []],
  ["a successor with the same parameter", { ...year, successor: "/new/{name}" as const }, []],
  ["less", { ...year, sunset: "2028-01-30" }, ["the sunset must be twelve months later at the earliest"]],
  ["a day that does not exist", { ...year, sunset: "2028-02-30" }, ["since and sunset must be days"]],
  ["a time", { ...year, since: "2027-01-31T00:00:00Z" }, ["since and sunset must be days"]],
  ["another parameter", { ...year, successor: "/new/{id}" as const }, ["{id} is not a parameter of /old/{name}"]],
])("a deprecation with %s is checked by the policy", (_, deprecation, faults) => {
  expect(deprecationFaults(deprecation, "/old/{name}")).toEqual(faults);
});

it("a deprecated member keeps its schema and says what to use", () => {
  const old = Deprecated(Type.Optional(Type.String({ minLength: 1, description: "Its name." })), year);
  expect(old).toMatchObject({
    type: "string",
    minLength: 1,
    deprecated: true,
    "x-sunset": "2028-01-31",
    description: "Its name. Deprecated since 2027-01-31: use `GET /new`. It works until 2028-01-31 at least.",
  });
  expect(Type.Object({ old, name: Type.String() }).required).toEqual(["name"]);
});
