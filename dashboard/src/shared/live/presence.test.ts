import { expect, test } from "vitest";
import { withNotice } from "./presence";

const notice = (user: string, conversation: string, state: string) => ({
  user: { id: user, name: "Ben" },
  conversation: { id: conversation },
  state,
  expires_in: 10,
});

test("a person is in one place, and leaves it", () => {
  const first = withNotice({}, notice("usr_1", "cv_1", "viewing"), 1000);
  expect(first.usr_1).toMatchObject({ state: "viewing", until: 11_000, conversation: "cv_1" });
  const second = withNotice(first, notice("usr_1", "cv_2", "typing"), 2000);
  expect(Object.values(second)).toHaveLength(1);
  expect(second.usr_1).toMatchObject({ state: "typing", conversation: "cv_2" });
  expect(withNotice(second, notice("usr_1", "cv_2", "gone"), 3000)).toEqual({});
});
