import { expect, test } from "vitest";
import { namesOf, type Person } from "./people";

const people = [
  { id: "usr_1", name: "Ana", email: "ana@example.com" },
  { id: "usr_2", name: "", email: "ben@example.com" },
] as Person[];

test("an assignee is named as people know it", () => {
  const names = namesOf(people, "usr_1");
  expect(names("usr_1")).toBe("You");
  expect(names("usr_2")).toBe("ben@example.com");
  expect(names("usr_3")).toBe("A former colleague");
  expect(names("Support team")).toBe("Support team");
  expect(namesOf(undefined, "usr_1")("usr_2")).toBe("A colleague");
});
