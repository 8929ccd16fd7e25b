import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { plan, status } from "../../test/fixtures/configs";
import { me } from "../../test/fixtures/me";
import { answer as scored, item, play } from "../../test/fixtures/runs";
import { draw, type Drawn } from "../../test/render";
import { answer, hang, refuse, server } from "../../test/server";
import PlaygroundPage from ".";

const PLAY = "/api/v1/playground/ranker";
const SAMPLES = [
  {
    name: "ranker",
    request: { entities: { user: "7", product: ["11", "12", "13"] }, context: { hour: 20 } },
  },
];

type Asked = {
  request: Record<string, unknown>;
  item: string | null;
  overrides: { values: object[]; models: object };
};

/** Answers every try, and keeps what was asked. */
function playing(): Asked[] {
  const asked: Asked[] = [];
  server.use(
    http.post(`*${PLAY}`, async ({ request }) => {
      const body = (await request.json()) as Asked;
      asked.push(body);
      const isWhatIf = body.overrides.values.length > 0 || Object.keys(body.overrides.models).length > 0;
      return HttpResponse.json(
        play({
          answer: isWhatIf ? scored([0.95, 0.9, 0.5]) : scored(),
          baseline: isWhatIf ? scored() : null,
          item: body.item ? item() : null,
        }),
      );
    }),
  );
  return asked;
}

function open(samples: unknown[] = SAMPLES): Drawn {
  answer("/api/v1/configs", { configs: [status()] });
  answer("/api/v1/configs/ranker/plan", plan());
  answer("/api/v1/samples", { samples: samples as never });
  return draw(<PlaygroundPage />, { at: "/playground?config=ranker" });
}

const score = async (): Promise<void> =>
  userEvent.click(await screen.findByRole("button", { name: "Score" }));

test("while configs are on their way, the page is loading", async () => {
  hang("/api/v1/configs");
  draw(<PlaygroundPage />);
  expect(await screen.findByRole("status", { name: "Loading" })).toBeVisible();
});

test("without a config that serves there is a command that makes one", async () => {
  answer("/api/v1/configs", { configs: [status({ state: "refused" })] });
  draw(<PlaygroundPage />);
  expect(await screen.findByText("No config serves yet")).toBeVisible();
});

test("a request that is refused is told with its field", async () => {
  open();
  refuse(
    PLAY,
    400,
    { title: "Bad Request", detail: "entities.product: has no ids", field: "entities.product" },
    "post",
  );
  await score();
  expect(await screen.findByText("Field: entities.product")).toBeVisible();
});

test("without samples the form has the names that the config asks for", async () => {
  open([]);
  expect(await screen.findByRole("textbox", { name: "product" })).toHaveValue("");
  expect(screen.getByRole("textbox", { name: "hour" })).toBeVisible();
});

test("a request changed in the form is what is scored, and targets come best first", async () => {
  const asked = playing();
  open();
  const product = await screen.findByRole("textbox", { name: "product" });
  await userEvent.clear(product);
  await userEvent.type(product, "11, 12 13");
  await score();
  const ranking = await screen.findByRole("table", { name: "Ranking" });
  const ids = within(ranking)
    .getAllByRole("row")
    .slice(1)
    .map((row) => within(row).getAllByRole("cell")[1]?.textContent);
  expect(ids).toEqual(["12", "13", "11"]);
  expect(asked).toEqual([
    {
      request: { entities: { user: "7", product: ["11", "12", "13"] }, context: { hour: 20 } },
      overrides: { values: [], models: {} },
      item: null,
    },
  ]);
});

test("the answer comes with its steps over time and the matrix they filled", async () => {
  playing();
  open();
  await score();
  expect(await screen.findByRole("img", { name: /^fs_user took 0.40 ms/ })).toBeVisible();
  const matrix = screen.getByRole("table", { name: "Matrix" });
  expect(within(matrix).getByText("3 defaults")).toBeVisible();
  const slider = screen.getByRole("slider", { name: "Steps done" });
  slider.focus();
  await userEvent.keyboard("{ArrowLeft}");
  expect(within(matrix).queryByText("blend")).not.toBeInTheDocument();
  expect(screen.getByText(/2 of 3 columns, 3 rows · after fs_user/)).toBeVisible();
});

