import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { document, finding, plan, status, version } from "../../../test/fixtures/configs";
import { draw, type Drawn } from "../../../test/render";
import { answer, hang, refuse } from "../../../test/server";
import ConfigPage from ".";

const ONE = "/api/v1/configs/ranker";

const open = (tab = "", query = ""): Drawn =>
  draw(<ConfigPage />, { path: "/configs/:id/:tab?", at: `/configs/ranker/${tab}${query}` });

test("while a config is on its way, its name is there and the rest is loading", async () => {
  hang(ONE);
  open();
  expect(await screen.findByRole("heading", { name: "ranker" })).toBeVisible();
  expect(screen.getByRole("status", { name: "Loading" })).toBeVisible();
});

test("a config that is not there is told as the gateway tells it", async () => {
  refuse(ONE, 404, { title: "Not Found", detail: "no config 'ranker'", hint: "closest: 'ranker2'" });
  open();
  expect(await screen.findByText("no config 'ranker'")).toBeVisible();
  expect(screen.getByText("closest: 'ranker2'")).toBeVisible();
});

describe("the graph", () => {
  test("has a step for each node, with its figures of this second", async () => {
    answer(ONE, document());
    answer(`${ONE}/plan`, plan());
    const { hear } = open();
    const step = await screen.findByRole("button", { name: /^fs_user/, hidden: true });
    hear({
      type: "metrics",
      at_ms: 1,
      overview: { rate: 1, errors_per_s: 0, p50_ms: 1, p95_ms: 1, p99_ms: 1, in_flight: 0 },
      configs: {
        ranker: {
          rate: 1,
          error_rate: 0,
          p50_ms: 1,
          p99_ms: 2,
          nodes: { fs_user: { p50_ms: 0.25, p99_ms: 7.5, error_rate: 0.02, cache_hit_rate: 0.875, rate: 1 } },
        },
      },
    });
    expect(step).toHaveTextContent("p50 0.25 ms");
    expect(step).toHaveTextContent("p99 7.5 ms");
    expect(step).toHaveTextContent("errors 2.0 %");
    expect(step).toHaveTextContent("cache 88 %");
  });

  test("a picked step shows its columns, where they come from and who reads them, and leads on", async () => {
    answer(ONE, document());
    answer(`${ONE}/plan`, plan());
    open("graph", "?step=fs_user");
    const drawer = await screen.findByRole("presentation");
    const written = within(drawer).getByRole("table", { name: "Columns it writes" });
    expect(written).toHaveTextContent("user:profile:age");
    expect(within(drawer).getByText("feature store: user")).toBeVisible();
    await userEvent.click(within(written).getByRole("button", { name: "click_model" }));
    expect(await within(drawer).findByRole("heading", { name: "click_model" })).toBeVisible();
  });

  test("of an id that stands for several are the configs it chooses from", async () => {
    answer(ONE, document({ status: status({ split: { ranker_a: 90, ranker_b: 10 } }) }));
    open();
    expect(await screen.findByRole("link", { name: "ranker_b" })).toHaveAttribute(
      "href",
      "/configs/ranker_b",
    );
  });

  test("of a refused config says where to mend it", async () => {
    answer(ONE, document({ status: status({ state: "refused" }) }));
    open();
    expect(await screen.findByText("Nothing serves under this id")).toBeVisible();
  });
});

describe("versions", () => {
  const versions = [version(4, { is_current: true }), version(3, { note: "warmer" }), version(2)];

  test("are listed with the difference of the last two", async () => {
    answer(ONE, document());
    answer(`${ONE}/history`, { versions });
    answer(`${ONE}/diff`, { from: 3, to: 4, lines: ["--- 3", "+++ 4", "-  a: 1", "+  a: 2"] });
    open("versions");
    expect(await screen.findByText("warmer")).toBeVisible();
    expect(await screen.findByText("+ a: 2")).toBeVisible();
  });

  test("none: the page tells how they begin", async () => {
    answer(ONE, document());
    answer(`${ONE}/history`, { versions: [] });
    open("versions");
    expect(await screen.findByText("No versions are kept for this config")).toBeVisible();
  });

  test("a version becomes live again only after it was confirmed", async () => {
    answer(ONE, document());
    answer(`${ONE}/history`, { versions });
    answer(`${ONE}/diff`, { from: 3, to: 4, lines: [] });
    refuse(
      `${ONE}/rollback`,
      409,
      { title: "Conflict", detail: "version 5 is the newest", current: 5 },
      "post",
    );
    open("versions");
    const buttons = await screen.findAllByRole("button", { name: "Roll back" });
    await waitFor(() => expect(buttons[0]).toBeEnabled());
    await userEvent.click(buttons[0] as HTMLElement);
    const dialog = await screen.findByRole("dialog", { name: "Roll back to version 3?" });
    await userEvent.click(within(dialog).getByRole("button", { name: "Roll back" }));
    expect(await within(dialog).findByText("version 5 is the newest")).toBeVisible();
    answer(`${ONE}/rollback`, { version: version(5), golden: [], notes: [] }, "post");
    await userEvent.click(within(dialog).getByRole("button", { name: "Roll back" }));
    expect(await screen.findByText("Version 3 is live again, as version 5")).toBeVisible();
  });
});

test("the status says what serves and what is wrong with what is written", async () => {
  answer(ONE, document({ status: status({ state: "last good", errors: 1, problems: [finding()] }) }));
  open("status");
  expect(await screen.findByText(/the version before it still serves/)).toBeVisible();
  expect(screen.getByText("no step writes this column")).toBeVisible();
  expect(screen.getByRole("tab", { name: "Status (1)" })).toHaveAttribute("aria-selected", "true");
});
