import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { finding, status } from "../../test/fixtures/configs";
import { draw } from "../../test/render";
import { answer, hang, refuse } from "../../test/server";
import ConfigsPage from ".";

const LIST = "/api/v1/configs";

test("while configs are on their way, the page says that it is loading", async () => {
  hang(LIST);
  draw(<ConfigsPage />);
  expect(await screen.findByRole("status", { name: "Loading" })).toBeVisible();
});

test("without configs the page tells how to push one", async () => {
  answer(LIST, { configs: [] });
  draw(<ConfigsPage />);
  expect(await screen.findByText("No configs yet")).toBeVisible();
  expect(screen.getByText(/inferflow config push/)).toBeVisible();
});

test("a failure shows what the gateway says, and can be tried again", async () => {
  refuse(LIST, 503, { title: "Service Unavailable", detail: "etcd does not answer", hint: "start etcd" });
  draw(<ConfigsPage />);
  expect(await screen.findByText("etcd does not answer")).toBeVisible();
  answer(LIST, { configs: [status()] });
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("link", { name: "ranker" })).toBeVisible();
});

test("each config is shown with its state and its live numbers, and opens when picked", async () => {
  answer(LIST, {
    configs: [status(), status({ id: "page", state: "last good", errors: 1, problems: [finding()] })],
  });
  const { hear, address } = draw(<ConfigsPage />);
  const row = (await screen.findByRole("link", { name: "page" })).closest("tr") as HTMLElement;
  expect(within(row).getByText("last good")).toBeVisible();
  hear({
    type: "metrics",
    at_ms: 1,
    overview: { rate: 12, errors_per_s: 0, p50_ms: 1, p95_ms: 2, p99_ms: 3, in_flight: 0 },
    configs: { page: { rate: 12, error_rate: 0, p50_ms: 1, p99_ms: 34, nodes: {} } },
  });
  expect(within(row).getByText("34 ms")).toBeVisible();
  await userEvent.click(row);
  expect(address()).toBe("/configs/page");
});
