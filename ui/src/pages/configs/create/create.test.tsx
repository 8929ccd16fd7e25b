import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { plan, version } from "../../../test/fixtures/configs";
import { draw } from "../../../test/render";
import { answer, server } from "../../../test/server";
import NewConfigPage from ".";

test("an id that cannot be one is said, and there is nothing to publish yet", async () => {
  draw(<NewConfigPage />);
  await userEvent.type(await screen.findByRole("textbox", { name: "Id" }), "a/b");
  expect(screen.getByRole("textbox", { name: "Id" })).toBeInvalid();
  expect(screen.queryByRole("button", { name: "Publish" })).not.toBeInTheDocument();
});

test("a new config is published only where there is none, and then opened", async () => {
  answer("/api/v1/configs/validate", { ok: true, id: "mine", problems: [], plan: plan() }, "post");
  const sent: unknown[] = [];
  server.use(
    http.put("*/api/v1/configs/mine", async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json({ version: version(1), golden: [], notes: [] });
    }),
  );
  const { address } = draw(<NewConfigPage />, { path: "/new-config", at: "/new-config" });
  await userEvent.type(await screen.findByRole("textbox", { name: "Id" }), "mine");
  expect(await screen.findByText("It compiles: 3 steps, 1 column in the answer.")).toBeVisible();
  const publish = screen.getByRole("button", { name: "Publish" });
  await waitFor(() => expect(publish).toBeEnabled());
  await userEvent.click(publish);
  await waitFor(() => expect(address()).toBe("/configs/mine"));
  expect(sent).toMatchObject([{ expected_version: 0, force: false }]);
});
