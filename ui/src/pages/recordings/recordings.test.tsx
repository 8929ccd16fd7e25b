import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { item, recording } from "../../test/fixtures/runs";
import { draw } from "../../test/render";
import { answer, hang, refuse, server } from "../../test/server";
import RecordingsPage from ".";
import RecordingPage from "./detail";

const LIST = "/api/v1/recordings";

describe("the list", () => {
  test("is loading at first", async () => {
    hang(LIST);
    draw(<RecordingsPage />);
    expect(await screen.findByRole("status", { name: "Loading" })).toBeVisible();
  });

  test("tells how to keep one while there is none", async () => {
    answer(LIST, { recordings: [] });
    draw(<RecordingsPage />);
    expect(await screen.findByText("Nothing kept yet")).toBeVisible();
  });

  test("says why it may not be seen", async () => {
    refuse(LIST, 403, { title: "Forbidden", detail: "recordings are for callers on this machine" });
    draw(<RecordingsPage />);
    expect(await screen.findByText("recordings are for callers on this machine")).toBeVisible();
  });

  test("shows why each was kept, and filters in the address", async () => {
    const failed = recording({
      recording: "a1-8",
      kept_because: "failed",
      model_config_id: "page",
      error: "DeadlineExceeded",
    });
    answer(LIST, { recordings: [recording(), failed] });
    const { address } = draw(<RecordingsPage />, { at: "/recordings" });
    expect(await screen.findByRole("link", { name: "ranker" })).toHaveAttribute("href", "/recordings/a1-7");
    await userEvent.click(screen.getByRole("button", { name: "failed" }));
    expect(screen.queryByRole("link", { name: "ranker" })).not.toBeInTheDocument();
    expect(screen.getByText("DeadlineExceeded")).toBeInTheDocument();
    expect(address()).toBe("/recordings?because=failed");
  });
});

describe("one recording", () => {
  const open = () => draw(<RecordingPage />, { path: "/recordings/:recording", at: "/recordings/a1-7" });

  test("that is gone is said to be", async () => {
    refuse(`${LIST}/a1-7`, 404, { title: "Not Found", detail: "no recording 'a1-7'" });
    open();
    expect(await screen.findByText("no recording 'a1-7'")).toBeVisible();
  });

  test("without a run says that nothing was scored", async () => {
    answer(`${LIST}/a1-7`, recording({ run: null, has_values: false, error: "InvalidRequest" }));
    open();
    expect(await screen.findByText("Nothing was scored.")).toBeVisible();
    expect(screen.queryByRole("textbox", { name: "Id of a target" })).not.toBeInTheDocument();
  });

  test("shows its steps, and on demand every column of a target", async () => {
    server.use(
      http.get(`*${LIST}/a1-7`, ({ request }) => {
        const wanted = new URL(request.url).searchParams.get("item");
        return HttpResponse.json(recording({ item: wanted === "12" ? item() : null }));
      }),
    );
    open();
    expect(await screen.findByRole("img", { name: /^blend took/ })).toBeVisible();
    await userEvent.type(screen.getByRole("textbox", { name: "Id of a target" }), "12");
    await userEvent.click(screen.getByRole("button", { name: "Show" }));
    expect(await screen.findByText("user:profile:budget")).toBeVisible();
  });
});
