import { expect, test } from "vitest";
import { profileOf, profileValues } from "./profile";

test("websites are words, and an empty about is left out", () => {
  const profile = { about: null, address: null, description: "Bread", email: null, websites: ["https://a.example"] };
  const values = profileValues({ ...profile, vertical: null, profile_picture_url: null });
  expect(values).toEqual({ about: "", address: "", description: "Bread", email: "", websites: "https://a.example" });
  expect(profileOf({ ...values, websites: "https://a.example,  https://b.example" }, values)).toEqual({
    websites: ["https://a.example", "https://b.example"],
  });
  expect(profileOf({ ...values, about: "", description: "" }, { ...values, about: "Hi" })).toEqual({ description: "" });
});