test("a picked target tells why, and another value for a feature shows who rises and falls", async () => {
  const asked = playing();
  open();
  await score();
  const ranking = await screen.findByRole("table", { name: "Ranking" });
  await userEvent.click(within(ranking).getByText("12"));
  const why = await screen.findByRole("table", { name: "Every column of it" });
  expect(within(why).getByText("default")).toBeVisible();
  expect(within(why).getByText("1 min 33 s")).toBeInTheDocument();
  expect(within(why).queryByRole("button", { name: /blend:final_score/ })).not.toBeInTheDocument();

  await userEvent.click(within(why).getByRole("button", { name: "What if user:profile:age were different" }));
  const field = await screen.findByRole("textbox", { name: "user:profile:age" });
  await userEvent.clear(field);
  await userEvent.type(field, "20");
  await userEvent.click(screen.getByRole("button", { name: "Score with this" }));
  await waitFor(() =>
    expect(asked.at(-1)?.overrides.values).toEqual([{ column: "user:profile:age", id: "12", value: 20 }]),
  );

  await userEvent.click(screen.getByRole("button", { name: "Close" }));
  const moved = await screen.findByText("up", { exact: false, selector: "span span" });
  expect(moved.closest("tr")).toHaveTextContent("11");
  expect(screen.getByText("user:profile:age = 20 for 12")).toBeVisible();
  await userEvent.click(await screen.findByRole("button", { name: "Reset" }));
  await waitFor(() => expect(asked.at(-1)?.overrides).toEqual({ values: [], models: {} }));
});

test("another version of a model is scored with, and can be taken back", async () => {
  const asked = playing();
  open();
  await score();
  await userEvent.click(await screen.findByRole("button", { name: "Try another model version" }));
  const dialog = await screen.findByRole("dialog");
  await userEvent.click(within(dialog).getByRole("combobox", { name: "click_model" }));
  await userEvent.click(await screen.findByRole("option", { name: "2" }));
  await userEvent.click(within(dialog).getByRole("button", { name: "Score" }));
  await waitFor(() => expect(asked.at(-1)?.overrides.models).toEqual({ click_model: "2" }));
  expect(await screen.findByText("click_model at version 2")).toBeVisible();
});

test("where only pairs are scored there is a table of pairs, and no ranking", async () => {
  const pairs = [
    { index: 0, first: "11", second: "12", scores: { "pair_model:preference": 0.7 }, error: null },
  ];
  open();
  answer(
    PLAY,
    play({ answer: scored([], { targets: [], pairs, columns: ["pair_model:preference"] }) }),
    "post",
  );
  await score();
  expect(await screen.findByText("11 over 12")).toBeVisible();
  expect(screen.queryByRole("table", { name: "Ranking" })).not.toBeInTheDocument();
});

test("JSON that cannot be read is said, and cannot be scored", async () => {
  open();
  await userEvent.click(await screen.findByRole("button", { name: "JSON" }));
  await userEvent.click(await screen.findByRole("textbox", { name: "Request as JSON" }));
  await userEvent.keyboard("x");
  expect(await screen.findByRole("alert")).toBeVisible();
  expect(screen.getByRole("button", { name: "Score" })).toBeDisabled();
});

test("a key that may not score is told so", async () => {
  answer("/api/v1/me", me({ auth: "on", permissions: ["view"] }));
  open();
  expect(await screen.findByText("Your key may not score")).toBeInTheDocument();
  expect(screen.queryByRole("button", { name: "Score" })).not.toBeInTheDocument();
});

test("targets of slates are ranked by what they have, whatever slates have", async () => {
  const slates = [{ index: 0, targets: ["11", "12"], scores: { "page:order": 0.7 }, error: null }];
  server.use(
    http.post(`*${PLAY}`, () =>
      HttpResponse.json(play({ answer: scored([0.2, 0.9, 0.5], { columns: ["page:order"], slates }) })),
    ),
  );
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Score" }));
  const ranking = await screen.findByRole("table", { name: "Ranking" });
  expect(within(ranking).getByRole("columnheader", { name: "final_score" })).toBeInTheDocument();
  expect(within(ranking).getAllByRole("row")[1]).toHaveTextContent(/^112/);
  expect(within(screen.getByRole("table", { name: "Slates" })).getByText("11, 12")).toBeInTheDocument();
});
