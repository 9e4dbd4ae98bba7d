import { expect, test } from "vitest";
import { ApiProblem } from "../../shared/api/problem";
import { otherProblems, problemsByField } from "./problems";

const COMPONENTS = [{ type: "HEADER" }, { type: "BODY" }, { type: "BUTTONS" }];

test("the gateway's problems are shown at the fields of the editor", () => {
  const error = new ApiProblem("no", 422, "invalid_field", [
    { field: "name", message: "is wrong" },
    { field: "components[1].text", message: "begins with a variable" },
    { field: "components[1].example.body_text", message: "is required" },
    { field: "components[0].example.header_text", message: "is required too" },
    { field: "components[2].buttons[0].url", message: "is no address" },
    { field: "components[2].buttons", message: "are too many" },
  ]);
  const found = problemsByField(error, COMPONENTS);
  expect(found).toEqual({
    name: "is wrong",
    body: "begins with a variable",
    examples: "is required",
    headerExample: "is required too",
    "buttons[0].url": "is no address",
    buttons: "are too many",
  });
  expect(otherProblems(found, (field) => field !== "buttons")).toBe("buttons are too many");
  expect(otherProblems(found, () => true)).toBeNull();
  expect(problemsByField(new Error("gone"), COMPONENTS)).toEqual({});
});
