import { expect, test } from "vitest";
import { otherProblems, problemsByField } from "./problems";

const COMPONENTS = [{ type: "HEADER" }, { type: "BODY" }, { type: "BUTTONS" }];

test("the gateway's problems are shown at the fields of the editor", () => {
  const problems = [
    { field: "name", message: "is wrong" },
    { field: "components[1].text", message: "begins with a variable" },
    { field: "components[1].example.body_text", message: "is required" },
    { field: "components[0].example.header_text", message: "is required too" },
    { field: "components[2].buttons[0].url", message: "is no address" },
    { field: "components[2].buttons", message: "are too many" },
    { field: "components[1].text", message: "is too long." },
  ];
  const found = problemsByField(problems, COMPONENTS);
  expect(found).toEqual({
    name: "Is wrong.",
    body: "Begins with a variable. Is too long.",
    examples: "Is required.",
    headerExample: "Is required too.",
    "buttons[0].url": "Is no address.",
    buttons: "Are too many.",
  });
  expect(otherProblems(found, (field) => field !== "buttons")).toBe("buttons: Are too many.");
  expect(otherProblems(found, () => true)).toBeNull();
  expect(problemsByField([], COMPONENTS)).toEqual({});
});
