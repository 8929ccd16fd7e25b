import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { document, finding, version } from "../../../../test/fixtures/configs";
import { draw, type Drawn } from "../../../../test/render";
import { answer, refuse, server } from "../../../../test/server";
import EditorTab from "./EditorTab";

const ONE = "/api/v1/configs/ranker";
const VALIDATE = "/api/v1/configs/validate";

const open = (): Drawn => draw(<EditorTab id="ranker" live={document()} />);

async function write(text: string): Promise<void> {
  const editor = await screen.findByRole("textbox", { name: "Text of ranker" });
  await userEvent.click(editor);
  await userEvent.keyboard(text);
}

beforeEach(() => answer(VALIDATE, { ok: true, id: "ranker", problems: [], plan: null }, "post"));

test("a text that compiles says so", async () => {
  open();
  expect(await screen.findByText("It compiles.")).toBeVisible();
});

test("what is wrong is listed with its place while one types, and cannot be published", async () => {
  answer(VALIDATE, { ok: false, id: "ranker", problems: [finding()], plan: null }, "post");
  open();
  await write("x");
  expect(await screen.findByText("no step writes this column")).toBeVisible();
  expect(screen.getByText(/line 2, column 3/)).toBeVisible();
  expect(screen.getByRole("button", { name: "Publish" })).toBeDisabled();
});

test("a check shows each golden request and the difference to what is live", async () => {
  const golden = [
    { request: "ranker.json", passed: true, difference: 0, detail: "" },
    { request: "guest.json", passed: false, difference: 0.25, detail: "blend:final_score of 12" },
  ];
  answer(`${ONE}/check`, { ok: false, id: "ranker", problems: [], golden, diff: ["-a", "+b"] }, "post");
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Check" }));
  expect(await screen.findByText("1 of 2 golden requests fail.")).toBeVisible();
  expect(
    within(screen.getByRole("table", { name: "Golden requests" })).getByText("guest.json"),
  ).toBeVisible();
  expect(screen.getByText("+b")).toBeVisible();
});

test("a text is published over the version it was begun from, with the note", async () => {
  const sent: unknown[] = [];
  server.use(
    http.put(`*${ONE}`, async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json({ version: version(5), golden: [], notes: [] });
    }),
  );
  open();
  await write("x");
  await userEvent.type(screen.getByRole("textbox", { name: "Note for the history" }), "warmer");
  await waitFor(() => expect(screen.getByRole("button", { name: "Publish" })).toBeEnabled());
  await userEvent.click(screen.getByRole("button", { name: "Publish" }));
  expect(await screen.findByText("Version 5 is live")).toBeVisible();
  expect(sent).toMatchObject([{ expected_version: 4, note: "warmer", force: false, format: "yaml" }]);
  expect((sent[0] as { text: string }).text).toContain("x");
});

test("when somebody published meanwhile, what they changed is shown and one may go on over it", async () => {
  refuse(ONE, 409, { title: "Conflict", detail: "version 6 is the newest", current: 6 }, "put");
  answer(`${ONE}/diff`, { from: 4, to: 6, lines: ["+  theirs: 1"] });
  open();
  await write("x");
  await waitFor(() => expect(screen.getByRole("button", { name: "Publish" })).toBeEnabled());
  await userEvent.click(screen.getByRole("button", { name: "Publish" }));
  expect(await screen.findByText("Version 6 was published while you wrote")).toBeVisible();
  expect(await screen.findByText("+ theirs: 1")).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Keep my text over version 6" }));
  expect(screen.getByText("Changed, begun from version 6")).toBeVisible();
});

test("failing golden requests are overruled only with a reason", async () => {
  const golden = [{ request: "ranker.json", passed: false, difference: 0.5, detail: "12 of 12 differ" }];
  refuse(
    ONE,
    422,
    { title: "Unprocessable Content", detail: "config 'ranker' fails 1 golden request(s)", golden },
    "put",
  );
  open();
  await write("x");
  await waitFor(() => expect(screen.getByRole("button", { name: "Publish" })).toBeEnabled());
  await userEvent.click(screen.getByRole("button", { name: "Publish" }));
  await userEvent.click(await screen.findByRole("button", { name: "Publish all the same…" }));
  const dialog = await screen.findByRole("dialog");
  const force = within(dialog).getByRole("button", { name: "Publish all the same" });
  expect(force).toBeDisabled();
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Reason" }), "new model");
  expect(force).toBeEnabled();
});
