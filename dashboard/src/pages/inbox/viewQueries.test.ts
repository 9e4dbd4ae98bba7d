import { expect, test } from "vitest";
import { fromView, toView, withView } from "./viewQueries";

test("a view keeps the filters, and not what is open", () => {
  const view = toView(" VIP ", { channel: "ch_1", conversation: "cv_1", trace: "M1", view: "unread", label: "VIP" });
  expect(view).toEqual({ name: "VIP", view: "unread", label: "VIP", assignee: null, q: null, channel: "ch_1" });
  expect(fromView(view)).toEqual({ channel: "ch_1", view: "unread", label: "VIP" });
});

test("a view of all channels does not keep the channel of the open conversation", () => {
  const view = toView("Bread", { all: true, channel: "ch_2", conversation: "cv_1", q: "bread" });
  expect(view.channel).toBeNull();
  expect(fromView(view)).toEqual({ all: true, q: "bread" });
});

test("a view replaces one of the same name", () => {
  const one = toView("VIP", {});
  const other = toView("vip", { view: "mine" });
  expect(withView([one, toView("X", {})], other).map(({ name }) => name)).toEqual(["X", "vip"]);
});
