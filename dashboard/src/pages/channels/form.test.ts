import { expect, test } from "vitest";
import { channelOf, credentialsOf, digitsOf, NO_VALUES } from "./form";

test("a number may be typed as people write it", () => {
  expect(digitsOf("+55 (11) 99999-8888")).toBe("5511999998888");
  expect(digitsOf("call me")).toBe("callme"); // the gateway says what is wrong with it
});

test("pasted credentials lose their spaces, and an empty account is none", () => {
  const pasted = { ...NO_VALUES, phone_number_id: " 100 ", token: "abc\n", app_secret: " s " };
  expect(credentialsOf(pasted)).toEqual({ phone_number_id: "100", waba_id: null, token: "abc", app_secret: "s" });
});

test("without a name, the channel is called as the network knows the number", () => {
  expect(channelOf(NO_VALUES, { phone: "1555", name: "Bakery" }).name).toBe("Bakery");
  expect(channelOf(NO_VALUES, { phone: "1555", name: null }).name).toBe("1555");
  expect(channelOf({ ...NO_VALUES, name: "Sales" }, { phone: "1555", name: "Bakery" }).name).toBe("Sales");
});
